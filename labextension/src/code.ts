/** Code in a card: running text with code in it, windows of source, diffs. */
import { button, Child, element } from './dom.js';
import type { CardDiagnostic, CodeLine, DiffLine, Inline } from './payload.js';
import { cut, dedented, runs, sharedIndent } from './segments.js';

export function inline(parts: Inline): Node[] {
  return parts.map(([kind, text]) =>
    kind === 'code' ? element('code', {}, text) : document.createTextNode(text)
  );
}

/** Shows a mark, by its number, in its cell; null where there is none to show it in. */
export type ShowMark = (mark: number) => (() => void) | null;

/** The windows of a diagnostic; `id` makes the ids of its labels unique in the page. */
export function windows(diagnostic: CardDiagnostic, id: string, show: ShowMark): HTMLElement {
  const several = new Set(diagnostic.windows.map(window => window.label)).size > 1;
  const blocks = diagnostic.windows.flatMap(({ label, lines }) => {
    const name = { tabindex: '0', role: 'group', 'aria-label': `Code of ${label}` };
    const rows = lines.map(line => codeRow(line, diagnostic, id, show));
    const first = lines.flatMap(line => line.segments).find(([, , mark]) => mark !== null)?.[2];
    const title = place(label, first === undefined || first === null ? null : show(first));
    return [
      several ? element('div', { class: 'pm-window-label' }, title) : null,
      element('pre', { class: 'pm-window', ...name }, ...rows)
    ];
  });
  return element('div', { class: 'pm-windows' }, ...blocks);
}

/** A change without the indentation that all its lines share, which would only push it aside. */
export function diff(lines: readonly DiffLine[]): HTMLElement {
  const own = lines.filter(line => line.number !== null);
  const indent = sharedIndent(own.map(line => line.segments));
  const rows = lines.map(({ kind, number, segments, changed }) => {
    const tag = kind === 'del' ? 'del' : kind === 'add' ? 'ins' : 'span';
    const sign = kind === 'del' ? '-' : kind === 'add' ? '+' : ' ';
    const count = number === null ? 0 : indent;
    const ranges = (changed ?? []).map(([start, end]) => [start - count, end - count] as const);
    const code = cut(dedented(segments, count), ranges).map(({ token, text, inside }) =>
      inside ? element('span', { class: 'pm-changed' }, segment(token, text)) : segment(token, text)
    );
    const gutter = lineNumber(number === null ? '' : `${number}`);
    const faint = number === null ? ' pm-faint' : '';
    return element(
      'div',
      { class: `pm-row pm-${kind}${faint}` },
      gutter,
      element(tag, {}, `${sign} `, ...code)
    );
  });
  const name = { tabindex: '0', role: 'group', 'aria-label': 'Change' };
  return element('pre', { class: 'pm-diff', ...name }, ...rows);
}

/** The name of a place: what leads there, or its bare name. */
export function place(name: string, show: (() => void) | null): Child {
  if (show === null) {
    return name;
  }
  const link = button(name, `Show ${name}`, show);
  link.className = 'pm-link pm-place';
  return link;
}

function codeRow(
  line: CodeLine,
  diagnostic: CardDiagnostic,
  id: string,
  show: ShowMark
): HTMLElement {
  if (line.kind === 'gap') {
    return element('div', { class: 'pm-row pm-gap', 'aria-hidden': 'true' }, lineNumber('⋮'));
  }
  if (line.kind === 'label') {
    return labelRow(line, diagnostic, id);
  }
  const code = runs(line.segments, ([, , mark]) => mark).flatMap(run => {
    const pieces = run.map(([token, text]) => segment(token, text));
    const mark = run[0]?.[2] ?? null;
    return mark === null ? pieces : [marked(pieces, mark, diagnostic, id, show(mark))];
  });
  const number = lineNumber(line.number === null ? '' : `${line.number}`);
  return element('div', { class: 'pm-row' }, number, element('span', {}, ...code));
}

function labelRow(line: CodeLine, diagnostic: CardDiagnostic, id: string): HTMLElement {
  const mark = diagnostic.marks[line.mark ?? -1];
  const says = element(
    'span',
    { class: `pm-says pm-${mark?.role ?? 'primary'}`, id: `${id}-${line.mark ?? 'none'}` },
    element('span', { 'aria-hidden': 'true' }, '↑ '),
    ...inline(mark?.inline ?? [['text', mark?.text ?? '']])
  );
  const indent = ' '.repeat(line.indent ?? 0);
  return element('div', { class: 'pm-row' }, lineNumber(''), element('span', {}, indent, says));
}

/** One mark over all its tokens: it is read out, and counted, once. */
function marked(
  pieces: readonly Child[],
  index: number,
  diagnostic: CardDiagnostic,
  id: string,
  show: (() => void) | null
): HTMLElement {
  const role = diagnostic.marks[index]?.role ?? 'primary';
  const attributes = { class: `pm-mark pm-${role}`, 'aria-describedby': `${id}-${index}` };
  const node = element('mark', attributes, ...pieces);
  if (show !== null) {
    node.classList.add('pm-shown');
    node.addEventListener('click', show);
  }
  return node;
}

/** A piece of code in the colour of its Pygments token. */
function segment(token: string, text: string): Child {
  return /^[a-z][a-z0-9]?$/.test(token) ? element('span', { class: `pm-t-${token}` }, text) : text;
}

function lineNumber(text: string): HTMLElement {
  return element('span', { class: 'pm-number', 'data-number': text });
}
