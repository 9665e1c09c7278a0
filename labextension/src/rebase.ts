/** Changes to one text, as offsets: put in order, applied and moved past one another. */

export interface Change {
  readonly from: number;
  readonly to: number;
  readonly insert: string;
}

/** In order of place and without repeats; null where two change the same text. */
export function ordered(changes: readonly Change[]): Change[] | null {
  const found = changes
    .filter((change, index) => changes.findIndex(other => same(change, other)) === index)
    .sort((a, b) => a.from - b.from || a.to - b.to || (a.insert < b.insert ? -1 : 1));
  const overlap = found.some((change, index) => index > 0 && change.from < found[index - 1]!.to);
  return overlap ? null : found;
}

/** `text` with ordered changes made at once. */
export function applied(text: string, changes: readonly Change[]): string {
  return [...changes]
    .reverse()
    .reduce((done, { from, to, insert }) => done.slice(0, from) + insert + done.slice(to), text);
}

/** The changes that bring `text` back once these ordered ones are in it. */
export function inverted(text: string, changes: readonly Change[]): Change[] {
  let shift = 0;
  return changes.map(({ from, to, insert }) => {
    const start = from + shift;
    shift += insert.length - (to - from);
    return { from: start, to: start + insert.length, insert: text.slice(from, to) };
  });
}

/**
 * The changes as they stand once `made` is in the text: those that `made`
 * contains are done and drop out; null where one overlaps what was made.
 */
export function rebased(changes: readonly Change[], made: readonly Change[]): Change[] | null {
  const left = changes.filter(change => !made.some(other => same(change, other)));
  if (left.some(change => made.some(other => overlaps(change, other)))) {
    return null;
  }
  return left.map(change => {
    const shift = made
      .filter(other => other.to <= change.from)
      .reduce((sum, other) => sum + other.insert.length - (other.to - other.from), 0);
    return { ...change, from: change.from + shift, to: change.to + shift };
  });
}

function overlaps(a: Change, b: Change): boolean {
  return a.from < b.to && b.from < a.to;
}

function same(a: Change, b: Change): boolean {
  return a.from === b.from && a.to === b.to && a.insert === b.insert;
}
