import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hunks } from '../lib/hunks.js';

const TEXT = 'a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n';
const at = (text, insert, to = 1) => {
  const from = TEXT.indexOf(text);
  return { from, to: from + to, insert };
};
const SIGNS = { del: '-', add: '+', same: ' ' };
const shown = changes =>
  hunks(TEXT, changes).map(
    ({ kind, number, segments: [[, text]] }) => `${SIGNS[kind]}${number ?? ''} ${text}`
  );

test('a changed line stands between two lines of context', () => {
  assert.deepEqual(shown([at('e', 'E')]), [' 3 c', ' 4 d', '-5 e', '+5 E', ' 6 f', ' 7 g']);
});

test('changes of one line, or of lines that touch, are one hunk', () => {
  const line = [at('b', 'B', 0), at('b', 'x'), at('c', 'C')];
  assert.deepEqual(shown(line), [' 1 a', '-2 b', '-3 c', '+2 Bx', '+3 C', ' 4 d', ' 5 e']);
});

test('lines after a longer text are numbered as they will be', () => {
  assert.deepEqual(shown([at('a', 'a\naa'), at('i', 'I')]), [
    '-1 a', '+1 a', '+2 aa', ' 2 b', ' 3 c', '  ⋮', ' 7 g', ' 8 h', '-9 i', '+10 I', ' 10 j', ' 11 '
  ]);
});

test('context between two hunks is shown once', () => {
  const lines = shown([at('b', 'B'), at('e', 'E')]);
  assert.equal(lines.filter(line => line === ' 3 c').length, 1);
  assert.equal(new Set(lines).size, lines.length);
});

test('a deleted line break joins two lines', () => {
  assert.deepEqual(shown([at('e', '', 2)]), [' 3 c', ' 4 d', '-5 e', '-6 f', '+5 f', ' 7 g', ' 8 h']);
});
