import assert from 'node:assert/strict';
import { test } from 'node:test';
import { locate, ownSource } from '../lib/locate.js';

const cell = (text, cell_id = null) => ({ kind: 'cell', label: 'In[1]', text, cell_id });
const CELLS = [
  { id: 'a', text: 'x = 1' },
  { id: 'b', text: 'y = 2' },
  { id: 'c', text: 'x = 1' }
];

test('a cell is found by its id, whatever its text is now', () => {
  assert.equal(locate(CELLS, cell('old text', 'b')), 1);
  assert.equal(locate(CELLS, cell('x = 1', 'c')), 2);
});

test('a cell without a known id is found by its text', () => {
  assert.equal(locate(CELLS, cell('y = 2')), 1);
  assert.equal(locate(CELLS, cell('y = 2', 'gone')), 1);
});

test('two cells of that text are ambiguous, none is missing', () => {
  assert.equal(locate(CELLS, cell('x = 1')), 'ambiguous');
  assert.equal(locate(CELLS, cell('z = 3')), 'missing');
});

test('a file is no cell, even with the text of one', () => {
  assert.equal(locate(CELLS, { ...cell('y = 2'), kind: 'file' }), 'missing');
});

test('the own source is the one located at the own cell', () => {
  const sources = new Map([
    ['other', cell('x = 1', 'a')],
    ['own', cell('y = 2', 'b')]
  ]);
  assert.deepEqual(ownSource(sources, CELLS, 1), { kind: 'source', key: 'own' });
});

test('of two runs of one cell, the one with its present text is meant', () => {
  const sources = new Map([
    ['present', cell('y = 2', 'b')],
    ['earlier', cell('y = 1', 'b')]
  ]);
  assert.deepEqual(ownSource(sources, CELLS, 1), { kind: 'source', key: 'present' });
});

test('without an id, equal cells cannot be told apart', () => {
  const sources = new Map([['own', cell('x = 1')]]);
  assert.deepEqual(ownSource(sources, CELLS, 0), { kind: 'ambiguous' });
});

test('a source that is nowhere was the own cell before it changed', () => {
  const sources = new Map([['own', cell('y = 1')]]);
  assert.deepEqual(ownSource(sources, CELLS, 1), { kind: 'changed' });
});

test('a report that speaks of other cells only has no own source', () => {
  const sources = new Map([['other', cell('x = 1', 'a')]]);
  assert.deepEqual(ownSource(sources, CELLS, 1), { kind: 'none' });
});
