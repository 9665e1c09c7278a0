/** Tokens of a line, cut where something else begins or ends; columns are code points. */

export type Token = readonly [token: string, text: string];

export interface Piece {
  readonly token: string;
  readonly text: string;
  readonly inside: boolean;
}

/** The tokens, cut at the ends of the ranges, each piece told whether it lies inside one. */
export function cut(tokens: readonly Token[], ranges: readonly (readonly [number, number])[]): Piece[] {
  let column = 0;
  return tokens.flatMap(([token, text]) => {
    const pieces: Piece[] = [];
    let run: { text: string; inside: boolean } | null = null;
    for (const point of text) {
      const inside = ranges.some(([start, end]) => start <= column && column < end);
      if (run === null || run.inside !== inside) {
        if (run !== null) {
          pieces.push({ token, ...run });
        }
        run = { text: '', inside };
      }
      run.text += point;
      column += 1;
    }
    return run === null ? pieces : [...pieces, { token, ...run }];
  });
}

/** How many spaces all of these lines begin with; blank ones have no say. */
export function sharedIndent(lines: readonly (readonly Token[])[]): number {
  const indents = lines
    .map(tokens => tokens.map(([, text]) => text).join(''))
    .filter(text => text.trim() !== '')
    .map(text => text.length - text.trimStart().length);
  return indents.length ? Math.min(...indents) : 0;
}

/** The tokens without their first `count` columns, all of them spaces. */
export function dedented(tokens: readonly Token[], count: number): Token[] {
  let left = count;
  return tokens.map(([token, text]) => {
    const gone = Math.min(left, text.length);
    left -= gone;
    return [token, text.slice(gone)];
  });
}

/** The items in runs of neighbours that have the same key. */
export function runs<Item, Key>(items: readonly Item[], key: (item: Item) => Key): Item[][] {
  const found: Item[][] = [];
  items.forEach((item, index) => {
    const before = items[index - 1];
    if (before !== undefined && key(before) === key(item)) {
      found[found.length - 1]?.push(item);
    } else {
      found.push([item]);
    }
  });
  return found;
}
