/** The card of a payload as DOM; what changes while it stands is set by `show`. */
import { drawDiagnostic, FixRow } from './diagnostic.js';
import { inline } from './code.js';
import { button, element } from './dom.js';
import type { Payload } from './payload.js';
import type { Choice, Plan } from './plan.js';

/** What a card asks of its surroundings. */
export interface Actions {
  /** Insert; returns why it was refused. Absent where there is no notebook to insert into. */
  readonly insert: ((choice: Choice) => string | null) | null;
  readonly markdown: (host: HTMLElement, source: string) => void;
}

export interface DrawnCard {
  readonly node: HTMLElement;
  /** Set the card to what can be inserted now, and to why it is stale if it is. */
  show(plan: Plan, stale: string | null): void;
}

let drawnCards = 0;

export function drawCard(payload: Payload, actions: Actions): DrawnCard {
  const { card } = payload;
  const id = `pm-${(drawnCards += 1)}`;
  const refusal = element('div', { class: 'pm-refusal', role: 'alert' });
  const press = (choice: Choice): void => {
    const why = actions.insert?.(choice) ?? null;
    refusal.textContent = why === null ? '' : `Not inserted: ${why}`;
  };
  const status = element('span', { class: 'pm-status' });
  const all = button('', '', () => press('all'));
  all.className = 'pm-all';
  all.dataset.key = 'all';
  const diagnostics = card.diagnostics.map((diagnostic, index) =>
    drawDiagnostic(diagnostic, `${id}-${index}`, index, payload, actions, press)
  );
  const quiet = isQuiet(payload);
  const notes = card.notes.map(note => element('div', { class: 'pm-note' }, ...inline(note)));
  const kernels = card.kernels.map(line => element('div', { class: 'pm-kernel' }, ...inline(line)));
  const found = diagnostics.map(drawn => drawn.node);
  const node = element(
    'section',
    { class: 'pm-card', 'aria-label': `Pallas check: ${card.title}` },
    quiet ? null : header(payload, status, all),
    refusal,
    // What went well is the news of a quiet card; elsewhere the notes are of what is shown below.
    ...(quiet ? [...kernels, ...notes] : [...notes, ...found, ...kernels])
  );
  node.classList.toggle('pm-quiet', quiet);
  const rows = diagnostics.flatMap(drawn => drawn.fixes);
  return { node, show };

  function show(plan: Plan, stale: string | null): void {
    node.classList.toggle('pm-stale', stale !== null);
    const inserted = plan.fixes.some(fix => fix.status.kind === 'inserted');
    const live = card.state === 'proving' ? 'proving…' : inserted ? 'inserted: run again' : '';
    status.textContent = stale ?? live;
    status.classList.toggle('pm-proving', stale === null && card.state === 'proving');
    if (stale !== null) {
      refusal.textContent = '';
    }
    rows.forEach(row => showFix(row, plan, stale));
    showAll(plan, stale);
  }

  function showFix(row: FixRow, plan: Plan, stale: string | null): void {
    const found = plan.fixes.find(fix => fix.id === row.id)?.status;
    row.show(found ?? { kind: 'idea' }, stale);
  }

  function showAll(plan: Plan, stale: string | null): void {
    const ids = plan.combined?.ids ?? [];
    const every = ids.length === payload.combined?.ids.length;
    const label = every && card.combined ? card.combined.name : `Insert the other ${ids.length} fixes`;
    all.hidden = actions.insert === null || ids.length === 0;
    all.disabled = stale !== null;
    all.textContent = label;
    all.setAttribute('aria-label', `${label}: ${ids.join(', ')}`);
    all.title = (card.combined?.proof ?? []).map(([, text]) => text).join(' · ');
  }
}

/** Without findings a card is as quiet as its lines; a header is for what needs a reader. */
function isQuiet({ card }: Payload): boolean {
  return card.diagnostics.length === 0 && card.kernels.length + card.notes.length > 0;
}

function header({ card }: Payload, status: HTMLElement, all: HTMLElement): HTMLElement {
  return element(
    'div',
    { class: 'pm-head' },
    element('b', {}, card.title),
    element('span', { class: 'pm-dim' }, ...inline(card.subtitle)),
    status,
    all
  );
}
