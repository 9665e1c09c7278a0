/** Which cell of a notebook a source of the payload is; pure, knows no widgets. */
import type { Source } from './payload.js';

export interface CellText {
  readonly id: string;
  readonly text: string;
}

export type Located = number | 'missing' | 'ambiguous';

/** The index of the cell with the source's id, else of the one cell with its text. */
export function locate(cells: readonly CellText[], source: Source): Located {
  if (source.kind !== 'cell') {
    return 'missing';
  }
  const byId = source.cell_id ? cells.findIndex(cell => cell.id === source.cell_id) : -1;
  if (byId >= 0) {
    return byId;
  }
  const byText = cells.flatMap((cell, index) => (cell.text === source.text ? [index] : []));
  return byText.length > 1 ? 'ambiguous' : (byText[0] ?? 'missing');
}

export type Own =
  | { readonly kind: 'source'; readonly key: string }
  | { readonly kind: 'none' | 'changed' | 'ambiguous' };

/**
 * The source that the cell at `own` is. A cell that was edited and run again
 * can stand for two sources; the one with the cell's present text is meant.
 */
export function ownSource(
  sources: ReadonlyMap<string, Source>,
  cells: readonly CellText[],
  own: number
): Own {
  const text = cells[own]?.text;
  const found = [...sources]
    .filter(([, source]) => source.kind === 'cell')
    .map(([key, source]) => ({ key, source, at: locate(cells, source) }));
  const here = found.filter(({ at }) => at === own);
  const chosen = here.find(({ source }) => source.text === text) ?? here[here.length - 1];
  if (chosen) {
    return { kind: 'source', key: chosen.key };
  }
  if (found.some(({ source, at }) => at === 'ambiguous' && source.text === text)) {
    return { kind: 'ambiguous' };
  }
  return { kind: found.some(({ at }) => at === 'missing') ? 'changed' : 'none' };
}
