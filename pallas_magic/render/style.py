"""The style sheet of the HTML card.

Every colour comes from the host's variables where it has some (JupyterLab and
its exports, VS Code), else from a light or dark set of our own; tints are mixed
from them, so that one sheet serves all themes. What it styles must also read
without it: hosts drop style sheets from notebooks they do not trust.
"""

from __future__ import annotations

ROOT = "pallas-magic"

_LIGHT = {
    "fg": "#1f2328",
    "dim": "#59636e",
    "bg": "#ffffff",
    "soft": "#f5f7f9",
    "line": "#d7dce1",
    "err": "#c62828",
    "warn": "#9a5b00",
    "why": "#0969da",
    "ok": "#1a7f37",
    "kw": "#b3410f",
    "num": "#0550ae",
    "def": "#6639ba",
    "str": "#0a6b3d",
    "com": "#66707b",
}
_DARK = {
    "fg": "#e6e6e6",
    "dim": "#a3a9b0",
    "bg": "#1a1a1a",
    "soft": "#242526",
    "line": "#3d3f42",
    "err": "#ff7b72",
    "warn": "#e3a33c",
    "why": "#6cb6ff",
    "ok": "#56d364",
    "kw": "#ff9d5c",
    "num": "#79c0ff",
    "def": "#d2a8ff",
    "str": "#8fd6a3",
    "com": "#99a1a9",
}
_HOST = {
    "fg": ("jp-ui-font-color1", "vscode-editor-foreground"),
    "dim": ("jp-ui-font-color2", "vscode-descriptionForeground"),
    "bg": ("jp-layout-color1", "vscode-editor-background"),
    "soft": (),
    "line": ("jp-border-color2", "vscode-panel-border"),
    "err": ("jp-error-color1", "vscode-editorError-foreground"),
    "warn": ("jp-warn-color1", "vscode-editorWarning-foreground"),
    "why": ("jp-brand-color1", "vscode-textLink-foreground"),
    "ok": ("jp-success-color1", "vscode-testing-iconPassed"),
    "kw": ("jp-mirror-editor-keyword-color",),
    "num": ("jp-mirror-editor-number-color",),
    "def": ("jp-mirror-editor-def-color",),
    "str": ("jp-mirror-editor-string-color",),
    "com": ("jp-mirror-editor-comment-color",),
}

_MIXED = "color-mix(in srgb, red, blue)"
_RULES = """
& { color: var(--fg); background: var(--bg); max-width: 860px; border: 1px solid var(--line);
  border-radius: 6px; overflow: hidden; font: 13px/1.5 system-ui, sans-serif; text-align: left; }
& * { box-sizing: border-box; }
& code, & pre { font: 12.5px/1.6 var(--jp-code-font-family, ui-monospace, Menlo, Consolas,
  "DejaVu Sans Mono", monospace); color: inherit; background: none; padding: 0; border: 0; }
& .head { margin: 0; padding: 8px 14px; }
& .head b { font-weight: 600; margin-right: 8px; }
& .dim, & .ln, & .gap { color: var(--dim); }
& h3 { margin: 0; font: 600 14px/1.5 system-ui, sans-serif; color: var(--fg);
  overflow-wrap: anywhere; }
& h3 code, & .fix b code { font-weight: 600; font-size: 13px; }
& .id { font-weight: 600; color: var(--tone) !important; margin-right: 4px; }
& .error { --tone: var(--err); } & .warning { --tone: var(--warn); } & .note { --tone: var(--why); }
& article { border-top: 1px solid var(--line); }
& article > .what, & .next > summary { border-left: 4px solid var(--tone); }
& article > .what { padding: 10px 14px 8px 12px; }
& .next { border-top: 1px solid var(--line); }
& .next > article { border-top: 0; }
& .next > summary { padding: 9px 14px 9px 12px; overflow-wrap: anywhere; }
& .next > summary:hover { background: var(--soft); }
& .next > article > .what { padding: 0 14px 8px 12px; }
& summary { cursor: pointer; }
& summary:focus-visible, & pre:focus-visible { outline: 2px solid var(--why);
  outline-offset: -2px; }
& pre { margin: 0; overflow-x: auto; white-space: pre; }
& pre.src { padding: 8px 12px; background: var(--soft); border-block: 1px solid var(--line); }
& pre.src + .more { border-top: 0; } & pre.src:last-child { border-bottom: 0; }
& .what + .src-name { border-top: 1px solid var(--line); }
& .src-name { padding: 4px 14px 2px; color: var(--dim); }
& .ln { user-select: none; }
& mark { color: inherit; background: none; padding: 0;
  text-decoration: underline wavy var(--tone) 1.5px;
  text-underline-offset: 4px; text-decoration-skip-ink: none; }
& mark.cause { text-decoration: underline solid var(--why) 2px; }
& .say { position: sticky; left: 12px; right: 12px;
  font: 600 12px/1.7 system-ui, sans-serif; color: var(--tone) !important; }
& .say.cause { color: var(--why) !important; }
& .notes, & .fixes { list-style: none; margin: 0; padding: 4px 14px; }
& .notes { padding-top: 8px; } & .notes li { margin: 0 0 2px; }
& .fixes > li { margin: 0; padding: 8px 0; border-bottom: 1px solid var(--line); }
& .fixes > li:last-child { border: 0; }
& .fix { display: flex; flex-wrap: wrap; align-items: baseline; gap: 2px 10px; }
& .fix b { font-weight: 600; flex: 1 1 240px; overflow-wrap: anywhere; }
& .ok { color: var(--ok) !important; } & .part, & .wait { color: var(--dim); }
& .no { color: var(--warn) !important; }
& pre.diff { margin: 6px 0 2px; border: 1px solid var(--line); border-radius: 4px; padding: 3px 0; }
& .diff del, & .diff ins, & .diff .gap { display: inline-block; min-width: 100%; padding: 0 10px;
  text-decoration: none; color: inherit; }
& .diff del { background: color-mix(in srgb, var(--err) 14%, transparent) !important; }
& .diff ins { background: color-mix(in srgb, var(--ok) 16%, transparent) !important; }
& .diff b { font-weight: inherit; border-radius: 2px; }
& .diff del b { background: rgba(220, 60, 60, .26);
  background: color-mix(in srgb, var(--err) 28%, transparent); }
& .diff ins b { background: rgba(40, 160, 80, .3);
  background: color-mix(in srgb, var(--ok) 32%, transparent); }
& .more { padding: 8px 14px; border-top: 1px solid var(--line); color: var(--dim); }
& .more > summary { display: list-item; }
& .page { color: var(--fg); padding: 4px 0 4px 14px; max-width: 72ch; }
& .page h4, & .page h5, & .page h6 { margin: 12px 0 4px; font: 600 13px/1.5 system-ui, sans-serif; }
& .page p, & .page ul, & .page ol { margin: 4px 0 8px; } & .page a { color: var(--why); }
& .page pre, & pre.told { margin: 6px 0; padding: 8px 12px; background: var(--soft);
  border: 1px solid var(--line); border-radius: 4px; color: var(--fg); }
& pre.told { white-space: pre-wrap; overflow-wrap: anywhere; }
& table { table-layout: auto; border-collapse: collapse; border: 0; margin: 0; font: inherit;
  font-size: 12.5px; }
& tr:nth-child(n):nth-child(n), & thead { background: none; border: 0; }
& caption { caption-side: top; padding: 0 0 3px; text-align: left; color: var(--dim); }
& th, & td { padding: 3px 10px 3px 0; border: 0; text-align: left; vertical-align: baseline;
  white-space: nowrap; font-weight: 400; }
& .matrix, & .scrolled { overflow-x: auto; }
& .matrix { padding: 8px 14px; border-top: 1px solid var(--line); }
& .matrix:focus-visible, & .scrolled:focus-visible, & .matrix a:focus-visible {
  outline: 2px solid var(--why); outline-offset: -2px; }
& .matrix th, & .matrix td { padding: 3px 8px; border-top: 1px solid var(--line); }
& .matrix thead th { color: var(--dim); border: 0; }
& .matrix th[scope="rowgroup"] { position: sticky; left: 0; background: var(--bg); }
& .matrix thead th:first-child, & .matrix th[scope="rowgroup"] { padding-left: 0; }
& .matrix tbody tr + tr > * { border: 0; padding-top: 0; }
& .matrix td { white-space: normal; } & .matrix .first { white-space: nowrap; }
& .matrix a { color: var(--tone, var(--why)); font-weight: 600; white-space: nowrap;
  text-decoration: underline; text-underline-offset: 3px; }
& .failed { color: var(--err) !important; } & .skipped, & .waiting { color: var(--dim); }
& .reasons { list-style: none; margin: 0; padding: 0 14px 8px; color: var(--dim); }
& .reasons li { margin: 0; }
& article { scroll-margin-top: 64px; }
& .scrolled { margin: 6px 0 0 14px; } & .scrolled code { font-size: 12px; }
& .bars caption, & .bars td, & .buffers { color: var(--fg); }
& .bars img { display: inline; width: min(200px, 40vw); max-width: none; margin: 0;
  vertical-align: -2px; }
& .buffers thead th { color: var(--dim); padding-bottom: 0; }
& .foot { margin: 0; padding: 8px 14px; border-top: 1px solid var(--line); color: var(--dim); }
& .quiet { margin: 0; padding: 8px 14px; list-style: none; } & .quiet li { margin: 0; }
&.calm { border: 0; background: none; } &.calm .quiet, &.calm .foot { padding: 2px 0; border: 0; }
&.calm .matrix, &.calm .more, &.calm .reasons { padding: 2px 0; border: 0; }
&.calm .matrix th { position: static; background: none; }
&.bar { max-width: none; border: 0; background: none; }
& .k, & .kn, & .kc, & .kd, & .kr, & .kt, & .ow { color: var(--kw); }
& .m, & .mi, & .mf, & .mh, & .mb, & .mo, & .il { color: var(--num); }
& .nf, & .fm, & .nc, & .nd { color: var(--def); }
& .s, & .s1, & .s2, & .sa, & .sd, & .se, & .si, & .sr { color: var(--str); }
& .c, & .c1, & .ch, & .cm { color: var(--com); font-style: italic; }
"""


def style_sheet() -> str:
    """The sheet, every rule of it under our own root."""
    # Doubled, so that it outweighs what hosts say of lists and code in general.
    root = f".{ROOT}.{ROOT}"
    light, dark = _variables(_LIGHT), _variables(_DARK)
    scheme = f"@media (prefers-color-scheme: dark) {{ {root} {{ {dark} }} }}"
    # A tint of the host's own colours; its second background may be far from its first.
    soft = "color-mix(in srgb, var(--fg) 4%, var(--bg))"
    tint = f"@supports (color: {_MIXED}) {{ {root} {{ --soft: {soft}; }} }}"
    return f"{root} {{ {light} }}\n{scheme}\n{tint}{_RULES.replace('&', root)}"


def _variables(colours: dict[str, str]) -> str:
    return " ".join(f"--{name}: {_variable(name, last)};" for name, last in colours.items())


def _variable(name: str, last: str) -> str:
    for host in reversed(_HOST[name]):
        last = f"var(--{host}, {last})"
    return last
