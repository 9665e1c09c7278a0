"""Which other types of a product a chip takes, the most exact first."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from pallas_magic.matrix_units import refused_product
from pallas_magic.rules._dtypes.products import Types
from pallas_magic.targets import Target

# What bfloat16 holds exactly, and how large a product of two such numbers can be.
_LARGEST = {"int4": 2**6, "uint4": 2**8, "int8": 2**14, "uint8": 2**16}
_NARROW = ("float8_e4m3fn", "float8_e5m2", *_LARGEST)
_EXACT_SUMS = 2**24
_ROUNDED = "integers beyond 2**24 are rounded in float32"
_LONG_SUMS = "sums of more than {terms:,} products can go beyond 2**24 and are rounded in float32"
_CUT = "{dtype} values that int8 does not hold are cut off"


@dataclasses.dataclass(frozen=True)
class Offer:
    """Types to make a product of; ``why`` says what may be lost, "" if nothing is."""

    types: Types
    title: str
    exact: bool = True
    why: str = ""


@dataclasses.dataclass(frozen=True)
class Asked:
    """The product as it stands; ``terms`` are the products that are added up for one sum."""

    left: str
    right: str
    total: str
    terms: int
    target: Target

    @property
    def is_float(self) -> bool:
        return "float" in self.left or "float" in self.right


def offers(asked: Asked) -> Iterator[Offer]:
    """What can be made of ``asked`` so that its chip takes it."""
    found = (*_other_sums(asked), *_floats(asked), *_narrowed(asked))
    for offer in found:
        types = offer.types
        left, right = types.left or asked.left, types.right or asked.right
        if not refused_product(left, right, types.total or asked.total, asked.target):
            yield offer


def _other_sums(asked: Asked) -> Iterator[Offer]:
    """Sums of 32 bits, of the kind that the operands are of."""
    if asked.left.startswith("uint") or asked.right.startswith("uint"):
        return
    total = "float32" if asked.is_float else "int32"
    if total != asked.total:
        title = f"sum in {total}, then cast to {asked.total}"
        yield Offer(Types(total=total, result=asked.total), title, exact=not asked.is_float)


def _floats(asked: Asked) -> Iterator[Offer]:
    """Operands that the matrix unit multiplies: bfloat16 for narrow ones, else float32."""
    narrow = [dtype in _NARROW for dtype in (asked.left, asked.right)]
    wider = [
        "" if dtype in ("bfloat16", "float32") else "bfloat16" if is_narrow else "float32"
        for dtype, is_narrow in zip((asked.left, asked.right), narrow, strict=True)
    ]
    if not any(wider) or not asked.total.endswith("32"):
        return
    precise = "float32" in (asked.left, asked.right, *wider) and not asked.is_float
    if precise:
        wider = ["float32", "float32"]
    result = asked.total if asked.total != "float32" else ""
    names = " and ".join(dict.fromkeys(one for one in wider if one))
    what = "both operands" if all(wider) else "the operand that is not float"
    title = f"cast {what} to {names}"
    title += f", the sums to {result}" if result else ""
    types = Types(wider[0], wider[1], "float32", result, precise)
    yield Offer(types, title, exact=not asked.is_float, why=_lost(asked, precise))


def _lost(asked: Asked, precise: bool) -> str:
    if asked.is_float:
        return ""
    if precise:
        return _ROUNDED
    largest = max(_LARGEST.get(dtype, 1) for dtype in (asked.left, asked.right))
    terms = _EXACT_SUMS // largest
    return "" if asked.terms <= terms else _LONG_SUMS.format(terms=terms)


def _narrowed(asked: Asked) -> Iterator[Offer]:
    """int8 for the wide one of two integers, where the other one is int8."""
    sides = (asked.left, asked.right)
    if "int8" not in sides or not {*sides} & {"int16", "int32"}:
        return
    wide = asked.right if asked.left == "int8" else asked.left
    types = Types(right="int8") if asked.left == "int8" else Types(left="int8")
    total = Types(types.left, types.right, "int32") if asked.total != "int32" else types
    yield Offer(total, f"cast the {wide} operand to int8", why=_CUT.format(dtype=wide))
