"""One call of a kernel that is known to be right."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

DTYPES = {
    "bf16": jnp.bfloat16,
    "f16": jnp.float16,
    "f32": jnp.float32,
    "i8": jnp.int8,
    "i32": jnp.int32,
    "u32": jnp.uint32,
}


@dataclasses.dataclass(frozen=True)
class Subject:
    """``function(*arguments)`` makes Pallas calls that all lower for ``target``."""

    name: str
    target: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.name}-{self.target}"


def struct(dtype: str, *shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, DTYPES[dtype])  # type: ignore[no-untyped-call]


def gradient(function: Callable[..., Any], operands: int) -> Callable[..., Any]:
    """The gradient of the sum of what ``function`` returns."""

    def total(*arguments: Any) -> Any:
        return function(*arguments).astype(jnp.float32).sum()

    return jax.grad(total, argnums=tuple(range(operands)))
