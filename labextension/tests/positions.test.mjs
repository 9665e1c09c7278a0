import assert from 'node:assert/strict';
import { test } from 'node:test';
import { offsetOf, rangeOf, spanOf } from '../lib/positions.js';

const TEXT = 'a = 1\nπ = "🦊🦊"; o_ref[...] = x\n\nend';
const span = (start_line, start_col, end_line, end_col) => ({
  source: 'cell',
  start_line,
  start_col,
  end_line,
  end_col
});

test('a column counts an emoji once, an offset counts its two halves', () => {
  const { from, to } = rangeOf(TEXT, span(2, 10, 2, 20));
  assert.equal(TEXT.slice(from, to), 'o_ref[...]');
  assert.equal(from, 6 + 10 + 2);
});

test('a span reaches over lines, empty ones too', () => {
  const { from, to } = rangeOf(TEXT, span(2, 23, 4, 3));
  assert.equal(TEXT.slice(from, to), 'x\n\nend');
});

test('the end of a line is a position, past it is none', () => {
  assert.equal(offsetOf(TEXT, 1, 5), 5);
  assert.equal(offsetOf(TEXT, 1, 6), null);
  assert.equal(offsetOf(TEXT, 3, 0), TEXT.indexOf('\n\n') + 1);
});

test('there is no line 0 and none after the last', () => {
  assert.equal(offsetOf(TEXT, 0, 0), null);
  assert.equal(offsetOf(TEXT, 5, 0), null);
  assert.equal(offsetOf(TEXT, 1, -1), null);
});

test('a span that ends before it starts is none', () => {
  assert.equal(rangeOf(TEXT, span(2, 3, 2, 1)), null);
  assert.deepEqual(rangeOf(TEXT, span(1, 2, 1, 2)), { from: 2, to: 2 });
});

test('a lone carriage return belongs to its line', () => {
  assert.equal(offsetOf('a\r\nb', 2, 1), 4);
});

test('a range becomes the span that it is of', () => {
  for (const found of [span(2, 4, 2, 7), span(1, 0, 4, 3), span(3, 0, 3, 0)]) {
    const { from, to } = rangeOf(TEXT, found);
    assert.deepEqual({ source: 'cell', ...spanOf(TEXT, from, to) }, found);
  }
});
