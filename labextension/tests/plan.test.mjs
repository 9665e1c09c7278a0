import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPayload } from '../lib/payload.js';
import { editsOfChoice, planAfter, planFor } from '../lib/plan.js';
import { KEY, named, sample, TEXT } from './samples.mjs';

const plan = change => planFor(readPayload(sample(change)).payload);
const text = found => found.texts.get(KEY);
const kinds = found => found.fixes.map(({ id, status }) => `${id} ${status.kind}`);
const counts = old => old.replace('(pl.BlockSpec(memory_space=pltpu.SMEM)', '(pl.BlockSpec(memory_space=pltpu.VMEM)');
const total = old => old.replace(' pl.BlockSpec(memory_space=pltpu.VMEM)', ' pl.BlockSpec(memory_space=pltpu.SMEM)');

test('every proved fix of the cell is ready', () => {
  assert.deepEqual(kinds(plan()), ['1 ready', '2 ready', '3 ready', '4 ready']);
});

test('a fix inserted is in the text, its alternative is no longer needed', () => {
  const after = planAfter(plan(), 1);
  assert.equal(text(after), counts(TEXT));
  assert.deepEqual(kinds(after), ['1 inserted', '2 unneeded', '3 ready', '4 ready']);
});

test('one fix, then the other, gives what all at once give', () => {
  const all = planAfter(plan(), 'all');
  assert.equal(text(all), total(counts(TEXT)));
  assert.equal(text(planAfter(planAfter(plan(), 1), 3)), text(all));
  assert.equal(text(planAfter(planAfter(plan(), 3), 1)), text(all));
  assert.deepEqual(kinds(all), ['1 inserted', '2 unneeded', '3 inserted', '4 unneeded']);
});

test('a fix that adds lines moves those below it', () => {
  const after = planAfter(planAfter(plan(), 2), 3);
  assert.ok(text(after).includes('for i in range(128):\n        counts_ref[i] = per_lane[i]'));
  assert.ok(text(after).includes('memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.SMEM)'));
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
    found.fixes = [{ id: 9, title: '', applicability: 'safe', edits: [edit], proof: { gone: true } }];
    it.card.diagnostics[0].fixes.push({ ...it.card.diagnostics[0].fixes[0], id: 9 });
    it.diagnostics.push(found);
    it.combined.ids.push(9);
    it.combined.edits.push(edit);
  });
  const after = planAfter(three, 1);
  assert.deepEqual(after.combined.ids, [3, 9]);
  assert.equal(text(planAfter(after, 'all')), text(planAfter(three, 'all')));
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
  assert.equal(editsOfChoice(after, 1), null);
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

test('two edits of one fix that overlap are never inserted', () => {
  const found = plan(it => {
    const [edit] = it.diagnostics[0].fixes[0].edits;
    it.diagnostics[0].fixes[0].edits.push({ ...edit, new_text: 'pl.ANY' });
  });
  assert.equal(kinds(found)[0], '1 overlaps');
});

test('marks stand where the text is, and go when their finding is mended', () => {
  const words = found => found.marks.map(({ from, to }) => text(found).slice(from, to));
  assert.deepEqual(words(plan()), ['counts_ref[...]', 'pltpu.SMEM', 'total_ref[0, 0]', 'pltpu.VMEM']);
  assert.deepEqual(words(planAfter(plan(), 2)), ['total_ref[0, 0]', 'pltpu.VMEM']);
  assert.deepEqual(words(planAfter(plan(), 'all')), []);
});

test('a fix that was not proved, or shown to change nothing, gets no button', () => {
  const found = plan(it => {
    it.diagnostics[0].fixes[0].proof = null;
    it.diagnostics[0].fixes[1].proof.gone = false;
  });
  assert.deepEqual(kinds(found).slice(0, 2), ['1 unproved', '2 unproved']);
});

const across = change => planFor(readPayload(named('across_cells', change)).payload);
const all = found => [...found.texts.values()];

test('a fix of another cell is ready, though the card cannot insert it', () => {
  assert.deepEqual(kinds(across()), ['1 ready', '2 ready']);
  assert.deepEqual([...across().fixes[0].status.edits.keys()], ['cell-5']);
  const undrawn = across(it => (it.card.diagnostics[0].fixes[1].diff = []));
  assert.deepEqual(kinds(undrawn), ['1 ready', '2 unproved']);
});

test('a fix over two cells changes both, and marks stand each in its own', () => {
  const after = planAfter(across(), 2);
  assert.deepEqual(all(after), [
    'def kernel(x_ref, o_ref):\n    o_ref[:] = x_ref[...]\n',
    'spec = pl.BlockSpec(memory_space=pltpu.VMEM)\nrun(kernel, spec)\n'
  ]);
  assert.deepEqual(across().marks.map(mark => mark.document), ['cell-3', 'cell-5']);
});

test('a fix of two cells with what is in already keeps the other half', () => {
  const found = across(it => {
    const second = structuredClone(it.diagnostics[0]);
    second.fixes = [{ ...second.fixes[1], id: 3 }];
    it.diagnostics[0].fixes.pop();
    it.diagnostics.push(second);
    it.card.diagnostics[0].fixes[1].id = 3;
  });
  const after = planAfter(found, 1);
  assert.deepEqual([...after.fixes[1].status.edits.keys()], ['cell-3']);
  assert.deepEqual(all(planAfter(after, 3)), all(planAfter(found, 3)));
});

test('two runs of one cell with one text are one document', () => {
  const found = across(it => {
    it.sources['cell-9'] = { ...it.sources['cell-5'], label: 'In[9]' };
    it.diagnostics[0].fixes[0].edits[0].span.source = 'cell-9';
  });
  assert.deepEqual([...found.texts.keys()], ['cell-3', 'cell-5']);
  assert.deepEqual([...found.fixes[0].status.edits.keys()], ['cell-5']);
});
