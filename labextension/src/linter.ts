/** Squiggles: the marks of the cards on the page, in the cells they speak of. */
import { Action, Diagnostic, linter } from '@codemirror/lint';
import { Extension, StateEffect } from '@codemirror/state';
import { EditorView, ViewPlugin } from '@codemirror/view';
import type { ISharedCell } from '@jupyter/ydoc';
import { EditorExtensionRegistry, IEditorExtensionFactory } from '@jupyterlab/codemirror';
import { announce } from './announce.js';
import { element } from './dom.js';
import type { Choice, Mark } from './plan.js';
import type { Session } from './session.js';
import type { Sessions } from './sessions.js';

const refresh = StateEffect.define<null>();
const SEVERITY = { error: 'error', warning: 'warning', note: 'info' } as const;

/** Inserts a fix just as the card's own button does. */
export type InsertFix = (session: Session, fix: Choice, cell: ISharedCell) => Promise<string | null>;

export class Squiggles {
  constructor(
    private readonly _sessions: Sessions,
    private readonly _insert: InsertFix
  ) {
    _sessions.changed.connect((_, session) => this._refresh(session.cells));
  }

  get enabled(): boolean {
    return this._enabled;
  }

  set enabled(value: boolean) {
    this._enabled = value;
    this._refresh(new Set(this._views.values()));
  }

  readonly factory: IEditorExtensionFactory = {
    name: 'pallas-magic:squiggles',
    factory: ({ model }) => {
      const views = this._views;
      const lint = linter(() => this._diagnostics(model.sharedModel), {
        delay: 50,
        needsRefresh: update =>
          update.transactions.some(({ effects }) => effects.some(effect => effect.is(refresh)))
      });
      const known = ViewPlugin.define(view => {
        views.set(view, model.sharedModel);
        return { destroy: () => void views.delete(view) };
      });
      const extension: Extension = [lint, known];
      return EditorExtensionRegistry.createImmutableExtension(extension);
    }
  };

  private _diagnostics(shared: unknown): Diagnostic[] {
    if (!this._enabled) {
      return [];
    }
    const found = this._sessions
      .all()
      .flatMap(session => session.marksIn(shared).map(mark => this._diagnostic(session, mark, shared)));
    const keys = found.map(({ from, to, message }) => `${from} ${to} ${message}`);
    return found.filter((_, index) => keys.indexOf(keys[index]!) === index);
  }

  private _diagnostic(session: Session, mark: Mark, shared: unknown): Diagnostic {
    return {
      from: mark.from,
      to: mark.to,
      severity: SEVERITY[mark.severity],
      message: mark.text,
      renderMessage: () => message(session, mark),
      actions: this._actions(session, mark, shared as ISharedCell)
    };
  }

  private _actions(session: Session, mark: Mark, shared: ISharedCell): Action[] {
    return session.plan.fixes
      .filter(fix => fix.diagnostic === mark.diagnostic)
      .filter(({ status }) => status.kind === 'ready' && session.obstacle(status.edits) === null)
      .map(({ id }) => ({
        name: `Insert fix ${id}`,
        apply: () => void this._press(session, id, shared)
      }));
  }

  private async _press(session: Session, fix: number, shared: ISharedCell): Promise<void> {
    const refused = await this._insert(session, fix, shared);
    if (refused !== null) {
      announce(`Not inserted: ${refused}`);
    }
  }

  /** CodeMirror forbids a dispatch inside an update, and models signal inside updates. */
  private _refresh(cells: ReadonlySet<unknown>): void {
    if (this._stale.size === 0) {
      setTimeout(() => this._redraw());
    }
    cells.forEach(cell => this._stale.add(cell));
  }

  private _redraw(): void {
    const views = [...this._views].filter(([, shared]) => this._stale.has(shared));
    this._stale.clear();
    views.forEach(([view]) => view.dispatch({ effects: refresh.of(null) }));
  }

  private _enabled = true;
  private readonly _views = new Map<EditorView, unknown>();
  private readonly _stale = new Set<unknown>();
}

function message(session: Session, mark: Mark): HTMLElement {
  const code = session.payload.diagnostics[mark.diagnostic]?.code ?? '';
  const parts = mark.text
    .split('`')
    .map((part, index) => (index % 2 ? element('code', {}, part) : part));
  const said = { class: 'pm-said' };
  return element('span', said, element('span', { class: 'pm-code' }, code), ' ', ...parts);
}
