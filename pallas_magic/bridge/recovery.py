"""Lower once more past every error, so that all independent ones are found.

JAX stops at the first equation it cannot lower. Here every lowering rule is
wrapped for the length of one lowering: a rule that raises is noted and its
outputs are replaced by stand-ins of the right type. What merely follows from a
stand-in whose type could not be built is dropped.

Only scratch functions are lowered this way: JAX would cache a lowering full of
stand-ins under the user's own function.
"""

from __future__ import annotations

import dataclasses
import importlib
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import FrameType
from typing import Any, Protocol

from pallas_magic.bridge.capture import Call
from pallas_magic.bridge.frames import exception_frames, public_name
from pallas_magic.bridge.limits import TimeLimitReached, time_limit
from pallas_magic.bridge.lowering import is_mesh_conflict, lower_or_raise
from pallas_magic.bridge.patches import replaced_item
from pallas_magic.failure import Ref
from pallas_magic.targets import Target

MAX_ERRORS = 32
MAX_SECONDS = 2.0


class TooMany(Exception):
    """Enough errors were found, or enough time was spent; the rest is left unsaid."""


class RulesPassed(Exception):
    """Every equation had its turn, and nothing else is to be found."""


@dataclasses.dataclass(frozen=True, eq=False)
class Raised:
    """One exception of one equation.

    ``equations`` leads from the kernel's own equation down to the failing one;
    it is empty for an error that belongs to no equation. ``context`` is the
    rule's own context object, ``None`` outside a rule. ``ref`` is what the
    error is about where that is no equation.
    """

    error: BaseException
    equations: tuple[Any, ...] = ()
    context: Any = None
    ref: Ref | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Recovered:
    """What one pass found.

    ``more`` says that some was left unsaid. ``ending`` is the error that ended
    the pass although every rule was wrapped (a verifier's, layout inference's).
    """

    raised: tuple[Raised, ...] = ()
    more: bool = False
    ending: Exception | None = None


class Backend(Protocol):
    """What recovery needs to know of one back end's lowering."""

    walker: str
    """The function that walks a jaxpr and holds the equation as ``eqn``."""

    trusts_ending: bool
    """Whether an error that ends the pass is one that the whole kernel has too."""

    def is_late(self, error: BaseException) -> bool:
        """Whether ``error`` came after all rules, so that no pass would find more."""

    def tables(self) -> Iterator[tuple[dict[Any, Any], Any]]:
        """Pairs of a dict and a key under which a table of rules lies."""

    def patches(self) -> Iterator[AbstractContextManager[Any]]:
        """What else must change for the length of the pass."""

    def stand_in(self, context: Any, aval: Any) -> Any:
        """A value of the type that ``aval`` has here; raises where there is none."""

    def poison(self, context: Any) -> Any:
        """A value for where no stand-in exists; what uses it proves nothing."""

    def is_follower(self, context: Any, primitive: Any, fed: bool) -> bool:
        """Whether an error says nothing of its own; ``fed`` by a stand-in it may not."""


def recover(
    call: Call,
    target: Target,
    backend: Backend,
    limit_seconds: float = 30.0,
    refused: Mapping[int, Exception] | None = None,
) -> Recovered:
    """All independent errors of one lowering.

    ``refused`` has, by the identity of an equation, the error that its rule is to raise.
    """
    journal = _Journal(backend, refused or {})
    ending: Exception | None = None
    with ExitStack() as stack:
        for tables, key in backend.tables():
            rules = _RecordingRules(tables[key], journal)
            stack.enter_context(replaced_item(tables, key, rules))
        for patch in backend.patches():
            stack.enter_context(patch)
        try:
            with time_limit(limit_seconds):
                lower_or_raise(call, target)
        except (TooMany, TimeLimitReached):
            return Recovered(tuple(journal.raised), True)
        except RulesPassed:
            pass
        except Exception as error:
            ending = error
    return Recovered(tuple(journal.raised), False, ending)


class _Journal:
    """What was raised in the thread that opened it, and the stand-ins handed out."""

    def __init__(self, backend: Backend, refused: Mapping[int, Exception]) -> None:
        self.backend = backend
        self._refused = refused
        self.raised: list[Raised] = []
        self.thread = threading.get_ident()
        self._started = time.monotonic()
        self._poisoned: list[Any] = []
        self._stand_ins: list[Any] = []
        self._known: set[tuple[int, str]] = set()

    def note(self, error: Exception, context: Any, operands: tuple[Any, ...]) -> None:
        equations = _equations(self.backend.walker)
        primitive = equations[-1].primitive if equations else None
        if _holds(self._poisoned, operands) or _refuses_a_value(error):
            return
        fed = _holds(self._stand_ins, operands)
        if self.backend.is_follower(context, primitive, fed):
            return
        key = (id(equations[-1]) if equations else 0, str(error))
        if key in self._known:
            return
        self._known.add(key)
        self.raised.append(Raised(error, equations, context))
        spent = time.monotonic() - self._started
        if len(self.raised) >= MAX_ERRORS or spent > MAX_SECONDS:
            raise TooMany

    def refuse(self) -> None:
        """Raise what is to be raised for the equation at hand, if anything is."""
        if self._refused and (equations := _equations(self.backend.walker)):
            error = self._refused.get(id(equations[-1]))
            if error is not None:
                raise error

    def stand_in(self, context: Any, aval: Any) -> Any:
        try:
            value = self.backend.stand_in(context, aval)
        except Exception:
            value = self.backend.poison(context)
            self._poisoned.append(value)
        self._stand_ins.append(value)
        return value


class _RecordingRules(dict[Any, Any]):
    """A table of rules in which every primitive has one and none raises."""

    def __init__(self, rules: dict[Any, Any], journal: _Journal) -> None:
        super().__init__(rules)
        self._rules = rules
        self._journal = journal

    def __contains__(self, primitive: object) -> bool:
        if threading.get_ident() != self._journal.thread:
            return primitive in self._rules
        return True

    def __getitem__(self, primitive: Any) -> Any:
        if threading.get_ident() != self._journal.thread:
            return self._rules[primitive]
        return self._guarded(primitive)

    def _guarded(self, primitive: Any) -> Callable[..., Any]:
        journal = self._journal

        def rule(context: Any, *operands: Any, **params: Any) -> Any:
            try:
                journal.refuse()
                if primitive not in self._rules:
                    raise MissingRule(primitive.name, _function(sys._getframe(1)))
                return self._rules[primitive](context, *operands, **params)
            except TooMany:
                raise
            except Exception as error:
                if is_mesh_conflict(error):
                    raise
                journal.note(error, context, operands)
            values = [journal.stand_in(context, aval) for aval in context.avals_out]
            return values if primitive.multiple_results else values[0]

        return rule


class MissingRule(NotImplementedError):
    """A primitive that the back end has no rule for, and JAX's function that says so."""

    def __init__(self, primitive: str, raised_in: str) -> None:
        super().__init__(primitive)
        self.primitive = primitive
        self.raised_in = raised_in


def _refuses_a_value(error: Exception) -> bool:
    """Whether a walker refused the value of an equation, which then was ours."""
    frames = list(exception_frames(error))
    return bool(frames) and frames[-1].f_code.co_name == "write_env"


def _function(frame: FrameType) -> str:
    return public_name(frame.f_globals.get("__name__", ""), frame.f_code.co_name)


def _equations(walker: str) -> tuple[Any, ...]:
    """The equations being lowered, outermost first."""
    found = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == walker and (equation := frame.f_locals.get("eqn")):
            found.append(equation)
        frame = frame.f_back
    return tuple(reversed(found))


def _holds(values: list[Any], operands: tuple[Any, ...]) -> bool:
    return any(
        value is operand or _same(value, operand) for operand in operands for value in values
    )


def _same(left: Any, right: Any) -> bool:
    if left is right:
        return True
    return type(left) is type(right) and hasattr(left, "owner") and bool(left == right)


@contextmanager
def replaced_module_attribute(module_name: str, name: str, value: Any) -> Iterator[None]:
    """``module.name`` replaced for a while, where this release has it."""
    from pallas_magic.bridge.patches import replaced_attribute

    module = importlib.import_module(module_name)
    if not hasattr(module, name):
        yield
        return
    with replaced_attribute(module, name, value):
        yield


def to_the_end(original: Callable[..., Any]) -> Callable[..., Any]:
    """``original`` as the last thing of a pass."""

    def run(*args: Any, **kwargs: Any) -> Any:
        original(*args, **kwargs)
        raise RulesPassed

    return run
