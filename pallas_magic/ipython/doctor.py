"""``%pallas_doctor``: what is installed, which stages work here, and what the page draws."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pallas_magic.releases import TESTED_JAX, newer_than_tested
from pallas_magic.targets import FAMILIES

if TYPE_CHECKING:
    from pallas_magic.ipython.host import Host

EXTENSION = "pallas-magic"
_PACKAGES = ("pallas-magic", "jax", "jaxlib", "libtpu", "ipython", "ipykernel", "ipywidgets")
_SEEN = {
    "extension": "No notebook extension draws on this page: cards are HTML, without buttons.",
    "widgets": "No widgets are drawn on this page: no bar of fixes stands under a card.",
    "html": "No HTML is drawn on this page: cards are text.",
}


def doctor_lines(host: Host) -> Iterator[str]:
    """Everything that can be told without the page, line by line."""
    yield "Versions"
    yield f"  Python {platform.python_version()} on {platform.platform(terse=True)}"
    yield from (f"  {name} {found}" for name in _PACKAGES if (found := _version(name)))
    yield f"  {_tested()}"
    yield "Stages"
    yield f"  trace, lower: work here; values come from {_values()}"
    yield from (f"  compile for {family.upper()}s: {_compiles(family)}" for family in FAMILIES)
    yield "Host"
    yield f"  {_front_end(host)}"
    if not host.display.in_terminal:
        yield f"  notebook extension: {_extension()}"
        yield f"  widgets: {_widgets()}"
    yield "Settings"
    yield from (f"  {line}" for line in _settings(host))


def show_doctor(host: Host) -> None:
    """Print what can be told here; in a notebook the page says itself what it does not draw."""
    from pallas_magic.ipython.compilers import name_the_magic

    name_the_magic()
    print("\n".join(doctor_lines(host)))
    if not host.display.in_terminal:
        for bundle in _probes():
            _publish(bundle)


def _probes() -> Iterator[dict[str, Any]]:
    """Displays that say something only where their richer form is not drawn."""
    from pallas_magic.render import MIME_TYPE

    yield {MIME_TYPE: {}, "text/plain": _SEEN["extension"]}
    yield {"text/html": "<span hidden></span>", "text/plain": _SEEN["html"]}
    try:
        import ipywidgets
    except ImportError:
        return
    view = {"model_id": ipywidgets.HTML("").model_id, "version_major": 2, "version_minor": 0}
    yield {"application/vnd.jupyter.widget-view+json": view, "text/plain": _SEEN["widgets"]}


def _publish(bundle: dict[str, Any]) -> None:
    from IPython.display import display

    display(bundle, raw=True)  # type: ignore[no-untyped-call]


def _tested() -> str:
    jax = _version("jax")
    if jax in TESTED_JAX:
        return f"JAX {jax} is one of the releases pallas_magic is tested with"
    said = newer_than_tested(jax)
    return said or f"pallas_magic is tested with JAX {', '.join(TESTED_JAX)}, not with {jax}"


def _values() -> str:
    if "jax" not in sys.modules:
        return "this machine's accelerator, or interpret mode: JAX is not imported yet"
    from pallas_magic.bridge.devices import machine_target

    here = machine_target()
    return f"this machine's {here.title}" if here is not None else "interpret mode: no accelerator"


def _compiles(family: Any) -> str:
    from pallas_magic.aot.compilers import find_compiler, install_line
    from pallas_magic.compile_stage import why_not_compiled

    why = why_not_compiled(family)
    if why:
        return f"{why}; `{install_line(family)}` gets it"
    compiler = find_compiler(family)
    return f"works here, with {compiler.title}" if compiler is not None else "works here"


def _front_end(host: Host) -> str:
    if host.display.in_terminal:
        return "a terminal: reports are text, `%pallas_fix N` puts a fix at the next prompt"
    if "google.colab" in sys.modules:
        return "Colab"
    cell_id = host.session.frame.ran.cell_id if host.session.frame is not None else None
    if cell_id is None:
        return "a notebook that names no cells (nbclassic, a console, or a script that runs it)"
    if ":" in cell_id:
        return f"a notebook in {cell_id.partition(':')[0].removesuffix('-notebook-cell')}"
    return "a notebook that names its cells (JupyterLab, Notebook 7)"


def _extension() -> str:
    """Whether this environment has it: a server elsewhere may have it all the same."""
    folder = Path(sys.prefix) / "share" / "jupyter" / "labextensions" / EXTENSION
    if not (folder / "package.json").is_file():
        return "not in this environment; the one that Jupyter's server runs in needs pallas-magic"
    return "in this environment"


def _widgets() -> str:
    version = _version("ipywidgets")
    return f"ipywidgets {version}" if version else "ipywidgets is not installed here"


def _settings(host: Host) -> Iterator[str]:
    settings = host.settings
    for name in sorted(settings.class_trait_names(config=True)):
        yield f"PallasMagic.{name} = {getattr(settings, name)!r}"


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
