import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cut, dedented, runs, sharedIndent } from '../lib/segments.js';

const told = pieces => pieces.map(({ token, text, inside }) => `${token}:${inside ? `[${text}]` : text}`);

test('tokens are cut where a range begins and ends', () => {
  assert.deepEqual(told(cut([['n', 'pltpu'], ['o', '.'], ['n', 'SMEM']], [[5, 8]])), [
    'n:pltpu',
    'o:[.]',
    'n:[SM]',
    'n:EM'
  ]);
});

test('columns count an emoji once', () => {
  assert.deepEqual(told(cut([['s', '"🦊🦊"x']], [[4, 5]])), ['s:"🦊🦊"', 's:[x]']);
});

test('without ranges, tokens stay whole', () => {
  assert.deepEqual(told(cut([['k', 'for'], ['', '']], [])), ['k:for']);
});

test('the shared indentation is that of the least indented line, blank ones apart', () => {
  const lines = [[['', '        '], ['k', 'for'], ['', ' i']], [['', '    x']], [['', '']], [['', '  ']]];
  assert.equal(sharedIndent(lines), 4);
  assert.equal(sharedIndent([[['', '']]]), 0);
  assert.equal(sharedIndent([]), 0);
});

test('an indentation is taken off, over as many tokens as it spans', () => {
  assert.deepEqual(dedented([['', '  '], ['', '    '], ['k', 'for']], 4), [
    ['', ''],
    ['', '  '],
    ['k', 'for']
  ]);
  assert.deepEqual(dedented([['', ' ']], 4), [['', '']]);
});

test('neighbours with the same key run together, others do not', () => {
  const items = ['a1', 'a2', 'b1', 'a3'];
  assert.deepEqual(runs(items, item => item[0]), [['a1', 'a2'], ['b1'], ['a3']]);
  assert.deepEqual(runs([], item => item), []);
});
