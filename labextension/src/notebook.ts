/** The notebook round an output: found by containment, read and edited. */
import type { ISharedCell } from '@jupyter/ydoc';
import type { Cell } from '@jupyterlab/cells';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { CellText } from './locate.js';
import type { Change } from './rebase.js';

/** An output's own cell and the notebook that contains it. */
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
    const cell = panel.content.widgets.find(one => one.model.sharedModel === shared);
    const better = found === null || panel === tracker.currentWidget;
    found = cell && better ? { panel, cell } : found;
  });
  return found;
}

export function textsOf(panel: NotebookPanel): CellText[] {
  return panel.content.widgets.map(({ model }) => ({
    id: model.sharedModel.getId(),
    text: model.type === 'code' ? model.sharedModel.getSource() : ''
  }));
}

/** Yjs joins edits that follow each other closely into one step of undo, unless told not to. */
interface WithUndoManager {
  readonly undoManager?: { stopCapturing(): void } | null;
}

/**
 * Make changes to a cell that must hold `expected`, as one step of undo.
 * Returns why it was refused, or null when it was done.
 */
export function insertChanges(
  { panel, cell }: Place,
  expected: string,
  changes: readonly Change[]
): string | null {
  const shared = cell.model.sharedModel;
  if (cell.isDisposed || shared.getSource() !== expected) {
    return 'cell changed: run again';
  }
  if (cell.readOnly || cell.model.getMetadata('editable') === false) {
    return 'this cell is read-only';
  }
  const { undoManager } = shared as WithUndoManager;
  undoManager?.stopCapturing();
  shared.transact(() => {
    for (const { from, to, insert } of [...changes].reverse()) {
      shared.updateSource(from, to, insert);
    }
  });
  undoManager?.stopCapturing();
  focusEditor({ panel, cell }, changes[0]?.from ?? 0);
  return null;
}

/** Undo belongs to the focused editor, so an insertion leaves the cursor in it. */
function focusEditor({ panel, cell }: Place, offset: number): void {
  panel.content.activeCellIndex = panel.content.widgets.indexOf(cell);
  panel.content.mode = 'edit';
  const { editor } = cell;
  if (editor && !cell.inputHidden) {
    editor.setCursorPosition(editor.getPositionAt(offset) ?? { line: 0, column: 0 });
    editor.focus();
  }
}
