/** Showing a marked place in its cell, however far away or folded up the cell is. */
import { NotebookActions } from '@jupyterlab/notebook';
import { cellOf, Place } from './notebook.js';
import type { Span } from './payload.js';
import { Range, rangeOf } from './positions.js';
import type { Session } from './session.js';

/** Show a span of the payload in its cell; says why that cannot be. */
export async function revealSpan(
  session: Session,
  span: Span,
  { panel }: Place
): Promise<string | null> {
  const shared = session.cellOfSource(span.source);
  if (typeof shared === 'string') {
    return shared;
  }
  const cell = cellOf(panel, shared);
  if (!cell) {
    return 'the cell is gone';
  }
  const text = session.payload.sources.get(span.source)?.text ?? '';
  const range = rangeOf(text, span);
  await reveal({ panel, cell }, text === shared.getSource() ? range : null);
  return null;
}

/** Scroll to the cell, unfold it, and select the range in its editor. */
async function reveal({ panel, cell }: Place, range: Range | null): Promise<void> {
  const notebook = panel.content;
  const index = notebook.widgets.indexOf(cell);
  NotebookActions.expandParent(cell, notebook);
  cell.inputHidden = false;
  notebook.activeCellIndex = index;
  await notebook.scrollToItem(index, 'smart');
  await cell.ready;
  const { editor } = cell;
  if (!editor) {
    return;
  }
  notebook.mode = 'edit';
  const start = range && editor.getPositionAt(range.from);
  const end = range && editor.getPositionAt(range.to);
  if (start && end) {
    editor.setSelection({ start, end });
    editor.revealPosition(start);
  }
  editor.focus();
}
