/** The notebook round an output: found by containment, read and edited. */
import type { ISharedCell, ISharedNotebook } from '@jupyter/ydoc';
import type { Cell } from '@jupyterlab/cells';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { CellText } from './locate.js';
import type { Change } from './rebase.js';

/** A cell and the notebook that contains it. */
export interface Place {
  readonly panel: NotebookPanel;
  readonly cell: Cell;
}

/**
 * Where an output stands. Copies of a notebook share their cells' ids, so only
 * the page's own structure tells which of them an output belongs to.
 */
export function placeOf(tracker: INotebookTracker, node: Node): Place | null {
  let found: Place | null = null;
  tracker.forEach(panel => {
    const cell = panel.content.widgets.find(one => one.node.contains(node));
    found = cell ? { panel, cell } : found;
  });
  return found;
}

/** The place of a cell's own model, which no copy of its notebook shares. */
export function placeOfCell(tracker: INotebookTracker, shared: ISharedCell): Place | null {
  let found: Place | null = null;
  tracker.forEach(panel => {
    const cell = cellOf(panel, shared);
    const better = found === null || panel === tracker.currentWidget;
    found = cell && better ? { panel, cell } : found;
  });
  return found;
}

/** The cell of a model; it is there also where it is scrolled out of the page. */
export function cellOf(panel: NotebookPanel, shared: ISharedCell): Cell | null {
  return panel.content.widgets.find(one => one.model.sharedModel === shared) ?? null;
}

export function textsOf(cells: readonly ISharedCell[]): CellText[] {
  return cells.map(cell => ({
    id: cell.getId(),
    text: cell.cell_type === 'code' ? cell.getSource() : ''
  }));
}

export function isReadOnly(panel: NotebookPanel, shared: ISharedCell): boolean {
  return shared.getMetadata('editable') === false || cellOf(panel, shared)?.readOnly === true;
}

/** Yjs joins edits that follow each other closely into one step of undo, unless told not to. */
interface WithUndoManager {
  readonly undoManager?: { stopCapturing(): void } | null;
}

export interface CellChanges {
  readonly shared: ISharedCell;
  readonly changes: readonly Change[];
}

/** Change one cell as one step of undo of its editor, and of its notebook. */
export function changeCell({ shared, changes }: CellChanges): void {
  const models = shared.notebook ? [shared, shared.notebook] : [shared];
  asOneStep(models, () => shared.transact(() => update({ shared, changes })));
}

/** Change cells as one step of undo of their notebook. */
export function changeCells(notebook: ISharedNotebook, all: readonly CellChanges[]): void {
  asOneStep([notebook, ...all.map(({ shared }) => shared)], () =>
    notebook.transact(() => all.forEach(update))
  );
}

function update({ shared, changes }: CellChanges): void {
  for (const { from, to, insert } of [...changes].reverse()) {
    shared.updateSource(from, to, insert);
  }
}

function asOneStep(models: readonly (ISharedCell | ISharedNotebook)[], change: () => void): void {
  const managers = models.map(model => (model as WithUndoManager).undoManager);
  managers.forEach(manager => manager?.stopCapturing());
  change();
  managers.forEach(manager => manager?.stopCapturing());
}

/** Undo in a cell belongs to the focused editor, so what changes it leaves the cursor in it. */
export function focusEditor({ panel, cell }: Place, offset: number): void {
  panel.content.activeCellIndex = panel.content.widgets.indexOf(cell);
  panel.content.mode = 'edit';
  const { editor } = cell;
  if (editor && !cell.inputHidden) {
    editor.setCursorPosition(editor.getPositionAt(offset) ?? { line: 0, column: 0 });
    editor.focus();
  }
}

/** Undo over several cells is a key of the command mode. */
export function focusCell({ panel, cell }: Place): void {
  panel.content.activeCellIndex = panel.content.widgets.indexOf(cell);
  panel.content.mode = 'command';
}
