"""What a compiler said while the user's own program was compiled for a chip.

Recorded texts run everywhere; where libtpu is installed, the errors are its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pallas_magic.aot.compilers import find_compiler, worker_environment
from tests.ipython.kernel import IMPORTS, ROOT, Kernel

CUT = "Cut to your own lines; `%tb` prints the whole traceback."
HALVES = """\
def halves(x_ref, o_ref):
    o_ref[...] = x_ref[...].astype(jnp.float16).astype(jnp.float32)

def halved(x):
    return pl.pallas_call(halves, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))(x)
"""
BIG = """\
def big(x_ref, o_ref):
    o_ref[...] = x_ref[...] + 1.0

def grown(x):
    return pl.pallas_call(big, out_shape=jax.ShapeDtypeStruct((8192, 8192), jnp.float32))(x)
"""
SAID = "failed to legalize operation 'tpu.pack_subelements'"
# As libtpu 0.0.50.1 wrote it, with the place left open.
MOSAIC = (
    "INTERNAL: Mosaic failed to compile TPU kernel with MLIR module name `halves` HLO name"
    f" `f.1`: {SAID}\\n\\n"
    'at location: loc("convert_element_type:"("halves/convert_element_type"(callsite('
    '"halves"("{file}":2:17 to :47) at "halves"("{file}":2:17 to :47)))))\\n\\n'
    "The MLIR operation involved:\\n  %9 = tpu.pack_subelements\\n\\n"
    "Please report a bug at: https://github.com/jax-ml/jax/issues/new/choose\\n"
)
MEMORY = (
    "RESOURCE_EXHAUSTED: Allocation (size=268435456) would exceed memory (size=134217728)"
    " :: #allocation3 [shape = 'u8[268435456]{0}', space=vmem, size = 0x10000000, scoped, tag ="
    " 'input window allocation for operator input 0. This allocation is single buffered.'] :: g.1"
)
OTHERS = (
    "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 274877906944 bytes.",
    "INVALID_ARGUMENT: Executable expected parameter 0 of size 4096 but got 32",
    "INTERNAL: CpuCallback error calling callback: ValueError: mine",
)
RAISE = """\
def run_on_device(x):
    raise jax.errors.JaxRuntimeError({text!r}.replace("{{file}}", halves.__code__.co_filename))
run_on_device(1)
"""


@pytest.fixture
def defined(kernel: Kernel) -> Kernel:
    kernel.good(HALVES)
    return kernel


def test_a_recorded_error_is_told_at_its_place(defined: Kernel) -> None:
    outcome = defined.run(RAISE.format(text=MOSAIC.replace("\\n", "\n")))
    assert outcome.reply["ename"].endswith("JaxRuntimeError")
    (found,) = outcome.card["diagnostics"]
    assert (found["code"], found["stage"], found["targets"]) == ("PM999", "compile", ["tpu:v5e"])
    assert found["message"] == f"`halves` does not compile for TPU v5e: {SAID}"
    line = HALVES.split("\n")[1]
    marked = found["primary"]
    assert line[marked["start_col"] : marked["end_col"]] == "x_ref[...].astype(jnp.float16)"
    assert outcome.card["sources"][marked["source"]]["text"] == HALVES
    assert outcome.card["card"]["title"] == "1 error in 1 kernel"


def test_the_text_is_without_what_is_shown_beside_it(defined: Kernel) -> None:
    outcome = defined.run(RAISE.format(text=MOSAIC.replace("\\n", "\n")))
    assert outcome.card["diagnostics"][0]["original"] == (
        f"JaxRuntimeError: {SAID}\n\nThe MLIR operation involved:\n  %9 = tpu.pack_subelements"
    )


def test_an_error_without_a_place_is_told_at_the_users_line(defined: Kernel) -> None:
    outcome = defined.run(RAISE.format(text=MEMORY))
    (found,) = outcome.card["diagnostics"]
    assert (found["code"], found["stage"]) == ("PM801", "compile")
    assert found["message"] == (
        "operator input 0 takes 256 MiB of VMEM, 128 MiB more than the 128 MiB there is"
    )
    assert found["primary"]["start_line"] == 2


@pytest.mark.parametrize("text", OTHERS)
def test_an_error_that_is_no_kernels_is_left_alone(defined: Kernel, text: str) -> None:
    outcome = defined.run(RAISE.format(text=text))
    assert not outcome.displays
    assert CUT not in outcome.errors[0]


def test_a_check_tells_what_ended_it(defined: Kernel) -> None:
    raising = RAISE.format(text=MOSAIC.replace("\\n", "\n"))
    outcome = defined.run(f"%%pallas_check\n{raising}")
    assert outcome.failure == "PallasCheckError: 1 error in 1 kernel: see the card above"
    assert outcome.card["diagnostics"][0]["stage"] == "compile"


SHELL = """\
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_line_magic("colors", "nocolor")
shell.run_line_magic("load_ext", "pallas_magic")
for cell in sys.stdin.read().split("#cell\\n"):
    print("cell", flush=True)
    shell.run_cell(cell, store_history=True)
    sys.stdout.flush()
"""
DEVICE = """\
from jax.experimental import topologies
import numpy as np
chip = topologies.get_topology_desc("v5e:2x2", platform="tpu").devices[0]
placed = jax.sharding.SingleDeviceSharding(chip)
"""


def run_cells(folder: Path, *cells: str) -> list[str]:
    """What IPython prints of each cell where JAX can compile for a TPU."""
    compiler = find_compiler("tpu")
    assert compiler is not None
    own = {**os.environ, "IPYTHONDIR": str(folder)}
    paths = [str(ROOT), *([str(compiler.folder)] if compiler.folder is not None else [])]
    environment = {**worker_environment(compiler, own), "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [sys.executable, "-c", SHELL],
        input="#cell\n".join([IMPORTS + DEVICE, HALVES, BIG, *cells]),
        env=environment, capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    return done.stdout.split("cell\n")[4:]


@pytest.mark.tpu_compiler
def test_errors_of_a_real_compiler_are_told(tmp_path: Path) -> None:
    argument = "jax.ShapeDtypeStruct((8, 128), jnp.float32, sharding=placed)"
    ahead, device, memory = run_cells(
        tmp_path,
        f"jax.jit(halved).lower({argument}).compile()",
        "with jax.default_device(chip):\n    jax.jit(halved)(np.ones((8, 128), np.float32))",
        "with jax.default_device(chip):\n    jax.jit(grown)(np.ones((8192, 8192), np.float32))",
    )
    for shown in (ahead, device):
        assert "error[PM" in shown
        assert " --> In[2], line 2, column 18 · halves, compiling for TPU v5e" in shown
        assert CUT in shown
        assert "backend_compile_and_load" not in shown
    assert "error[PM801]: `x_ref` takes 256 MiB of VMEM" in memory
    assert "In[3], line 5" in memory


@pytest.mark.tpu_compiler
def test_a_kernel_that_was_lowered_in_another_cell_is_told_at_its_call(tmp_path: Path) -> None:
    argument = "jax.ShapeDtypeStruct((8192, 8192), jnp.float32, sharding=placed)"
    _, alone, _, checked, _, with_another = run_cells(
        tmp_path,
        f"lowered = jax.jit(grown).lower({argument})",
        "lowered.compile()",
        f"ahead = jax.jit(grown).trace({argument}).lower(lowering_platforms=('tpu',))",
        "%%pallas_check\nahead.compile()",
        "def both(x):\n"
        "    tile = jax.ShapeDtypeStruct((8, 128), jnp.float32)\n"
        "    return pl.pallas_call(big, out_shape=tile)(x[:8, :128]), grown(x)\n"
        f"two = jax.jit(both).lower({argument})",
        "two.compile()",
    )
    for shown in (alone, checked, with_another):
        assert "error[PM801]: operator input 0 takes 256 MiB of" in shown
        assert " --> In[3], line 5, column 12 · big, compiling for TPU v5e" in shown
        assert "float32[8192, 8192], 256 MiB" in shown
