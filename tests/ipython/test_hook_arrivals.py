"""All the ways in which an error of Pallas's can arrive in a plain cell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ipython.kernel import IMPORTS, Kernel, Outcome

CUT = "Cut to your own lines; `%tb` prints the whole traceback."
KERNELS = """\
def scale(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0

def scaled(x):
    return pl.pallas_call(
        scale, out_shape=x, out_specs=pl.BlockSpec(memory_space=pltpu.SMEM)
    )(x)

def count(x_ref, o_ref):
    o_ref[...] = jnp.reshape(x_ref[...], (3, 5))

counted = pl.pallas_call(count, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))

@jax.custom_vjp
def differentiable(x):
    return x
differentiable.defvjp(lambda x: (scaled(x), None), lambda _, g: (g,))

def lower(function):
    return jax.jit(function).trace(x).lower(lowering_platforms=("tpu",))

x = jnp.ones((8, 128), jnp.float32)
"""
LOWER = "lower(scaled)"
CAUGHT = f"try:\n    {LOWER}\nexcept Exception as error:\n    "
# What arrives, and the message that the cell ends with where it is not JAX's own.
LOWERED = {
    "lower": LOWER,
    "export": "import jax.export\njax.export.export(jax.jit(scaled), platforms=['tpu'])(x)",
    "grad": "lower(jax.value_and_grad(lambda y: differentiable(y).sum()))",
    "vmap": "lower(jax.vmap(lambda row: scaled(x) + row))",
    "scan": "lower(lambda c: jax.lax.scan(lambda c, _: (scaled(c), None), c, length=3))",
    "cond": "lower(lambda y: jax.lax.cond(y[0, 0] > 0, scaled, lambda z: z, y))",
    "checkpoint": "lower(jax.checkpoint(scaled))",
    "re-raised": CAUGHT + "raise",
    "raised later": CAUGHT + "kept = error\nraise kept",
    "raised by a function": f"def again():\n    {LOWER}\nagain()",
    "finally": f"try:\n    {LOWER}\nfinally:\n    tidied = True",
    "with": f"import contextlib\nwith contextlib.nullcontext():\n    {LOWER}",
    "thread": "from concurrent.futures import ThreadPoolExecutor\n"
    "with ThreadPoolExecutor(1) as pool:\n    pool.submit(lower, scaled).result()",
    "await": f"import asyncio\nawait asyncio.sleep(0)\n{LOWER}",
    "task": "import asyncio\nasync def one():\n    lower(scaled)\nawait asyncio.create_task(one())",
    "timeit": f"%timeit -n1 -r1 {LOWER}",
}
WRAPPED = {
    "from": CAUGHT + "raise RuntimeError('mine') from error",
    "context": CAUGHT + "raise RuntimeError('mine')",
    "twice": f"try:\n    try:\n        {LOWER}\n    except Exception as one:\n"
    "        raise KeyError('inner') from one\nexcept Exception as two:\n"
    "    raise RuntimeError('mine') from two",
}
GROUPS = {
    "group": CAUGHT + "found = error\nraise ExceptionGroup('several', [KeyError(1), found])",
    "nested": CAUGHT + "found = error\n"
    "raise ExceptionGroup('several', [ExceptionGroup('inner', [found])])",
    "task group": "import asyncio\nasync def one():\n    lower(scaled)\n"
    "async with asyncio.TaskGroup() as group:\n    group.create_task(one())",
}
TRACED = {
    "jit": "jax.jit(counted)(x)",
    "grad": "jax.grad(lambda y: counted(y).sum())(x)",
    "vmap": "jax.vmap(counted)(x[None])",
    "scan": "jax.lax.scan(lambda c, _: (counted(c), None), x, length=3)",
    "eval_shape": "jax.eval_shape(counted, x)",
    "make_jaxpr": "jax.make_jaxpr(counted)(x)",
}


@pytest.fixture
def defined(kernel: Kernel) -> Kernel:
    kernel.good(KERNELS)
    return kernel


def found(outcome: Outcome) -> list[tuple[str, int]]:
    """Code and first line of all that the one card tells."""
    return [(one["code"], one["primary"]["start_line"]) for one in outcome.card["diagnostics"]]


@pytest.mark.parametrize("way", LOWERED)
def test_an_error_of_lowering_is_explained_and_cut(defined: Kernel, way: str) -> None:
    outcome = defined.run(LOWERED[way])
    assert outcome.failure == "ValueError: Can only store scalars to SMEM"
    assert found(outcome) == [("PM101", 2)]
    (shown,) = outcome.errors
    assert CUT in shown
    assert "/jax/" not in shown


@pytest.mark.parametrize("way", TRACED)
def test_an_error_of_tracing_is_explained_and_cut(defined: Kernel, way: str) -> None:
    outcome = defined.run(TRACED[way])
    assert outcome.reply["ename"] == "TypeError"
    ((_, line),) = found(outcome)
    assert line == KERNELS.split("\n").index("    o_ref[...] = jnp.reshape(x_ref[...], (3, 5))") + 1
    assert CUT in outcome.errors[0]


@pytest.mark.parametrize("way", WRAPPED)
def test_an_error_behind_the_users_own_is_explained_and_not_cut(defined: Kernel, way: str) -> None:
    outcome = defined.run(WRAPPED[way])
    assert outcome.failure == "RuntimeError: mine"
    assert found(outcome) == [("PM101", 2)]
    assert CUT not in outcome.errors[0]


@pytest.mark.parametrize("way", GROUPS)
def test_an_error_in_a_group_is_explained(defined: Kernel, way: str) -> None:
    outcome = defined.run(GROUPS[way])
    assert outcome.reply["ename"] == "ExceptionGroup"
    assert found(outcome) == [("PM101", 2)]


@pytest.mark.parametrize("top", ["%time ", "%%time\n", "%%time\n\n"])
def test_an_error_under_time_is_explained(defined: Kernel, top: str) -> None:
    outcome = defined.run(f"{top}{LOWER}")  # IPython 7 swallows it and ends the cell ok
    assert found(outcome) == [("PM101", 2)]
    assert CUT in outcome.errors[0]


def test_an_error_in_a_script_is_explained_at_its_line(defined: Kernel, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(IMPORTS + KERNELS + LOWER)
    outcome = defined.run(f"%run {script}")
    assert found(outcome) == [("PM101", IMPORTS.count("\n") + 2)]
    (source,) = outcome.card["sources"].values()
    assert (source["kind"], source["label"]) == ("file", "script.py")


def test_an_error_in_a_module_is_explained_at_its_line(defined: Kernel, tmp_path: Path) -> None:
    (tmp_path / "kernels_for_hook.py").write_text(IMPORTS + KERNELS)
    outcome = defined.run(
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import kernels_for_hook\nkernels_for_hook.lower(kernels_for_hook.scaled)"
    )
    assert found(outcome) == [("PM101", IMPORTS.count("\n") + 2)]


def test_an_error_in_a_nested_cell_is_explained_once(defined: Kernel) -> None:
    outcome = defined.good(f"result = get_ipython().run_cell({LOWER!r})")
    assert len(outcome.cards) == 1
    outcome = defined.run(f"get_ipython().run_cell({LOWER!r}).raise_error()")
    assert len(outcome.cards) == 1


def test_two_errors_in_one_cell_are_the_last_one(defined: Kernel) -> None:
    nested = "get_ipython().run_cell('jax.jit(counted)(x)')"
    outcome = defined.run(f"{nested}\n{LOWER}")
    assert [card["diagnostics"][0]["stage"] for card in outcome.cards] == ["trace", "lower"]


def test_a_captured_cell_captures_its_card(defined: Kernel) -> None:
    outcome = defined.run(f"%%capture held\n{LOWER}")
    assert not outcome.displays
    held = defined.good("'vnd.pallas-magic' in str([one.data for one in held.outputs])")
    assert held.value == "True"


def test_an_error_in_an_embedded_shell_is_explained(tmp_path: Path) -> None:
    import os
    import subprocess
    import sys

    from tests.ipython.kernel import ROOT

    script = tmp_path / "embedding.py"
    script.write_text(
        IMPORTS + KERNELS + "from IPython.terminal.embed import InteractiveShellEmbed\n"
        "shell = InteractiveShellEmbed(colors='NoColor', banner1='')\n"
        "shell.extension_manager.load_extension('pallas_magic')\n"
        "shell(local_ns=globals())\n"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT), "IPYTHONDIR": str(tmp_path)}
    env["IPY_TEST_SIMPLE_PROMPT"] = "1"
    done = subprocess.run(
        [sys.executable, str(script)],
        input=f"{LOWER}\nexit()\n",
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "error[PM101]: `o_ref` is in SMEM, which holds scalars" in done.stdout
    assert "/jax/" not in done.stdout + done.stderr
