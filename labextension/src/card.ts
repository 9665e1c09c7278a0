/** The card of a payload as DOM; what changes while it stands is set by `show`. */
import { drawDiagnostic, FixRow, Press } from './diagnostic.js';
import { chipTable } from './chips.js';
import { inline } from './code.js';
import { button, element } from './dom.js';
import type { Edits } from './edits.js';
import { basename } from './file_dialog.js';
import type { Payload, Span } from './payload.js';
import { memoryFold } from './memory.js';
import type { Choice, Plan } from './plan.js';

/** What a card asks of its surroundings. */
export interface Actions {
  readonly notebook: NotebookActions | null;
  readonly markdown: (host: HTMLElement, source: string) => void;
}

/** What can be done where the card stands in a notebook; each says why it was refused. */
export interface NotebookActions {
  readonly insert: (choice: Choice) => Promise<string | null>;
  readonly undo: () => Promise<string | null>;
  readonly reveal: (span: Span) => Promise<string | null>;
}

/** What the card says of its notebook now. */
export interface CardState {
  readonly plan: Plan;
  readonly stale: string | null;
  readonly undoable: Choice | null;
  /** The files that were written and still are as they were then. */
  readonly written: readonly string[];
  /** Why edits cannot go in from here, null where they can. */
  readonly obstacle: (edits: Edits) => string | null;
  /** The names of what edits change beside the card's own cell. */
  readonly elsewhere: (edits: Edits) => readonly string[];
  /** The files that edits change. */
  readonly files: (edits: Edits) => readonly string[];
}

export interface DrawnCard {
  readonly node: HTMLElement;
  /** Set the card to what can be inserted now, and to why it is stale if it is. */
  show(state: CardState): void;
}

type Act = () => Promise<string | null> | undefined;

/** Where the focus goes when the button that was pressed is no longer there. */
const NEXT = '.pm-undo:not([hidden]), .pm-insert:not([hidden])';

let drawnCards = 0;

export function drawCard(payload: Payload, actions: Actions): DrawnCard {
  const { card } = payload;
  const id = `pm-${(drawnCards += 1)}`;
  const refusal = element('div', { class: 'pm-refusal', role: 'alert' });
  const { notebook } = actions;
  const tell = async (act: Act | undefined, not: string): Promise<void> => {
    const pressed = document.activeElement;
    const why = (await act?.()) ?? null;
    refusal.textContent = why === null ? '' : `${not}: ${why}`;
    const left = document.activeElement === pressed || document.activeElement === document.body;
    if (left && pressed instanceof HTMLElement && pressed.hidden && node.contains(pressed)) {
      node.querySelector<HTMLElement>(NEXT)?.focus();
    }
  };
  const press: Press = {
    insert: choice => void tell(() => notebook?.insert(choice), 'Not inserted'),
    undo: () => void tell(notebook?.undo, 'Not undone'),
    reveal: notebook && (span => void tell(() => notebook.reveal(span), 'Not shown'))
  };
  const status = element('span', { class: 'pm-status' });
  const all = button('', '', () => press.insert('all'));
  all.className = 'pm-all';
  all.dataset.key = 'all';
  const undoAll = button('Undo fixes', 'Undo the fixes inserted together', () => press.undo());
  undoAll.className = 'pm-undo pm-second';
  undoAll.dataset.key = 'undo';
  const diagnostics = card.diagnostics.map((diagnostic, index) =>
    drawDiagnostic(diagnostic, `${id}-${index}`, index, payload, actions, press)
  );
  const quiet = isQuiet(payload);
  const notes = card.notes.map(note => element('div', { class: 'pm-note' }, ...inline(note)));
  const kernels = card.kernels.map(line => element('div', { class: 'pm-kernel' }, ...inline(line)));
  const found = diagnostics.map(drawn => drawn.node);
  const chips = chipTable(payload, found);
  const memory = memoryFold(payload);
  const node = element(
    'section',
    { class: 'pm-card', 'aria-label': `Pallas check: ${card.title}` },
    quiet ? null : header(payload, status, all, undoAll),
    refusal,
    // What went well is the news of a quiet card; elsewhere the notes are of what is shown below.
    ...(quiet
      ? [...chips, ...kernels, ...memory, ...notes, ...(card.progress ? [status] : [])]
      : [...notes, ...chips, ...found, ...kernels, ...memory])
  );
  node.classList.toggle('pm-quiet', quiet);
  const rows = diagnostics.flatMap(drawn => drawn.fixes);
  return { node, show };

  function show(state: CardState): void {
    const { stale } = state;
    node.classList.toggle('pm-stale', stale !== null);
    status.textContent = stale ?? live(state);
    status.classList.toggle('pm-proving', stale === null && card.state === 'proving');
    if (stale !== null) {
      refusal.textContent = '';
    }
    rows.forEach(row => showFix(row, state));
    showAll(state);
  }

  function live({ plan, written }: CardState): string {
    if (card.state === 'proving') {
      return card.progress || 'proving…';
    }
    if (written.length) {
      return `written: reload ${written.map(basename).join(' and ')}, then run again`;
    }
    const inserted = plan.fixes.some(fix => fix.status.kind === 'inserted');
    return inserted ? 'inserted: run again' : '';
  }

  function showFix(row: FixRow, state: CardState): void {
    const found = state.plan.fixes.find(fix => fix.id === row.id)?.status;
    row.show(found ?? { kind: 'idea' }, state);
  }

  function showAll({ plan, stale, undoable, obstacle }: CardState): void {
    const possible = plan.combined !== null && obstacle(plan.combined.edits) === null;
    const ids = possible ? (plan.combined?.ids ?? []) : [];
    const every = ids.length === payload.combined?.ids.length;
    const label = every && card.combined ? card.combined.name : `Insert the other ${ids.length} fixes`;
    all.hidden = actions.notebook === null || ids.length === 0;
    undoAll.hidden = undoable !== 'all' || stale !== null;
    all.disabled = stale !== null;
    all.textContent = label;
    all.setAttribute('aria-label', `${label}: ${ids.join(', ')}`);
    all.title = (card.combined?.proof ?? []).map(([, text]) => text).join(' · ');
  }
}

function isBare({ kernels, notes, chips }: Payload['card']): boolean {
  return kernels.length + notes.length === 0 && chips === null;
}

/** Without findings a card is as quiet as its lines; a header is for what needs a reader. */
function isQuiet({ card }: Payload): boolean {
  return card.diagnostics.length === 0 && !isBare(card);
}

function header({ card }: Payload, ...controls: readonly HTMLElement[]): HTMLElement {
  return element(
    'div',
    { class: 'pm-head' },
    element('b', {}, card.title),
    element('span', { class: 'pm-dim' }, ...inline(card.subtitle)),
    ...controls
  );
}
