/**
 * One card in one notebook: which text its fixes fit, what was inserted, and
 * whether anyone else changed the cells it speaks of.
 */
import type { ISharedCell } from '@jupyter/ydoc';
import { ISignal, Signal } from '@lumino/signaling';
import { announce } from './announce.js';
import { locate, ownSource } from './locate.js';
import { insertChanges, Place, textsOf } from './notebook.js';
import type { Payload } from './payload.js';
import { changesOf, Choice, Mark, Plan, planAfter, planFor } from './plan.js';

const CHANGED = 'cell changed: run again';

/** A cell other than the card's own, with the text that was checked. */
interface Watched {
  readonly key: string;
  readonly shared: ISharedCell;
}

export class Session {
  readonly payload: Payload;
  readonly own: ISharedCell;

  constructor(payload: Payload, place: Place) {
    this.payload = payload;
    this.own = place.cell.model.sharedModel;
    const cells = textsOf(place.panel);
    const at = place.panel.content.widgets.indexOf(place.cell);
    const own = ownSource(payload.sources, cells, at);
    this._plans = own.kind === 'source' ? [planFor(payload, own.key)] : [];
    this._why = WHY[own.kind];
    this._watched = [...payload.sources].flatMap(([key, source]) => {
      const found = locate(cells, source);
      const cell = typeof found === 'number' ? place.panel.content.widgets[found] : undefined;
      return cell && found !== at ? [{ key, shared: cell.model.sharedModel }] : [];
    });
    this._at = this._plans[0]?.text === this.own.getSource() ? 0 : -1;
    this.own.changed.connect(this._onOwnChanged, this);
    this._watched.forEach(({ shared }) => shared.changed.connect(this._onOtherChanged, this));
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** What can be inserted now; null where the card is stale or has no cell of its own. */
  get plan(): Plan | null {
    return this._plans[this._at] ?? null;
  }

  /** The plan to draw: the present one, else the last that fitted. */
  get drawn(): Plan {
    return this.plan ?? this._plans[this._plans.length - 1] ?? planFor(this.payload, '');
  }

  /** Why the card no longer speaks of the notebook's text; null while it does. */
  get stale(): string | null {
    if (this.plan === null && this._why !== null) {
      return this._why;
    }
    const other = this._watched.find(({ key, shared }) => !this._holds(key, shared));
    return other ? `${this.payload.sources.get(other.key)?.label} changed: run again` : null;
  }

  /** The marks of one of the notebook's cells, where its text is one that they fit. */
  marksIn(shared: unknown): readonly Mark[] {
    if (this.stale !== null) {
      return [];
    }
    if (shared === this.own) {
      return this.plan?.marks ?? [];
    }
    return this._watched
      .filter(watched => watched.shared === shared)
      .flatMap(({ key }) => planFor(this.payload, key).marks);
  }

  /** Insert a fix, or all; returns why it was refused, null when it is in. */
  insert(choice: Choice, place: Place): string | null {
    const { plan, stale } = this;
    const changes = plan && changesOf(plan, choice);
    const after = plan && planAfter(plan, choice);
    if (stale !== null || !changes || !after) {
      return stale ?? 'there is nothing to insert';
    }
    const before = this._plans;
    this._plans = [...before.slice(0, this._at + 1), after];
    const refused = insertChanges(place, plan.text, changes);
    if (refused !== null) {
      this._plans = before;
    }
    return refused;
  }

  dispose(): void {
    Signal.clearData(this);
  }

  private _onOwnChanged(): void {
    const text = this.own.getSource();
    const before = this._at;
    this._at = this._plans.findIndex(plan => plan.text === text);
    if (this._at === before) {
      return;
    }
    announce(this._at < 0 ? CHANGED : told(this._at, before));
    this._changed.emit();
  }

  private _onOtherChanged(): void {
    this._changed.emit();
  }

  private _holds(key: string, shared: ISharedCell): boolean {
    return shared.getSource() === this.payload.sources.get(key)?.text;
  }

  private readonly _why: string | null;
  private readonly _watched: readonly Watched[];
  private readonly _changed = new Signal<this, void>(this);
  private _plans: readonly Plan[];
  private _at: number;
}

const WHY = {
  source: CHANGED,
  changed: CHANGED,
  ambiguous: 'two cells hold this text: run again',
  none: null
} as const;

function told(at: number, before: number): string {
  if (before < 0) {
    return 'The cell is as it was checked';
  }
  return at > before ? 'Fix inserted. Run the cell again to check it.' : 'Fix undone';
}
