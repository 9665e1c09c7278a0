/**
 * One card in one notebook: which texts its fixes fit, what was inserted, and
 * whether anyone else changed the cells it speaks of.
 */
import type { ISharedCell, ISharedNotebook } from '@jupyter/ydoc';
import { ISignal, Signal } from '@lumino/signaling';
import { announce } from './announce.js';
import { Bindings, changedSince } from './bindings.js';
import { Edits, invertedEdits, Texts } from './edits.js';
import { changeCell, CellChanges, changeCells, focusCell, focusEditor } from './notebook.js';
import { isReadOnly, Place } from './notebook.js';
import type { Payload } from './payload.js';
import { Choice, editsOfChoice, Mark, Plan, planAfter, planFor } from './plan.js';

const OWN_CHANGED = 'cell changed';
const NOTHING = 'there is nothing to insert';

/** What was inserted last: which choice, and what takes its files back. */
export interface Insertion {
  readonly choice: Choice;
  readonly edits: Edits;
  readonly token: unknown;
}

export class Session {
  readonly own: ISharedCell;

  constructor(
    readonly payload: Payload,
    { panel, cell }: Place
  ) {
    this.own = cell.model.sharedModel;
    this._notebook = panel.content.model!.sharedModel;
    this._bindings = new Bindings(payload, this._notebook);
    this._plans = [planFor(payload)];
    this._fileTexts = this._plans[0]!.texts;
    this._at = this._fitting();
    this._why = this._problem();
    this._listen();
    this._notebook.changed.connect(this._onNotebookChanged, this);
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** The plan to draw: the present one, else the last that fitted. */
  get plan(): Plan {
    return this._plans[this._at < 0 ? this._last : this._at]!;
  }

  /** Why the card no longer speaks of the notebook's text; null while it does. */
  get stale(): string | null {
    return this._why && `${this._why}: run again`;
  }

  /** What Undo on the card takes back. */
  get undoable(): Insertion | null {
    return this._at > 0 ? (this._made[this._at - 1] ?? null) : null;
  }

  /** The files that what is in now has changed. */
  get written(): readonly string[] {
    const made = this._made.slice(0, Math.max(this._at, 0));
    return made.flatMap(({ edits }) => [...this.fileEdits(edits).keys()]);
  }

  /** All cells whose marks this session has had a say in. */
  get cells(): ReadonlySet<unknown> {
    return this._touched;
  }

  /** The marks of one of the notebook's cells, where its text is one that they fit. */
  marksIn(cell: unknown): readonly Mark[] {
    if (this._at < 0 || !this._touched.has(cell)) {
      return [];
    }
    const keys = this._bindings.keysOf(cell);
    return this.plan.marks.filter(mark => keys.includes(mark.document));
  }

  /** The cell of a source, or why it has none here. */
  cellOfSource(key: string): ISharedCell | string {
    const binding = this._bindings.of(this._bindings.documentOf(key));
    return binding.kind === 'cell' ? binding.cell : binding.kind === 'none' ? binding.why : key;
  }

  /** Why edits can never go in from here, whatever the cells' texts are; null where they can. */
  obstacle(edits: Edits): string | null {
    for (const key of edits.keys()) {
      const binding = this._bindings.of(key);
      if (binding.kind === 'none') {
        return binding.why;
      }
      if (binding.kind === 'file' && !this._bindings.source(key)?.editable) {
        return `in ${this._bindings.label(key)}: edit there`;
      }
    }
    return null;
  }

  /** Names of the documents that edits change, without the card's own cell. */
  elsewhere(edits: Edits): readonly string[] {
    const others = [...edits.keys()].filter(key => this._bindings.cell(key) !== this.own);
    return others.map(key => this._bindings.label(key));
  }

  /** The edits of a choice that lie in files. */
  fileEdits(edits: Edits): Edits {
    return new Map([...edits].filter(([key]) => this._bindings.of(key).kind === 'file'));
  }

  /** Why edits cannot be made now; null where they can. Texts are compared, not remembered. */
  refusal(edits: Edits | null, { panel }: Place): string | null {
    this._bindings.renew();
    this._listen();
    this._update();
    if (this._disposed || panel.isDisposed) {
      return 'the card is gone';
    }
    if (this._why !== null || edits === null || edits.size === 0) {
      return this.stale ?? NOTHING;
    }
    const locked = [...edits.keys()].find(key => {
      const cell = this._bindings.cell(key);
      return cell !== null && isReadOnly(panel, cell);
    });
    return this.obstacle(edits) ?? (locked === undefined ? null : `${this._name(locked)} is read-only`);
  }

  /** Insert a choice, `token` being what takes its files back; returns why it was refused. */
  insert(choice: Choice, place: Place, token: unknown = null): string | null {
    const edits = editsOfChoice(this.plan, choice);
    const refused = this.refusal(edits, place);
    const after = planAfter(this.plan, choice);
    if (refused !== null || edits === null || after === null) {
      return refused ?? NOTHING;
    }
    this._plans = [...this._plans.slice(0, this._at + 1), after];
    this._made = [...this._made.slice(0, this._at), { choice, edits, token }];
    this._write(edits, after.texts, place, true);
    return null;
  }

  /** What takes the last insertion back. */
  undoEdits(): Edits | null {
    const before = this._plans[this._at - 1];
    return before && this.undoable ? invertedEdits(before.texts, this.undoable.edits) : null;
  }

  /** Take the last insertion back; returns why it was refused. */
  undo(place: Place): string | null {
    const edits = this.undoEdits();
    const refused = this.refusal(edits, place);
    const before = this._plans[this._at - 1];
    if (refused !== null || edits === null || !before) {
      return refused ?? NOTHING;
    }
    this._write(edits, before.texts, place, false);
    return null;
  }

  dispose(): void {
    this._disposed = true;
    Signal.clearData(this);
  }

  private _write(edits: Edits, texts: Texts, place: Place, insertion: boolean): void {
    this._fileTexts = texts;
    const all = this._cellChanges(edits);
    const [only] = all;
    if (only && all.length === 1 && only.shared === place.cell.model.sharedModel) {
      changeCell(only);
      if (insertion) {
        focusEditor(place, only.changes[0]?.from ?? 0);
      }
    } else if (only) {
      focusCell(place);
      changeCells(this._notebook, all);
    }
    this._update();
  }

  /** By cell, not by document: what is one cell is changed at once. */
  private _cellChanges(edits: Edits): CellChanges[] {
    return [...edits].flatMap(([key, changes]) => {
      const shared = this._bindings.cell(key);
      return shared ? [{ shared, changes }] : [];
    });
  }

  /** The plan that has the present texts. */
  private _fitting(): number {
    return this._plans.findIndex(plan => [...plan.texts].every(([key, text]) => this._holds(key, text)));
  }

  private _holds(key: string, text: string): boolean {
    const binding = this._bindings.of(key);
    if (binding.kind === 'file') {
      return this._fileTexts.get(key) === text;
    }
    return binding.kind === 'none' || binding.cell.getSource() === text;
  }

  private _problem(): string | null {
    if (this._at < 0) {
      const texts = this.plan.texts;
      const changed = [...texts].find(([key, text]) => !this._holds(key, text))?.[0];
      const own = changed === undefined || this._bindings.cell(changed) === this.own;
      return own ? OWN_CHANGED : changedSince(this._bindings.label(changed));
    }
    return this._bindings.lost();
  }

  private _name(key: string): string {
    return this._bindings.cell(key) === this.own ? 'this cell' : this._bindings.label(key);
  }

  private _onNotebookChanged(_: ISharedNotebook, { cellsChange }: { cellsChange?: unknown }): void {
    if (cellsChange && this._bindings.renew()) {
      this._listen();
      this._update();
      this._changed.emit();
    }
  }

  private _listen(): void {
    this._bindings.cells().forEach(cell => {
      this._touched.add(cell);
      cell.changed.connect(this._update, this);
    });
  }

  private _update(): void {
    const [before, why] = [this._at, this._why];
    this._at = this._fitting();
    this._last = this._at < 0 ? this._last : this._at;
    this._why = this._problem();
    if (this._at === before && this._why === why) {
      return;
    }
    announce(this.stale ?? this._told(before));
    this._changed.emit();
  }

  private _told(before: number): string {
    if (before < 0) {
      return 'The cell is as it was checked';
    }
    if (this._at < before) {
      return 'Fix undone';
    }
    const others = this.elsewhere(this.undoable?.edits ?? new Map());
    const where = others.length ? ` in ${others.join(' and ')}` : '';
    return `Fix inserted${where}. Run the cell again to check it.`;
  }

  private readonly _notebook: ISharedNotebook;
  private readonly _bindings: Bindings;
  private readonly _touched = new Set<unknown>();
  private readonly _changed = new Signal<this, void>(this);
  private _fileTexts: Texts;
  private _plans: readonly Plan[];
  private _made: readonly Insertion[] = [];
  private _at: number;
  private _last = 0;
  private _why: string | null;
  private _disposed = false;
}
