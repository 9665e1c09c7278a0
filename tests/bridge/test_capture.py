"""Every Pallas call is seen once, however it is made, and none when there is none."""

from __future__ import annotations

import threading

import jax
import pytest
from jax.sharding import AbstractMesh, AxisType

from pallas_magic.report import Report
from tests.bridge.cells import BAD_KERNEL, GOOD_KERNEL, NAMES, Cell

X = "x = jnp.ones((8, 128))\n"


def lowered(report: Report) -> list[tuple[str, str]]:
    return [(kernel.name, kernel.stages["lower"].status) for kernel in report.kernels]


@pytest.mark.parametrize(
    "use",
    [
        "twice(x)",
        "jax.jit(twice)(x)",
        "jax.jit(lambda x: twice(x) + 1)(x)",
        "jax.make_jaxpr(twice)(x)",
        "jax.eval_shape(twice, x)",
        "jax.vmap(twice)(x[None])",
        "jax.jit(jax.vmap(twice))(x[None])",
        "jax.lax.map(twice, x[None])",
        "jax.lax.scan(lambda c, _: (twice(c), None), x, None, length=2)",
        "jax.lax.cond(True, twice, lambda x: x, x)",
        "twice(x)\ntwice(x)",
    ],
)
def test_a_call_is_checked_once(use: str) -> None:
    cell = Cell(GOOD_KERNEL + X + use)
    assert cell.raised is None
    assert lowered(cell.report()) == [("double", "ok")]


@pytest.mark.parametrize(
    "mode", ["True", "pltpu.InterpretParams()", "jax.default_backend() != 'tpu'"]
)
def test_a_call_that_asks_for_interpret_mode_is_checked(mode: str) -> None:
    code = BAD_KERNEL.replace("    column_sums,\n", f"    column_sums, interpret={mode},\n")
    cell = Cell(code + X + "total = float(sums(x).sum())")
    assert cell.names["total"] == 1024.0
    assert lowered(cell.report()) == [("column_sums", "failed")]


def test_a_custom_vjp_is_checked_where_it_is_differentiated() -> None:
    code = (
        GOOD_KERNEL
        + X
        + (
            "f = jax.custom_vjp(twice)\n"
            "f.defvjp(lambda x: (twice(x), None), lambda _, g: (g * 2,))\n"
            "g = jax.grad(lambda x: f(x).sum())(x)\n"
        )
    )
    cell = Cell(code)
    assert cell.raised is None
    assert float(cell.names["g"].sum()) == 2048.0
    assert lowered(cell.report()) == [("double", "ok")]


def test_an_earlier_trace_does_not_hide_the_call() -> None:
    names = dict(NAMES)
    first = Cell(BAD_KERNEL + X + "f = jax.jit(sums)\ny = f(x)", names)
    second = Cell("y = f(x)", names)
    assert lowered(first.report()) == lowered(second.report()) == [("column_sums", "failed")]


def test_a_cell_without_a_call_says_so() -> None:
    report = Cell("y = 1 + 1").report()
    assert report.kernels == ()
    assert report.notes == ("no Pallas call was made",)


def test_another_thread_is_left_alone() -> None:
    names = dict(NAMES)
    code = GOOD_KERNEL + (
        "def work():\n"
        "    jax.eval_shape(twice, jax.ShapeDtypeStruct((8, 128), jnp.float32))\n"
        "thread = threading.Thread(target=work)\n"
        "thread.start()\n"
        "thread.join()\n"
    )
    names["threading"] = threading
    cell = Cell(code, names)
    assert cell.raised is None
    assert cell.report().kernels == ()


def test_afterwards_jax_is_what_it_was() -> None:
    from jax._src.interpreters import mlir
    from jax._src.pallas import core, mpmd, pallas_call
    from jax._src.pallas.mosaic import lowering, tpu_info

    def tables() -> list[object]:
        return [
            dict(mlir._lowerings),
            {kind: (id(rules), dict(rules)) for kind, rules in lowering.lowering_rules.items()},
            id(lowering._uncacheable_primitives),
            vars(pallas_call.pallas_call_p).get("bind"),
            vars(mpmd.mpmd_map_p).get("bind"),
            vars(pallas_call)["_pallas_call"],
            vars(mpmd)["_mpmd_map"],
            core.BlockSpec.__init__,
            core.MemoryRef.__init__,
            dict(tpu_info.registry),
        ]

    before = tables()
    for code in (
        BAD_KERNEL + X + "sums(x)",
        BAD_KERNEL + X + "sums(x); 1 / 0",
        GOOD_KERNEL + X + "twice(x)",
    ):
        Cell(code).report()
        assert tables() == before


def test_the_users_own_lowering_still_fails_as_it_should() -> None:
    cell = Cell(BAD_KERNEL + X + "f = jax.jit(lambda x: sums(x) + 1)\ny = f(x)")
    assert float(cell.names["y"].sum()) == 128 * 9.0
    cell.report()
    with pytest.raises(ValueError, match="Only interpret mode is supported on CPU backend"):
        cell.names["f"](cell.names["x"])
    with pytest.raises(ValueError, match="Can only store scalars to SMEM"):
        cell.names["f"].trace(cell.names["x"]).lower(lowering_platforms=("tpu",))


def test_the_users_own_lowering_inside_a_check_is_jaxs_own() -> None:
    code = BAD_KERNEL + X + "jax.jit(sums).trace(x).lower(lowering_platforms=('tpu',))"
    cell = Cell(code)
    assert isinstance(cell.raised, ValueError)
    assert "Only interpret mode" not in str(cell.raised)


def test_without_running_the_cell_ends_at_its_first_call() -> None:
    cell = Cell(BAD_KERNEL + X + "done = False\nsums(x)\ndone = True", run=False)
    assert cell.names["done"] is False
    assert cell.watch.stop_reason == "stopped after the first Pallas call: checked, not executed"
    assert lowered(cell.report()) == [("column_sums", "failed")]


def test_a_cell_s_own_exception_is_its_own() -> None:
    cell = Cell(GOOD_KERNEL + X + "twice(x)\nraise KeyError('mine')")
    report = cell.report()
    assert isinstance(cell.raised, KeyError)
    assert report.diagnostics == ()
    assert lowered(report) == [("double", "ok")]


def test_a_fault_of_ours_leaves_the_users_call_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from pallas_magic.bridge.capture import Recorder

    def broken(*_: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(Recorder, "_call", broken)
    cell = Cell(GOOD_KERNEL + X + "y = twice(x)")
    assert cell.raised is None
    assert float(cell.names["y"].sum()) == 2048.0
    assert cell.report().notes[0] == (
        "pallas_magic could not read all of it: RuntimeError: a fault of ours"
    )


def test_an_interrupt_in_the_middle_restores_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    from jax._src.pallas.mosaic import lowering

    from pallas_magic.bridge import recovery

    cell = Cell(BAD_KERNEL + X + "sums(x)")
    before = dict(lowering.lowering_rules)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(recovery._Journal, "note", interrupted)
        with pytest.raises(KeyboardInterrupt):
            cell.report()
    assert all(lowering.lowering_rules[kind] is rules for kind, rules in before.items())
    assert [d.stage for d in cell.report().diagnostics] == ["lower"]


def test_the_kernel_state_of_jax_after_a_stop_is_usable() -> None:
    Cell(BAD_KERNEL + X + "jax.jit(sums)(x)", run=False)
    assert float(jax.jit(lambda x: x + 1)(1.0)) == 2.0


SHARDED = """\
def shift(x_ref, o_ref, send, recv):
    me = jax.lax.axis_index("d")
    right = jax.lax.rem(me + 1, 4)
    copy = pltpu.make_async_remote_copy(x_ref, o_ref, send, recv, device_id=(right,))
    copy.start()
    copy.wait()

def permute(x):
    space = pl.BlockSpec(memory_space=pl.ANY)
    scratch = [pltpu.SemaphoreType.DMA] * 2
    out = jax.ShapeDtypeStruct((8, 128), jnp.float32)
    return pl.pallas_call(
        shift, out_shape=out, in_specs=[space], out_specs=space, scratch_shapes=scratch
    )(x)

mesh = AbstractMesh((4,), ("d",), axis_types=(AxisType.Auto,))
f = jax.shard_map(
    permute, mesh=mesh, in_specs=jax.P("d"), out_specs=jax.P("d"), check_vma=False
)
jax.eval_shape(f, jax.ShapeDtypeStruct((32, 128), jnp.float32))
"""


def test_a_kernel_inside_a_shard_map_is_checked_on_its_mesh() -> None:
    cell = Cell(SHARDED, {**NAMES, "AbstractMesh": AbstractMesh, "AxisType": AxisType})
    assert cell.raised is None
    assert lowered(cell.report()) == [("shift", "ok")]


def test_the_cores_of_a_chip_that_is_not_there_can_be_asked_for() -> None:
    cell = Cell("cores = pltpu.create_tensorcore_mesh('core').shape['core']", target="tpu:v4")
    assert cell.raised is None
    assert cell.names["cores"] == 2
