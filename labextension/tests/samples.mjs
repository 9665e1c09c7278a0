import { readFileSync } from 'node:fs';

/** A payload of the folder, fresh for each test, changed by `change`. */
export function named(name, change = () => {}) {
  const path = new URL(`../test-payloads/${name}.json`, import.meta.url);
  const payload = JSON.parse(readFileSync(path, 'utf8'));
  change(payload);
  return payload;
}

/** The payload of a cell with two findings. */
export const sample = change => named('histogram', change);

export const KEY = Object.keys(sample().sources)[0];
export const TEXT = sample().sources[KEY].text;
