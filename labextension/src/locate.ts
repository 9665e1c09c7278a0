/** Which cell of a notebook a source of the payload is; pure, knows no widgets. */
import type { Source } from './payload.js';

export interface CellText {
  readonly id: string;
  readonly text: string;
}

/**
 * Where a source is: the index of a cell, or why there is none. `changed` is a
 * cell that ran again with the other text it has now.
 */
export type Located = number | 'missing' | 'ambiguous' | 'changed';

/**
 * The index of the cell with the source's id, else of the one cell with its
 * text. `sources` are all of the payload: one cell can stand for two of them.
 */
export function locate(
  cells: readonly CellText[],
  source: Source,
  sources: Iterable<Source> = []
): Located {
  if (source.kind !== 'cell') {
    return 'missing';
  }
  const byId = source.cell_id ? cells.findIndex(cell => cell.id === source.cell_id) : -1;
  if (byId >= 0) {
    const present = cells[byId]?.text;
    return present !== source.text && isOf(present, source.cell_id, sources) ? 'changed' : byId;
  }
  const byText = cells.flatMap((cell, index) => (cell.text === source.text ? [index] : []));
  return byText.length > 1 ? 'ambiguous' : (byText[0] ?? 'missing');
}

function isOf(text: string | undefined, id: string | null, sources: Iterable<Source>): boolean {
  return [...sources].some(other => other.cell_id === id && other.text === text);
}
