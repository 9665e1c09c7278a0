import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readPayload } from '../lib/payload.js';

const FOLDER = new URL('../test-payloads/', import.meta.url);

function sample(name, change = () => {}) {
  const payload = JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8'));
  change(payload.card);
  return readPayload(payload);
}

for (const name of readdirSync(FOLDER).filter(name => name.endsWith('.json'))) {
  test(`what the package makes is read: ${name}`, () => {
    assert.equal(sample(name).kind, 'payload');
  });
}

test('the matrix and the memory are read', () => {
  const { card } = sample('chips.json').payload;
  assert.deepEqual(card.chips.chips, ['TPU v4', 'TPU v5e', 'TPU v6e', 'TPU v7x', 'A100', 'H100']);
  assert.deepEqual(
    card.chips.kernels[0].rows[0].cells.map(cell => cell.status),
    ['failed', 'ok', 'ok', 'ok', 'skipped', 'skipped']
  );
  assert.equal(card.memory.kernels[0].bars[0].words, '168 of 255 a thread');
});

test('a card without them is read', () => {
  const { card } = sample('chips.json', it => {
    delete it.chips;
    delete it.memory;
    it.diagnostics.forEach(one => delete one.reference);
  }).payload;
  assert.equal(card.chips, null);
  assert.equal(card.memory, null);
});

const cells = card => card.chips.kernels[0].rows[0].cells;
const bar = card => card.memory.kernels[0].bars[0];

const REFUSED = [
  [
    'a status of its own',
    it => (cells(it)[1].status = 'fine'),
    'card.chips.kernels[0].rows[0].cells[1].status: expected one of ok, failed, skipped, waiting, none'
  ],
  [
    'a cell too few',
    it => cells(it).pop(),
    'card.chips.kernels: expected a cell for each chip'
  ],
  [
    'a cell that leads nowhere',
    it => (cells(it)[0].found = [4]),
    'card.chips.kernels: expected places of diagnostics of the card'
  ],
  [
    'more chips than there are',
    it => (it.chips.chips = Array(51).fill('TPU')),
    'card.chips.chips: expected a list of at most 50'
  ],
  [
    'a reason that is markup',
    it => (it.chips.reasons = ['<b>why</b>']),
    'card.chips.reasons[0]: expected a list of at most 1000'
  ],
  [
    'less than nothing in use',
    it => (bar(it).used = -1),
    'card.memory.kernels[0].bars[0].used: expected a whole number from 0 to 1125899906842624'
  ],
  [
    'a part that is no amount',
    it => (bar(it).parts = ['1e9']),
    'card.memory.kernels[0].bars[0].parts[0]: expected a whole number from 0 to 1125899906842624'
  ]
];

for (const [name, change, why] of REFUSED) {
  test(`refused: ${name}`, () => assert.equal(sample('chips.json', change).why, why));
}
