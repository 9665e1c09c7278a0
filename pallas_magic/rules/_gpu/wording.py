"""Refs and shapes of Mosaic GPU kernels in the user's own words."""

from __future__ import annotations

from collections.abc import Sequence

from pallas_magic.failure import Failure, Ref

_FLOATS = {"f16": "float16", "bf16": "bfloat16", "tf32": "float32"}
_FLOATS |= {"f32": "float32", "f64": "float64"}
_INTEGERS = {"i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64"}


def type_words(dtype: str, shape: Sequence[int]) -> str:
    """ "float32[128, 64]"."""
    return f"{dtype}[{', '.join(map(str, shape))}]"


def dtype_of(word: str) -> str:
    """The dtype that MLIR writes as ``word``; JAX's own names stay."""
    return {**_FLOATS, **_INTEGERS}.get(word, word)


def quoted(ref: Ref | None, otherwise: str) -> str:
    """The user's name of a ref in backticks."""
    return f"`{ref.name}`" if ref is not None and ref.name.isidentifier() else otherwise


def is_mosaic_gpu(failure: Failure) -> bool:
    """Whether a kernel of Mosaic GPU failed."""
    module = failure.raised_in
    return failure.target.family == "gpu" and ("mosaic_gpu." in module or ".mosaic.gpu." in module)
