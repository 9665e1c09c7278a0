/** One diagnostic of a card: its code, its fixes, and what is folded under them. */
import type { Actions, CardState } from './card.js';
import { diff, inline, place, ShowMark, windows } from './code.js';
import { copyButton } from './copy.js';
import { button, element, folded } from './dom.js';
import { basename } from './file_dialog.js';
import type { CardDiagnostic, CardFix, Payload, ProofItems, ReportDiagnostic, Span } from './payload.js';
import type { Choice, FixStatus } from './plan.js';

export interface FixRow {
  readonly id: number;
  show(status: FixStatus, state: CardState): void;
}

export interface DrawnDiagnostic {
  readonly node: HTMLDetailsElement;
  readonly fixes: readonly FixRow[];
}

/** What the controls of a card do. */
export interface Press {
  readonly insert: (choice: Choice) => void;
  readonly undo: () => void;
  /** Absent where there is no notebook to show a place in. */
  readonly reveal: ((span: Span) => void) | null;
}

export function drawDiagnostic(
  diagnostic: CardDiagnostic,
  id: string,
  index: number,
  payload: Payload,
  actions: Actions,
  press: Press
): DrawnDiagnostic {
  const drawn = diagnostic.fixes.map((fix, place) =>
    drawFix(fix, place === 0, press, actions.notebook !== null)
  );
  const spans = spansOf(payload.diagnostics[index], payload);
  const show: ShowMark = mark => {
    const span = spans[mark];
    return span && press.reveal ? () => press.reveal?.(span) : null;
  };
  const node = element(
    'details',
    { class: `pm-diagnostic pm-${diagnostic.severity}`, 'data-key': `${index}` },
    summary(diagnostic, index, show),
    diagnostic.windows.length ? windows(diagnostic, id, show) : null,
    ...diagnostic.notes.map(note => element('div', { class: 'pm-note' }, ...inline(note))),
    drawn.length ? element('ol', { class: 'pm-fixes' }, ...drawn.map(fix => fix.node)) : null,
    more(diagnostic, index, actions)
  );
  node.open = index === 0;
  return { node, fixes: drawn };
}

/** The spans of a diagnostic's marks in the card's order of them, null where one is in a file. */
function spansOf(
  diagnostic: ReportDiagnostic | undefined,
  { sources }: Payload
): readonly (Span | null)[] {
  const labels = diagnostic?.labels.map(({ span }) => span) ?? [];
  const all = diagnostic?.primary ? [diagnostic.primary, ...labels] : labels;
  return all.map(span => (sources.get(span.source)?.kind === 'cell' ? span : null));
}

function summary(diagnostic: CardDiagnostic, index: number, show: ShowMark): HTMLElement {
  const primary = diagnostic.marks[0]?.role === 'primary' ? show(0) : null;
  const { length } = diagnostic.fixes;
  const count = length ? ` · ${length} ${length === 1 ? 'fix' : 'fixes'}` : '';
  return element(
    'summary',
    { class: 'pm-finding', 'data-key': `${index}/summary` },
    element('span', { class: 'pm-code', title: diagnostic.name }, diagnostic.reference || diagnostic.code),
    ' ',
    element('span', { class: 'pm-message' }, ...inline(diagnostic.message)),
    ' ',
    element(
      'span',
      { class: 'pm-where' },
      place(diagnostic.where, primary),
      element('span', { class: 'pm-count' }, count)
    )
  );
}

function drawFix(
  fix: CardFix,
  first: boolean,
  press: Press,
  pressable: boolean
): FixRow & { readonly node: HTMLElement } {
  const insert = button('', '', () => press.insert(fix.id));
  insert.className = first && fix.applicability === 'safe' ? 'pm-insert' : 'pm-insert pm-second';
  insert.dataset.key = `fix${fix.id}`;
  const undo = button('Undo fix', `Undo fix ${fix.id}: ${fix.name}`, () => press.undo());
  undo.className = 'pm-undo pm-second';
  undo.dataset.key = `undo${fix.id}`;
  const state = element('span', { class: 'pm-state' });
  const changed = fix.diff.length ? diff(fix.diff) : null;
  const { length } = fix.diff.filter(line => line.number !== null);
  const node = element(
    'li',
    { class: `pm-fix pm-${fix.applicability}` },
    element(
      'div',
      { class: 'pm-fix-head' },
      insert,
      state,
      undo,
      element('b', {}, ...inline(fix.title)),
      proof(fix.proof)
    ),
    changed && fix.folded
      ? folded(`fix${fix.id}/diff`, `Show the change (${length} lines)`, changed)
      : changed
  );
  return { id: fix.id, node, show };

  function show(status: FixStatus, card: CardState): void {
    const { stale } = card;
    const obstacle = status.kind === 'ready' ? card.obstacle(status.edits) : null;
    insert.hidden = !pressable || status.kind !== 'ready' || obstacle !== null;
    insert.disabled = stale !== null;
    undo.hidden = card.undoable !== fix.id || stale !== null;
    const files = status.kind === 'ready' ? card.files(status.edits) : [];
    const label = files.length
      ? `Show change to ${files.map(basename).join(' and ')}…`
      : `Insert fix ${fix.id}`;
    insert.textContent = label;
    insert.setAttribute('aria-label', `${label.replace('…', '')}: ${fix.name}`);
    state.textContent = pressable && stale === null ? (obstacle ?? told(status, card)) : '';
    node.classList.toggle('pm-inserted', status.kind === 'inserted');
    node.classList.toggle('pm-spent', SPENT.has(status.kind));
  }
}

const SPENT = new Set<FixStatus['kind']>(['contained', 'unneeded', 'overlaps']);

function told(status: FixStatus, card: CardState): string {
  switch (status.kind) {
    case 'ready': {
      const others = card.files(status.edits).length ? [] : card.elsewhere(status.edits);
      return others.length ? `in ${others.join(' and ')}` : '';
    }
    case 'inserted':
      return '✓ Inserted';
    case 'contained':
      return 'already in';
    case 'unneeded':
      return `not needed: fix ${status.by} is in`;
    case 'overlaps':
      return 'overlaps what was inserted: run again';
    default:
      return '';
  }
}

function proof(items: ProofItems): HTMLElement {
  const parts = items.map(([state, text]) =>
    element('span', { class: `pm-proof pm-proof-${state}` }, text, SIGNS[state])
  );
  return element('span', { class: 'pm-proofs' }, ...parts);
}

const SIGNS = { ok: ' ✓', no: ' ✗', part: '', wait: '' } as const;

function more(diagnostic: CardDiagnostic, index: number, actions: Actions): HTMLElement | null {
  const parts = [
    diagnostic.page ? pageFold(diagnostic.page, `${index}/page`, actions) : null,
    diagnostic.original
      ? folded(
          `${index}/original`,
          "JAX's own error",
          element('pre', { class: 'pm-original', tabindex: '0' }, diagnostic.original)
        )
      : null,
    diagnostic.bug_report ? copyButton('Copy as bug report', diagnostic.bug_report) : null
  ].filter(part => part !== null);
  return parts.length ? element('div', { class: 'pm-more' }, ...parts) : null;
}

/** The rule's page, rendered when it is first opened. */
function pageFold(source: string, key: string, actions: Actions): HTMLElement {
  const host = element('div', { class: 'pm-page' });
  const fold = folded(key, 'Why', host);
  const render = (): void => actions.markdown(host, source);
  fold.addEventListener('toggle', render, { once: true });
  return fold;
}
