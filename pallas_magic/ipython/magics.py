"""The magics, as they are typed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pallas_magic.ipython.host import Host

Magic = Callable[..., Any]


class PallasMagics:
    """What users type; the work is done in the modules beside this one."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def tables(self) -> Mapping[str, Mapping[str, Magic]]:
        """The magics by kind and name, as IPython keeps them."""
        return {
            "line": {
                "pallas_check": self.pallas_check,
                "pallas_check_begin": self.pallas_check_begin,
                "pallas_compilers": self.pallas_compilers,
                "pallas_doctor": self.pallas_doctor,
                "pallas_explain": self.pallas_explain,
                "pallas_failure": self.pallas_failure,
                "pallas_fix": self.pallas_fix,
            },
            "cell": {"pallas_check": self.pallas_check},
        }

    def pallas_check(self, line: str, cell: str | None = None, local_ns: Any = None) -> Any:
        """Check the Pallas calls of a cell, or of an expression, for an accelerator.

        %%pallas_check [--target T] [--fix [N]] [--no-run] [--no-verify]

            on top of a cell: the cell runs once, as if this line were not there.
            Under it stands what was found in its kernels: where, why, and fixes
            that were proved.

        %pallas_check [--target T] [--no-run] [--no-verify] f(x)

            checks one expression and returns its value.

        --target T   chips to check for, commas between them: tpu:v4 v5e v5p v6e v7x,
                     gpu:a100 h100 b200, tpu (v5e), gpu (h100). auto, the default, is
                     this machine's accelerator, else the usual chip of the kernel's
                     back end.
        --fix [N]    put fix N, or all fixes, into the cell. The cell runs once, as it
                     stands, and ends ok, replaced by the mended cell to be run again.
        --no-run     stop the cell after its first Pallas call, which is checked and
                     not executed.
        --no-verify  show fixes without proving them.

        `# pallas: ignore[PM101]` on a line leaves out what is found there, and
        `%config PallasMagic` lists what can be set for all checks. More is told by
        %pallas_explain, %pallas_fix, %pallas_compilers and %pallas_doctor.
        """
        from pallas_magic.ipython.expression import check_expression
        from pallas_magic.ipython.options import parse_options, split_options

        if cell is not None:
            return self._run_body(line, cell)
        written, expression = split_options(line)
        options = parse_options(written, self._host.settings.options())
        return check_expression(self._host, options, expression, local_ns)

    def pallas_check_begin(self, line: str) -> None:
        """What the line of `%%pallas_check` becomes: check the cell from here on."""
        from pallas_magic.ipython.check import start_check
        from pallas_magic.ipython.options import parse_options

        options = parse_options(line, self._host.settings.options())
        frame = self._host.session.frame
        if frame is None or self._host.session.checked_frame() is not None:
            return
        frame.check = start_check(options, self._host.session.library, self._host.faults)

    def pallas_explain(self, line: str) -> None:
        """Show the page of a rule: what it means, why, and how to mend it.

        %pallas_explain PM101              by its code
        %pallas_explain smem-vector-store  by its name
        %pallas_explain                    which rules there are
        """
        from pallas_magic.ipython.pages import page_of

        self._host.display.page(page_of(line))

    def pallas_fix(self, line: str) -> None:
        """Make a fix of the last report: the fixed cell comes at the next prompt.

        %pallas_fix N          fix N, by its number in the report
        %pallas_fix all        all fixes that go together
        %pallas_fix N --yes    without asking, where the fix is in a file

        For terminals. In a notebook press the button on the card, or put
        %%pallas_check --fix N on top of the cell. A fix in a file of yours is
        shown and, if you say so, written, in terminals and in notebooks.
        """
        from pallas_magic.ipython.fix_command import fix_at_prompt

        fix_at_prompt(self._host, line)

    def pallas_compilers(self, line: str) -> None:
        """List, install or remove the compilers of the compile stage.

        %pallas_compilers                    which there are
        %pallas_compilers install tpu [gpu]  install them where only pallas_magic sees them
        %pallas_compilers remove tpu [gpu]   take them away again
        """
        from pallas_magic.ipython.compilers import run_compilers

        run_compilers(line)

    def pallas_doctor(self, line: str) -> None:
        """Tell what is installed, which stages work here, and what the host can show."""
        from pallas_magic.ipython.doctor import show_doctor

        show_doctor(self._host)

    def pallas_failure(self, line: str) -> None:
        """Print the last failure of pallas_magic itself, to be copied into a bug report."""
        print(self._host.faults.report())

    def _run_body(self, line: str, cell: str) -> None:
        """For whoever calls the cell magic as a function: typed cells never come here."""
        self.pallas_check_begin(line)
        self._host.shell.run_cell(cell, store_history=False).raise_error()


# IPython passes the caller's local names to a magic that is marked so.
PallasMagics.pallas_check.needs_local_scope = True  # type: ignore[attr-defined]
