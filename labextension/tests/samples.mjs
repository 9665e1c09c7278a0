import { readFileSync } from 'node:fs';

const path = new URL('../test-payloads/histogram.json', import.meta.url);

/** The sample payload, fresh for each test, changed by `change`. */
export function sample(change = () => {}) {
  const payload = JSON.parse(readFileSync(path, 'utf8'));
  change(payload);
  return payload;
}

export const KEY = Object.keys(sample().sources)[0];
export const TEXT = sample().sources[KEY].text;
