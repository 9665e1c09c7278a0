/**
 * The documents behind the sources of a payload: a cell that ran twice with the
 * same text is two sources and one document.
 */
import type { Source } from './payload.js';

/** The document of each source: the key of the first source that is the same text there. */
export function documentsOf(sources: ReadonlyMap<string, Source>): ReadonlyMap<string, string> {
  const all = [...sources];
  const found = all.map(([key, source]) => {
    const same = source.kind === 'cell' ? all.filter(([, other]) => isSame(source, other)) : [];
    const known = same.find(([, other]) => other.cell_id) ?? same[0];
    return [key, known?.[0] ?? key] as const;
  });
  return new Map(found);
}

/** A source whose cell is not known may be any cell with its text. */
function isSame(source: Source, other: Source): boolean {
  const cell = !source.cell_id || source.cell_id === other.cell_id;
  return other.kind === 'cell' && other.text === source.text && cell;
}
