import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPayload } from '../lib/payload.js';
import { sample } from './samples.mjs';

const refusal = change => readPayload(sample(change)).why;

test('the sample is a payload', () => {
  const { kind, payload } = readPayload(sample());
  assert.equal(kind, 'payload');
  assert.equal(payload.card.diagnostics.length, 2);
  assert.equal([...payload.sources.values()][0].label, 'In[4]');
});

test('an empty bundle is empty, not refused', () => {
  assert.deepEqual(readPayload({}), { kind: 'empty' });
});

test('fields this extension does not know are left out, not refused', () => {
  const { payload } = readPayload(sample(it => (it.card.diagnostics[0].later = '<b>')));
  assert.equal(payload.card.diagnostics[0].later, undefined);
});

const REFUSED = [
  ['another version', it => (it.version = 2), 'version: expected 1; this extension reads no other'],
  ['no card', it => delete it.card, 'card: expected an object'],
  [
    'a number for a text',
    it => (it.card.title = 7),
    'card.title: expected a text of at most 20000 characters'
  ],
  [
    'an endless text',
    it => (it.card.title = 'x'.repeat(20_001)),
    'card.title: expected a text of at most 20000 characters'
  ],
  [
    'a state of its own',
    it => (it.card.state = 'ready'),
    'card.state: expected one of proving, done'
  ],
  [
    'an object for a list',
    it => (it.card.kernels = { length: 3 }),
    'card.kernels: expected a list of at most 1000'
  ],
  [
    'inline markup',
    it => (it.card.subtitle = [['html', '<img src=x onerror=alert(1)>']]),
    'card.subtitle[0][0]: expected one of text, code'
  ],
  [
    'a fraction of a line',
    it => (it.diagnostics[0].primary.start_line = 1.5),
    'diagnostics[0].primary.start_line: expected a whole number from 1 to 1000000'
  ],
  [
    'a span past its text',
    it => (it.diagnostics[0].primary.end_line = 900),
    'diagnostics[0].primary: expected a span of one of the sources'
  ],
  [
    'an edit of no source',
    it => (it.diagnostics[0].fixes[0].edits[0].span.source = '__proto__'),
    'diagnostics[0].fixes[0].edits[0]: expected a span of one of the sources'
  ],
  [
    'two fixes of one number',
    it => (it.diagnostics[1].fixes[0].id = 1),
    'fixes: expected ids that differ'
  ],
  [
    'a fix drawn that is not in the report',
    it => (it.card.diagnostics[1].fixes[0].id = 99),
    'card.fixes: expected each fix of the report at most once'
  ],
  [
    'more findings than anyone reads',
    it => (it.diagnostics = Array(301).fill(it.diagnostics[0])),
    'diagnostics: expected a list of at most 300'
  ]
];

for (const [name, change, why] of REFUSED) {
  test(`refused: ${name}`, () => assert.equal(refusal(change), why));
}

for (const value of [null, undefined, 3, 'text', [], [1]]) {
  test(`refused: ${JSON.stringify(value)} for a payload`, () => {
    assert.match(readPayload(value).why, /^(the payload|version): expected/);
  });
}
