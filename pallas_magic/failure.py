"""What the bridge found wrong, told without JAX: the matter that rules work on."""

from __future__ import annotations

import dataclasses
from typing import Literal

from pallas_magic.report import Applicability, Stage, TextEdit
from pallas_magic.source.absent import Absent
from pallas_magic.source.document import Place
from pallas_magic.targets import Target

Role = Literal["prefetch", "input", "output", "scratch", "local"]
AccessKind = Literal["load", "store"]


@dataclasses.dataclass(frozen=True)
class Site:
    """The expression that built an object, and what kind of object it is.

    ``token`` names the live object in the recorded call, for the prover;
    ``place`` covers exactly the call expression, ``pl.BlockSpec(...)``.
    """

    place: Place
    callee: str
    token: int = -1


@dataclasses.dataclass(frozen=True)
class Window:
    """How a BlockSpec cuts one operand, as the user wrote it.

    ``array`` is the operand's shape. ``block`` has for each of its axes the
    size, or ``None`` for one that is squeezed out; it is ``None`` where no block
    shape is given. ``given`` tells what stands in its place: a ``shape`` of
    these, a ``function`` or a ``number`` by mistake, or ``other`` kinds of axes.
    ``parameters`` are the positional parameters of the index map, ``None``
    where there is none or it takes any number.
    """

    array: tuple[int, ...]
    block: tuple[int | None, ...] | None = None
    given: Literal["nothing", "shape", "function", "number", "other"] = "nothing"
    parameters: tuple[str, ...] | None = None
    has_index_map: bool = False


@dataclasses.dataclass(frozen=True)
class Ref:
    """A ref as the kernel sees it.

    ``name`` is the kernel's parameter (or the local name it is bound to, "" if
    unknown); ``position`` counts the kernel's flat ref parameters; ``operand``
    counts within ``role``. ``memory_space`` is JAX's lower-case word ("smem",
    "vmem", "any", "hbm", "gmem", "tmem"), "" for the default. ``spec`` is where
    its BlockSpec or scratch shape was built; ``None`` if there is none or it is
    not known, told apart by ``has_spec``. ``shared_spec`` says that the same
    object serves other operands too. ``window`` is what the spec of an input or
    output says.
    """

    name: str
    position: int
    role: Role
    operand: int
    memory_space: str
    shape: tuple[int, ...]
    dtype: str
    origin: str = ""
    has_spec: bool = False
    spec: Site | None = None
    shared_spec: bool = False
    window: Window | None = None


@dataclasses.dataclass(frozen=True)
class Captured:
    """An array that a function takes from outside, where it may only take its arguments.

    ``name`` is what the function calls it, "" if that is not known. ``fill`` is
    the one number of which it is made, and ``steps`` the first and the step of
    the integers that it counts up or down along its last axis; both as Python
    text, "" and ``None`` where it is not that plain.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    fill: str = ""
    steps: tuple[int, int] | None = None


@dataclasses.dataclass(frozen=True)
class Access:
    """One load or store of a ref.

    ``place`` is the expression JAX recorded (``o_ref[...]``); ``shape`` and
    ``dtype`` are those of the value moved, ``()`` a scalar. ``index_shape`` is
    what the index selects of the ref. ``static_index`` has, for each axis of
    the ref, an int, a ``(start, size, stride)``, or ``None`` where it is traced.
    ``stack`` lists the calls from the kernel down to ``place``, outermost first.
    """

    kind: AccessKind
    place: Place | None
    shape: tuple[int, ...]
    dtype: str
    static_index: tuple[int | tuple[int | None, int, int] | None, ...] = ()
    masked: bool = False
    in_warp: bool = False
    stack: tuple[Place, ...] = ()


@dataclasses.dataclass(frozen=True)
class CallSite:
    """Where a kernel was bound into a call, for edits of its specs.

    ``build`` is the expression ``pl.pallas_call(...)`` / ``plgpu.kernel(...)``;
    ``kernel`` the first line of the kernel function; ``applied`` the expression
    that called the kernel with its operands. ``grid`` has ``None`` for a size
    that is known only when the kernel runs.
    """

    build: Place | None
    kernel: Place | None
    has_grid: bool = False
    applied: Place | None = None
    grid: tuple[int | None, ...] = ()
    is_triton: bool = False


@dataclasses.dataclass(frozen=True)
class VectorAccess:
    """A load or store of a vector inside a warp-level region."""

    ref: Ref
    access: Access


@dataclasses.dataclass(frozen=True)
class WarpRegion:
    """The warp-level region around a failing equation.

    ``place`` is the expression that opens it. ``stores`` are the region's
    vector stores that the failing equation is, or that its value flows into;
    ``loads`` are the vector loads that it is or whose values flow into it or
    into those stores. ``vectors`` are all vector accesses of the region.
    """

    place: Place | None
    loads: tuple[VectorAccess, ...] = ()
    stores: tuple[VectorAccess, ...] = ()
    vectors: tuple[VectorAccess, ...] = ()


@dataclasses.dataclass(frozen=True)
class Buffer:
    """On-chip memory set aside for one purpose: ``size`` bytes in all of its ``copies``.

    ``what`` is the compiler's word for it; ``shape`` and ``dtype`` are those of one copy,
    where it is known; ``ref`` is the ref that it serves.
    """

    what: str
    size: int
    copies: int = 1
    shape: tuple[int, ...] = ()
    dtype: str = ""
    ref: Ref | None = None


@dataclasses.dataclass(frozen=True)
class MemoryUse:
    """How a memory space ("vmem", "smem") ran out; ``used`` is 0 if it is not told.

    ``chip`` is what the chip has of it where ``limit``, what one kernel may take, is less.
    """

    space: str
    limit: int
    used: int = 0
    buffers: tuple[Buffer, ...] = ()
    unit: Literal["bytes", "columns"] = "bytes"
    chip: int = 0


@dataclasses.dataclass(frozen=True)
class Value:
    """The type of an array inside a kernel.

    ``range`` has the least and the greatest number that it can hold, where that is known.
    """

    shape: tuple[int, ...]
    dtype: str
    range: tuple[int, int] | None = None


@dataclasses.dataclass(frozen=True)
class Operation:
    """What the failing equation works on.

    ``inputs`` and ``outputs`` are its values, refs left out; ``parameters`` are
    those of JAX's parameters that are numbers, texts or tuples of numbers.
    ``within`` is the function of JAX that the user called, where the equation is
    only a part of what it does; "" where it is all of it. ``ends`` are what a copy
    between refs reads and what it fills.
    """

    inputs: tuple[Value, ...] = ()
    outputs: tuple[Value, ...] = ()
    parameters: tuple[tuple[str, object], ...] = ()
    within: str = ""
    ends: tuple[Value, ...] = ()

    def parameter(self, name: str) -> object:
        """The parameter ``name``, ``None`` where there is none so plain."""
        return dict(self.parameters).get(name)


@dataclasses.dataclass(frozen=True)
class Failure:
    """One independent failure of one kernel on one target.

    ``raised_in`` is the function of JAX that raised (its module's name
    without what is private, and its own), ``error_type`` and ``text`` what it raised. ``place``
    is the user's expression of the failing equation, ``stack`` the calls that
    lead to it. ``ref`` is the ref the equation works on and ``accesses`` all
    accesses of that ref in the kernel. ``refs`` are all refs of the kernel.
    ``also`` are the later failures of the same rule on the same ref, which
    become labels of the one diagnostic. ``captured`` are arrays that the kernel,
    or an index map, may not take from outside. ``absent`` is what JAX does not have
    that was asked of it; such a failure may be in no kernel at all.
    """

    target: Target
    stage: Stage
    kernel: str
    call: CallSite
    raised_in: str
    error_type: str
    text: str
    primitive: str = ""
    place: Place | None = None
    stack: tuple[Place, ...] = ()
    ref: Ref | None = None
    access: Access | None = None
    accesses: tuple[Access, ...] = ()
    refs: tuple[Ref, ...] = ()
    warp: WarpRegion | None = None
    semantics: str = ""
    memory: MemoryUse | None = None
    also: tuple[Failure, ...] = ()
    captured: tuple[Captured, ...] = ()
    operation: Operation = Operation()
    passed: tuple[str, ...] = ()
    absent: Absent | None = None


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A fix as its rule proposes it, before it is proved.

    ``applicability`` is the most it may become. ``exact`` asks for equal
    values, as for a pure move; otherwise sums may be reordered and the
    comparison is scaled by the dtype. ``mechanical`` declares that the edit is
    right by construction where no original program exists to compare with.
    ``keeps_values`` says that the edit is wrong if it changes what the kernel
    computes: where the values were shown to differ it is dropped. Not given, it
    is what a fix that may become ``safe`` says of itself.

    ``shown_by`` says how it is proved: by ``substitution`` into the recorded
    call, by ``interpreting`` the call on this machine, or by its ``nature``: it
    asks for something else than the program that failed, and ``why`` says what.
    """

    title: str
    edits: tuple[TextEdit, ...]
    applicability: Applicability = "safe"
    exact: bool = True
    mechanical: bool = False
    why: str = ""
    shown_by: Literal["substitution", "interpreting", "nature"] = "substitution"
    keeps_values: bool | None = None

    @property
    def must_keep_values(self) -> bool:
        """Whether the candidate is refuted by values that differ."""
        return self.applicability == "safe" if self.keeps_values is None else self.keeps_values
