"""Loading is quick and silent; unloading leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.ipython.cells import BAD, checked
from tests.ipython.kernel import LOAD, ROOT, Kernel, running_kernel

UNLOAD = "%unload_ext pallas_magic"
STATE = """\
def state():
    shell = get_ipython()
    magics = shell.magics_manager.magics
    return (
        shell.showtraceback.__func__.__qualname__,
        "showtraceback" in vars(shell),
        [len(callbacks) for callbacks in shell.events.callbacks.values()],
        list(shell.input_transformers_cleanup),
        list(shell.input_transformers_post),
        sorted(magics["line"]), sorted(magics["cell"]),
    )
"""


def python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "IPYTHONDIR": str(folder)}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True)


def test_importing_brings_in_nothing_heavy(tmp_path: Path) -> None:
    heavy = "('jax', 'jaxlib', 'numpy', 'IPython', 'ipywidgets', 'pygments')"
    code = f"import sys, pallas_magic; print([name for name in {heavy} if name in sys.modules])"
    assert python(code, tmp_path).stdout == "[]\n"


def test_loading_is_silent_and_brings_in_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\n"
        "before = set(sys.modules)\n"
        "shell.run_cell('%load_ext pallas_magic')\n"
        "new = {name.split('.')[0] for name in set(sys.modules) - before}\n"
        "print('pallas_magic' in new, new & {'jax', 'jaxlib', 'numpy', 'ipywidgets', 'pygments'})\n"
        "print('pallas_magic.engine' in sys.modules, 'pallas_magic.render' in sys.modules)\n"
    )
    done = python(code, tmp_path)
    assert done.stdout == "True set()\nFalse False\n"
    assert done.stderr == ""


def test_a_configuration_file_can_load_it(tmp_path: Path) -> None:
    profile = tmp_path / "profile_default"
    profile.mkdir()
    setting = "c.InteractiveShellApp.extensions = ['pallas_magic']\n"
    (profile / "ipython_config.py").write_text(setting)
    env = {**os.environ, "PYTHONPATH": str(ROOT), "IPYTHONDIR": str(tmp_path)}
    command = "print('pallas_check' in get_ipython().magics_manager.magics['cell'])"
    quiet = ["--colors=NoColor", "--TerminalInteractiveShell.term_title=False"]
    done = subprocess.run(
        [sys.executable, "-m", "IPython", "--no-banner", *quiet, "-c", command],
        env=env, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "True\n"


def test_three_times_in_and_out_leaves_everything_as_it_was(fresh: Kernel) -> None:
    fresh.good(STATE)
    before = fresh.good("before = state(); before").value
    for _ in range(3):
        loaded = fresh.good(LOAD)
        assert (loaded.printed, loaded.warned, loaded.displays) == ("", "", [])
        fresh.good("loaded = state(); assert loaded != before")
        assert fresh.good(UNLOAD).ok
        assert fresh.good("state()").value == before


def test_loading_twice_is_loading_once(fresh: Kernel) -> None:
    fresh.good(STATE)
    fresh.good(LOAD)
    once = fresh.good("state()").value
    fresh.good("import pallas_magic; pallas_magic.load_ipython_extension(get_ipython())")
    assert fresh.good("state()").value == once


def test_reloading_checks_again(kernel: Kernel) -> None:
    kernel.good("%reload_ext pallas_magic")
    assert len(kernel.run(checked(BAD)).cards) == 1


def test_after_unloading_the_magic_is_unknown(kernel: Kernel) -> None:
    kernel.good(UNLOAD)
    outcome = kernel.run(checked("ran = 1"))
    kernel.good(LOAD)
    assert "pallas_check" in outcome.warned
    assert "not found" in outcome.warned
    assert not outcome.displays


def test_a_magic_of_the_same_name_comes_back(fresh: Kernel) -> None:
    fresh.good(
        "from IPython.core.magic import register_cell_magic\n"
        "@register_cell_magic\ndef pallas_check(line, cell):\n    print('theirs')"
    )
    fresh.good(LOAD)
    fresh.good(UNLOAD)
    assert fresh.good("%%pallas_check\n1").printed == "theirs\n"


def test_unloading_inside_a_checked_cell_takes_the_watch_off_jax(kernel: Kernel) -> None:
    watched = (
        "from jax._src.interpreters import mlir\n"
        "from jax._src.pallas.pallas_call import pallas_call_p\n"
    )
    entry = "id(mlir._lowerings[pallas_call_p])"
    before = kernel.good(f"{watched}{entry}").value
    kernel.good(
        checked(
            f"{watched}armed = {entry}\nget_ipython().extension_manager"
            ".unload_extension('pallas_magic')\n"
        )
    )
    assert kernel.good(entry).value == before
    assert kernel.good("armed").value != before
    kernel.good(LOAD)


def test_the_cell_that_loads_it_is_already_explained() -> None:
    from tests.ipython.cells import BAD_TRACE
    from tests.ipython.kernel import IMPORTS

    with running_kernel() as kernel:
        outcome = kernel.run(f"{LOAD}\n{IMPORTS}{BAD_TRACE}")
    assert len(outcome.cards) == 1
    (source,) = outcome.card["sources"].values()
    assert (source["kind"], source["label"]) == ("cell", "In[1]")
