import assert from 'node:assert/strict';
import { test } from 'node:test';
import { documentsOf } from '../lib/documents.js';
import { locate } from '../lib/locate.js';

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

test('a cell that ran again with the text it has now is not the one of its earlier text', () => {
  const earlier = cell('y = 1', 'b');
  const present = cell('y = 2', 'b');
  assert.equal(locate(CELLS, earlier, [earlier, present]), 'changed');
  assert.equal(locate(CELLS, present, [earlier, present]), 1);
  assert.equal(locate(CELLS, earlier, [earlier]), 1);
});

const documents = sources => Object.fromEntries(documentsOf(new Map(Object.entries(sources))));

test('sources of one cell with one text are one document', () => {
  const sources = { first: cell('x', 'a'), again: cell('x', 'a'), edited: cell('y', 'a') };
  assert.deepEqual(documents(sources), { first: 'first', again: 'first', edited: 'edited' });
});

test('equal texts in two cells are two documents, without an id one of them', () => {
  const sources = { some: cell('x'), first: cell('x', 'a'), twin: cell('x', 'b') };
  assert.deepEqual(documents(sources), { some: 'first', first: 'first', twin: 'twin' });
});

test('a file is its own document', () => {
  const file = { ...cell('x'), kind: 'file' };
  assert.deepEqual(documents({ 'a.py': file, 'b.py': file, cell: cell('x') }), {
    'a.py': 'a.py',
    'b.py': 'b.py',
    cell: 'cell'
  });
});
