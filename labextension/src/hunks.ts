/** A change to a text as the lines of a diff, made from the very edits that will be written. */
import type { DiffLine } from './payload.js';
import { applied, Change } from './rebase.js';

const CONTEXT = 2;

/** The lines of the ordered changes, with a few lines round each; pure. */
export function hunks(text: string, changes: readonly Change[]): DiffLine[] {
  const blocks = blocksOf(text, changes);
  const lines = text.split('\n');
  let shift = 0;
  return blocks.flatMap((block, index) => {
    const before = blocks[index - 1];
    const first = Math.max(block.first - CONTEXT, before ? before.last + CONTEXT + 1 : 0);
    const next = blocks[index + 1]?.first ?? lines.length;
    const last = Math.min(block.last + CONTEXT, next - 1, lines.length - 1);
    const old = lines.slice(block.first, block.last + 1);
    const added = block.text.split('\n');
    const start = block.first + shift;
    shift += added.length - old.length;
    const gap = before !== undefined && first > before.last + CONTEXT + 1;
    return [
      ...(gap ? [line('same', null, '⋮')] : []),
      ...numbered('same', first, lines.slice(first, block.first)),
      ...numbered('del', block.first, old),
      ...numbered('add', start, added),
      ...numbered('same', block.last + 1, lines.slice(block.last + 1, last + 1))
    ];
  });
}

/** Whole lines, from 0, and the text that stands in their place afterwards. */
interface Block {
  readonly first: number;
  readonly last: number;
  readonly text: string;
}

function blocksOf(text: string, changes: readonly Change[]): Block[] {
  const groups: { first: number; last: number; changes: Change[] }[] = [];
  for (const change of changes) {
    const [first, last] = [lineOf(text, change.from), lineOf(text, change.to)];
    const open = groups[groups.length - 1];
    if (open && first <= open.last + 1) {
      open.last = Math.max(open.last, last);
      open.changes.push(change);
    } else {
      groups.push({ first, last, changes: [change] });
    }
  }
  const lines = text.split('\n');
  return groups.map(({ first, last, changes: own }) => {
    const offset = lines.slice(0, first).reduce((sum, one) => sum + one.length + 1, 0);
    const old = lines.slice(first, last + 1).join('\n');
    const moved = own.map(one => ({ ...one, from: one.from - offset, to: one.to - offset }));
    return { first, last, text: applied(old, moved) };
  });
}

function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length - 1;
}

function numbered(kind: DiffLine['kind'], first: number, lines: readonly string[]): DiffLine[] {
  return lines.map((text, index) => line(kind, first + index + 1, text));
}

function line(kind: DiffLine['kind'], number: number | null, text: string): DiffLine {
  return { kind, number, segments: [['', text]], changed: null };
}
