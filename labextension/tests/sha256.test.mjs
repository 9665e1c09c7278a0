import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { sha256 } from '../lib/sha256.js';

const expected = text => createHash('sha256').update(text, 'utf8').digest('hex');

test('the digests are those of the standard', () => {
  assert.equal(sha256(''), 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  assert.equal(sha256('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

test('texts of every length round a block, and beyond ASCII', () => {
  for (let length = 50; length < 140; length += 1) {
    assert.equal(sha256('x'.repeat(length)), expected('x'.repeat(length)), `length ${length}`);
  }
  assert.equal(sha256('# 🎯 größe\n'), expected('# 🎯 größe\n'));
});
