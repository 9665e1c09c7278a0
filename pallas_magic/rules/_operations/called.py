"""The user's expression behind a refused operation, taken apart."""

from __future__ import annotations

import ast
import dataclasses

from pallas_magic.failure import Failure, Operation
from pallas_magic.rules._specs.kernels import kernel_text
from pallas_magic.source.calls import argument
from pallas_magic.source.document import Library
from pallas_magic.source.names import imports, spelled
from pallas_magic.source.resolve import Expression
from pallas_magic.source.syntax import Syntax, last_name, syntax_of

_NUMPY = "jax.numpy"
_LAX = "jax.lax"
_BEFORE_VALUES = ("jax.numpy.", "jax.lax.", "jax.nn.", "jax.scipy.special.")


@dataclasses.dataclass(frozen=True, eq=False)
class Called:
    """An expression of a kernel that a back end refuses; ``function`` is what it calls, in full."""

    sources: Library
    failure: Failure
    syntax: Syntax
    node: ast.expr
    function: str

    @property
    def operation(self) -> Operation:
        return self.failure.operation

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the operation's first operand."""
        return self.operation.inputs[0].shape if self.operation.inputs else ()

    @property
    def dtype(self) -> str:
        return self.operation.inputs[0].dtype if self.operation.inputs else ""

    @property
    def is_float(self) -> bool:
        return "float" in self.dtype

    @property
    def name(self) -> str:
        """The last part of the function's name where it is one of JAX's, "" otherwise."""
        known = any(self.function == one + self._last for one in _BEFORE_VALUES)
        return self._last if known else ""

    @property
    def _last(self) -> str:
        return self.function.rsplit(".", maxsplit=1)[-1]

    def text(self, node: ast.expr) -> str:
        return self.syntax.text(node)

    def argument(self, name: str, position: int) -> ast.expr | None:
        """An argument of the call, ``None`` where it is not given or this is no call."""
        return argument(self.node, name, position) if isinstance(self.node, ast.Call) else None

    def operand(self) -> ast.expr | None:
        """The array that the call works on: its first argument."""
        for name in ("a", "operand", "x", "m"):
            if (found := self.argument(name, 0)) is not None:
                return found
        return None

    def has_only(self, positional: int, *keywords: str) -> bool:
        """Whether the call has no more arguments than these, so that none is overlooked."""
        return (
            isinstance(self.node, ast.Call)
            and len(self.node.args) <= positional
            and all(given.arg in keywords for given in self.node.keywords)
        )

    def numpy(self, name: str) -> str | None:
        """How the user's text writes a name of ``jax.numpy``."""
        return spelled(self.sources, self.syntax.document, _NUMPY, name)

    def lax(self, name: str) -> str | None:
        """How the user's text writes a name of ``jax.lax``."""
        return spelled(self.sources, self.syntax.document, _LAX, name)

    def pallas(self, name: str) -> str | None:
        """How the user's text writes a name of Pallas."""
        return spelled(self.sources, self.syntax.document, "jax.experimental.pallas", name)

    def counted(self, shape: str, axis: int) -> str | None:
        """An array that counts up along ``axis``, its shape given as text."""
        iota, int32 = self.lax("broadcasted_iota"), self.numpy("int32")
        return f"{iota}({int32}, {shape}, {axis})" if iota and int32 else None


def called(failure: Failure, sources: Library) -> Called | None:
    """What the failing expression calls, ``None`` where its text is not known."""
    syntax = syntax_of(sources, failure.place)
    node = syntax.at(failure.place) if syntax is not None and failure.place is not None else None
    if syntax is None or node is None:
        return None
    return Called(sources, failure, syntax, node, _function(sources, syntax, node))


def _function(sources: Library, syntax: Syntax, node: ast.expr) -> str:
    if not isinstance(node, ast.Call) or last_name(node.func) is None:
        return ""
    first, _, rest = syntax.text(node.func).partition(".")
    origin = imports(sources, syntax.document).get(first)
    return f"{origin}.{rest}".removesuffix(".") if origin is not None else ""


def integer(node: ast.expr | None) -> int | None:
    """The integer that ``node`` is as it is written."""
    if node is None:
        return None
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if type(value) is int else None


def axis_of(one: Called, node: ast.expr | None, default: int | None = None) -> int | None:
    """The axis of the operand that ``node`` names, counted from 0."""
    number = integer(node) if node is not None else default
    rank = len(one.shape)
    return number % rank if number is not None and -rank <= number < rank else None


def expression_of(one: Called, node: ast.expr) -> Expression:
    return Expression(one.syntax, node)


def is_ref_name(one: Called, name: str) -> bool:
    """Whether ``name`` is a parameter of the kernel that is a ref, and so inside it."""
    kernel = kernel_text(one.failure, one.sources)
    known = any(ref.name == name for ref in one.failure.refs)
    return known and kernel is not None and kernel.syntax is one.syntax
