/**
 * From the payload's positions to the editor's: lines from 1 and columns from 0
 * in code points become offsets in UTF-16 code units.
 */

export interface Span {
  readonly source: string;
  readonly start_line: number;
  readonly start_col: number;
  readonly end_line: number;
  readonly end_col: number;
}

export interface Range {
  readonly from: number;
  readonly to: number;
}

/** The UTF-16 offset of a line and a code point column; null where `text` has none. */
export function offsetOf(text: string, line: number, column: number): number | null {
  const lines = text.split('\n');
  const found = line >= 1 ? lines[line - 1] : undefined;
  if (found === undefined || column < 0) {
    return null;
  }
  const points = Array.from(found);
  if (column > points.length) {
    return null;
  }
  const before = lines.slice(0, line - 1).reduce((sum, earlier) => sum + earlier.length + 1, 0);
  return before + points.slice(0, column).join('').length;
}

/** The range of a span; null where `text` has no such span. */
export function rangeOf(text: string, span: Span): Range | null {
  const from = offsetOf(text, span.start_line, span.start_col);
  const to = offsetOf(text, span.end_line, span.end_col);
  return from === null || to === null || to < from ? null : { from, to };
}

/** The lines and columns of a range; the inverse of `rangeOf`. */
export function spanOf(text: string, from: number, to: number): Omit<Span, 'source'> {
  const [start_line, start_col] = pointOf(text, from);
  const [end_line, end_col] = pointOf(text, to);
  return { start_line, start_col, end_line, end_col };
}

function pointOf(text: string, offset: number): [line: number, column: number] {
  const lines = text.slice(0, offset).split('\n');
  return [lines.length, Array.from(lines[lines.length - 1] ?? '').length];
}
