"""The chips a kernel can be checked for, and the names users write for them."""

from __future__ import annotations

import dataclasses
from typing import Literal

Family = Literal["tpu", "gpu"]


class UnknownTarget(ValueError):
    """A target that is not one of :func:`known_names`; its text lists them."""


@dataclasses.dataclass(frozen=True)
class Target:
    """One chip.

    ``device_kind`` is what JAX calls the chip and ``num_cores`` its cores a
    device, as in JAX's ``jax/_src/pallas/mosaic/tpu_info.py`` (0.12.0.1);
    ``compute_capability`` is NVIDIA's, as in "9.0".
    """

    name: str
    family: Family
    title: str
    device_kind: str
    num_cores: int = 1
    compute_capability: str = ""

    @property
    def platform(self) -> str:
        """The name of JAX's lowering platform."""
        return "tpu" if self.family == "tpu" else "cuda"


TARGETS: tuple[Target, ...] = (
    Target("tpu:v4", "tpu", "TPU v4", "TPU v4", num_cores=2),
    Target("tpu:v5e", "tpu", "TPU v5e", "TPU v5 lite"),
    Target("tpu:v5p", "tpu", "TPU v5p", "TPU v5", num_cores=2),
    Target("tpu:v6e", "tpu", "TPU v6e", "TPU v6 lite"),
    Target("tpu:v7x", "tpu", "TPU v7x", "TPU7x"),
    Target("gpu:a100", "gpu", "A100", "NVIDIA A100-SXM4-40GB", compute_capability="8.0"),
    Target("gpu:h100", "gpu", "H100", "NVIDIA H100 80GB HBM3", compute_capability="9.0"),
    Target("gpu:b200", "gpu", "B200", "NVIDIA B200", compute_capability="10.0"),
)
_BY_NAME = {target.name: target for target in TARGETS}
DEFAULT_NAMES: dict[Family, str] = {"tpu": "tpu:v5e", "gpu": "gpu:h100"}
FAMILIES: tuple[Family, ...] = ("tpu", "gpu")


_ALL: dict[str, Family] = {f"{family}:all": family for family in FAMILIES}


def known_names() -> tuple[str, ...]:
    """Everything :func:`parse_targets` takes, ``auto`` aside."""
    return (*FAMILIES, *(f"{family}:all" for family in FAMILIES), *_BY_NAME)


def default_target(family: Family) -> Target:
    """The chip meant by a bare ``tpu`` or ``gpu``."""
    return _BY_NAME[DEFAULT_NAMES[family]]


def target_for_device(family: Family, device_kind: str) -> Target:
    """The target of a device present on this machine, the family's default if unlisted."""
    matches = (t for t in TARGETS if t.family == family and t.device_kind == device_kind)
    return next(matches, default_target(family))


def parse_targets(text: str) -> tuple[Target, ...]:
    """The chips named by ``text``, commas between them; raises :class:`UnknownTarget`.

    ``auto`` is not a chip: the engine resolves it before it comes here. Within
    a list a bare chip takes the family before it, as in ``tpu:v5e,v6e``; ``tpu:all``
    stands for every chip of the family.
    """
    family = ""
    found: list[Target] = []
    for name in (part.strip().lower() for part in text.split(",")):
        full = DEFAULT_NAMES.get(name) if name in ("tpu", "gpu") else name  # type: ignore[call-overload]
        if full not in (*_BY_NAME, *_ALL) and family:
            full = f"{family}:{name}"
        if full in _ALL:
            family = _ALL[full]
            found += [one for one in TARGETS if one.family == family]
            continue
        if full not in _BY_NAME:
            raise UnknownTarget(
                f"unknown target {name!r}; known targets: auto, {', '.join(known_names())}"
            )
        family = _BY_NAME[full].family
        found.append(_BY_NAME[full])
    return tuple(dict.fromkeys(found))
