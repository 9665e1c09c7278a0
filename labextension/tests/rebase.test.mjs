import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applied, inverted, ordered, rebased } from '../lib/rebase.js';

const TEXT = '0123456789';
const change = (from, to, insert) => ({ from, to, insert });

test('changes are made at once, whatever their order', () => {
  const found = ordered([change(8, 9, 'EIGHT'), change(0, 2, ''), change(4, 4, '--')]);
  assert.equal(applied(TEXT, found), '23--4567EIGHT9');
});

test('the same change twice is one change', () => {
  assert.deepEqual(ordered([change(1, 2, 'x'), change(1, 2, 'x')]), [change(1, 2, 'x')]);
});

test('changes of the same text are refused, touching ones are not', () => {
  assert.equal(ordered([change(1, 4, 'x'), change(3, 5, 'y')]), null);
  assert.equal(ordered([change(1, 4, 'x'), change(2, 2, 'y')]), null);
  assert.equal(ordered([change(1, 4, 'x'), change(4, 5, 'y'), change(1, 1, 'z')]).length, 3);
});

test('a change moves with what was made before it and stays before what comes after', () => {
  const made = [change(0, 1, 'abc'), change(8, 10, '')];
  assert.deepEqual(rebased([change(4, 5, 'x')], made), [change(6, 7, 'x')]);
});

test('one after the other gives what both at once give', () => {
  const first = [change(0, 1, 'abc'), change(7, 7, '!')];
  const second = [change(3, 5, 'x'), change(9, 10, '')];
  const together = applied(TEXT, ordered([...first, ...second]));
  assert.equal(applied(applied(TEXT, first), rebased(second, first)), together);
  assert.equal(applied(applied(TEXT, second), rebased(first, second)), together);
});

test('an overlapping change is no longer possible', () => {
  assert.equal(rebased([change(3, 5, 'x')], [change(4, 6, 'y')]), null);
  assert.equal(rebased([change(4, 4, 'x')], [change(3, 5, 'y')]), null);
  assert.equal(rebased([change(0, 1, 'z'), change(3, 5, 'x')], [change(4, 6, 'y')]), null);
});

test('a change that was made already drops out', () => {
  const made = [change(0, 0, 'import x\n'), change(4, 5, 'y')];
  assert.deepEqual(rebased([change(0, 0, 'import x\n'), change(6, 7, 'z')], made), [
    change(15, 16, 'z')
  ]);
  assert.deepEqual(rebased(made, made), []);
});

test('the same place with another text is no repeat', () => {
  assert.equal(rebased([change(4, 5, 'x')], [change(4, 5, 'y')]), null);
});

test('what was made is taken back to the letter', () => {
  const made = ordered([change(0, 1, 'abc'), change(4, 4, '\n--'), change(8, 10, '')]);
  const after = applied(TEXT, made);
  assert.equal(applied(after, inverted(TEXT, made)), TEXT);
  assert.deepEqual(inverted(TEXT, [change(4, 6, 'x')]), [change(4, 5, '45')]);
});
