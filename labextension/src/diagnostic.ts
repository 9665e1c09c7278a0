/** One diagnostic of a card: its code, its fixes, and what is folded under them. */
import type { Actions } from './card.js';
import { diff, inline, windows } from './code.js';
import { copyButton } from './copy.js';
import { button, element, folded } from './dom.js';
import type { CardDiagnostic, CardFix, Payload, ProofItems } from './payload.js';
import type { Choice, FixStatus } from './plan.js';

export interface FixRow {
  readonly id: number;
  show(status: FixStatus, stale: string | null): void;
}

export interface DrawnDiagnostic {
  readonly node: HTMLDetailsElement;
  readonly fixes: readonly FixRow[];
}

type Press = (choice: Choice) => void;

export function drawDiagnostic(
  diagnostic: CardDiagnostic,
  id: string,
  index: number,
  payload: Payload,
  actions: Actions,
  press: Press
): DrawnDiagnostic {
  const drawn = diagnostic.fixes.map((fix, place) =>
    drawFix(fix, place === 0, payload, press, actions.insert !== null)
  );
  const node = element(
    'details',
    { class: `pm-diagnostic pm-${diagnostic.severity}`, 'data-key': `${index}` },
    summary(diagnostic, index),
    diagnostic.windows.length ? windows(diagnostic, id) : null,
    ...diagnostic.notes.map(note => element('div', { class: 'pm-note' }, ...inline(note))),
    drawn.length ? element('ol', { class: 'pm-fixes' }, ...drawn.map(fix => fix.node)) : null,
    more(diagnostic, index, actions)
  );
  node.open = index === 0;
  return { node, fixes: drawn };
}

function summary(diagnostic: CardDiagnostic, index: number): HTMLElement {
  const { length } = diagnostic.fixes;
  const count = length ? ` · ${length} ${length === 1 ? 'fix' : 'fixes'}` : '';
  return element(
    'summary',
    { class: 'pm-finding', 'data-key': `${index}/summary` },
    element('span', { class: 'pm-code', title: diagnostic.name }, diagnostic.code),
    ' ',
    element('span', { class: 'pm-message' }, ...inline(diagnostic.message)),
    ' ',
    element(
      'span',
      { class: 'pm-where' },
      diagnostic.where,
      element('span', { class: 'pm-count' }, count)
    )
  );
}

function drawFix(
  fix: CardFix,
  first: boolean,
  payload: Payload,
  press: Press,
  pressable: boolean
): FixRow & { readonly node: HTMLElement } {
  const insert = button(`Insert fix ${fix.id}`, `Insert fix ${fix.id}: ${fix.name}`, () =>
    press(fix.id)
  );
  insert.className = first && fix.applicability === 'safe' ? 'pm-insert' : 'pm-insert pm-second';
  insert.dataset.key = `fix${fix.id}`;
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
      element('b', {}, ...inline(fix.title)),
      proof(fix.proof)
    ),
    changed && fix.folded
      ? folded(`fix${fix.id}/diff`, `Show the change (${length} lines)`, changed)
      : changed
  );
  return { id: fix.id, node, show };

  function show(status: FixStatus, stale: string | null): void {
    insert.hidden = !pressable || status.kind !== 'ready';
    insert.disabled = stale !== null;
    state.textContent = pressable && stale === null ? told(status, fix, payload) : '';
    node.classList.toggle('pm-inserted', status.kind === 'inserted');
    node.classList.toggle('pm-spent', SPENT.has(status.kind));
  }
}

const SPENT = new Set<FixStatus['kind']>(['contained', 'unneeded', 'overlaps']);

function told(status: FixStatus, fix: CardFix, payload: Payload): string {
  switch (status.kind) {
    case 'inserted':
      return '✓ Inserted';
    case 'contained':
      return 'already in';
    case 'unneeded':
      return `not needed: fix ${status.by} is in`;
    case 'overlaps':
      return 'overlaps what was inserted: run again';
    case 'elsewhere': {
      const source = payload.sources.get(status.source);
      return `in ${fix.elsewhere || source?.label}: ${source?.kind === 'file' ? 'edit' : 'insert'} there`;
    }
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

const SIGNS = { ok: ' ✓', no: ' ✗', part: '', wait: '…' } as const;

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
