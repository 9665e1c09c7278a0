import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPayload } from '../lib/payload.js';
import { changesOf, planAfter, planFor } from '../lib/plan.js';
import { KEY, sample, TEXT } from './samples.mjs';

const plan = (change, key = KEY) => planFor(readPayload(sample(change)).payload, key);
const kinds = found => found.fixes.map(({ id, status }) => `${id} ${status.kind}`);
const counts = text => text.replace('(pl.BlockSpec(memory_space=pltpu.SMEM)', '(pl.BlockSpec(memory_space=pltpu.VMEM)');
const total = text => text.replace(' pl.BlockSpec(memory_space=pltpu.VMEM)', ' pl.BlockSpec(memory_space=pltpu.SMEM)');

test('every proved fix of the cell is ready', () => {
  assert.deepEqual(kinds(plan()), ['1 ready', '2 ready', '3 ready', '4 ready']);
});

test('a fix inserted is in the text, its alternative is no longer needed', () => {
  const after = planAfter(plan(), 1);
  assert.equal(after.text, counts(TEXT));
  assert.deepEqual(kinds(after), ['1 inserted', '2 unneeded', '3 ready', '4 ready']);
});

test('one fix, then the other, gives what all at once give', () => {
  const all = planAfter(plan(), 'all');
  assert.equal(all.text, total(counts(TEXT)));
  assert.equal(planAfter(planAfter(plan(), 1), 3).text, all.text);
  assert.equal(planAfter(planAfter(plan(), 3), 1).text, all.text);
  assert.deepEqual(kinds(all), ['1 inserted', '2 unneeded', '3 inserted', '4 unneeded']);
});

test('a fix that adds lines moves those below it', () => {
  const after = planAfter(planAfter(plan(), 2), 3);
  assert.ok(after.text.includes('for i in range(128):\n        counts_ref[i] = per_lane[i]'));
  assert.ok(after.text.includes('memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.SMEM)'));
});

test('all at once is withdrawn when one fix is left of it', () => {
  assert.equal(planAfter(plan(), 1).combined, null);
  assert.equal(planAfter(plan(), 'all').combined, null);
});

test('all at once is withdrawn when a fix is in that it was not proved with', () => {
  assert.equal(planAfter(plan(), 2).combined, null);
});

test('of three together, two are left after one', () => {
  const three = plan(it => {
    const edit = structuredClone(it.diagnostics[0].fixes[1].edits[0]);
    const found = { ...structuredClone(it.diagnostics[0]), labels: [], fixes: [] };
    found.fixes = [{ id: 9, title: '', applicability: 'safe', edits: [edit], proof: null }];
    it.diagnostics.push(found);
    it.combined.ids.push(9);
    it.combined.edits.push(edit);
  });
  const after = planAfter(three, 1);
  assert.deepEqual(after.combined.ids, [3, 9]);
  assert.equal(planAfter(after, 'all').text, planAfter(three, 'all').text);
});

test('overlapping fixes of two findings: one excludes the other', () => {
  const both = plan(it => (it.diagnostics[1].fixes[0].edits = it.diagnostics[0].fixes[0].edits.map(
    edit => ({ ...edit, new_text: 'pl.ANY' })
  )));
  assert.equal(kinds(planAfter(both, 1))[2], '3 overlaps');
});

test('a fix that is the same edit is in with the other', () => {
  const both = plan(it => (it.diagnostics[1].fixes[0].edits = it.diagnostics[0].fixes[0].edits));
  assert.equal(kinds(planAfter(both, 1))[2], '3 contained');
});

test('nothing is inserted that is not ready', () => {
  const after = planAfter(plan(), 1);
  assert.equal(changesOf(after, 1), null);
  assert.equal(planAfter(after, 1), null);
  assert.equal(planAfter(after, 2), null);
  assert.equal(planAfter(plan(), 77), null);
});

test('while fixes are being proved none is ready', () => {
  const found = plan(it => (it.card.state = 'proving'));
  assert.deepEqual(kinds(found), ['1 unproved', '2 unproved', '3 unproved', '4 unproved']);
  assert.equal(found.combined, null);
});

test('an idea and a fix that the card does not offer get no button', () => {
  const found = plan(it => {
    it.diagnostics[0].fixes[0].applicability = 'display';
    it.card.diagnostics[0].fixes[1].insertable = false;
  });
  assert.deepEqual(kinds(found).slice(0, 2), ['1 idea', '2 unproved']);
  assert.equal(found.combined, null);
});

test('fixes of another cell are elsewhere', () => {
  assert.deepEqual(plan(undefined, 'other').fixes[0].status, { kind: 'elsewhere', source: KEY });
});

test('two edits of one fix that overlap are never inserted', () => {
  const found = plan(it => {
    const [edit] = it.diagnostics[0].fixes[0].edits;
    it.diagnostics[0].fixes[0].edits.push({ ...edit, new_text: 'pl.ANY' });
  });
  assert.equal(kinds(found)[0], '1 overlaps');
});

test('marks stand where the text is, and go when their finding is mended', () => {
  const words = found => found.marks.map(({ from, to }) => found.text.slice(from, to));
  assert.deepEqual(words(plan()), ['counts_ref[...]', 'pltpu.SMEM', 'total_ref[0, 0]', 'pltpu.VMEM']);
  assert.deepEqual(words(planAfter(plan(), 2)), ['total_ref[0, 0]', 'pltpu.VMEM']);
  assert.deepEqual(words(planAfter(plan(), 'all')), []);
});
