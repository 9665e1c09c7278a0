/**
 * SHA-256 of a text's UTF-8, as in FIPS 180-4. The browser's own works in a
 * secure context only, and a server in a local network is none.
 */

export function sha256(text: string): string {
  const bytes = padded(new TextEncoder().encode(text));
  const view = new DataView(bytes.buffer);
  const words = new Uint32Array(64);
  const state = new Uint32Array(INITIAL);
  for (let start = 0; start < bytes.length; start += 64) {
    for (let index = 0; index < 64; index += 1) {
      words[index] = index < 16 ? view.getUint32(start + 4 * index) : extended(words, index);
    }
    compress(state, words);
  }
  return Array.from(state, word => word.toString(16).padStart(8, '0')).join('');
}

function padded(message: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(Math.ceil((message.length + 9) / 64) * 64);
  bytes.set(message);
  bytes[message.length] = 0x80;
  const view = new DataView(bytes.buffer);
  const bits = message.length * 8;
  view.setUint32(bytes.length - 8, Math.floor(bits / 2 ** 32));
  view.setUint32(bytes.length - 4, bits >>> 0);
  return bytes;
}

function extended(words: Uint32Array, index: number): number {
  const [a, b] = [words[index - 15]!, words[index - 2]!];
  const first = turned(a, 7) ^ turned(a, 18) ^ (a >>> 3);
  const second = turned(b, 17) ^ turned(b, 19) ^ (b >>> 10);
  return (words[index - 16]! + first + words[index - 7]! + second) >>> 0;
}

function compress(state: Uint32Array, words: Uint32Array): void {
  let [a, b, c, d, e, f, g, h] = state as unknown as EightWords;
  for (let index = 0; index < 64; index += 1) {
    const choice = (e & f) ^ (~e & g);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const high = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25);
    const low = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22);
    const one = (h + high + choice + ROUNDS[index]! + words[index]!) >>> 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) >>> 0, c, b, a, (one + low + majority) >>> 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, index) => (state[index] = (state[index]! + word) >>> 0));
}

type EightWords = [number, number, number, number, number, number, number, number];

function turned(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}

/** The first 32 bits of the fractions of the roots of the first primes. */
function fractions(count: number, root: (prime: number) => number): number[] {
  const primes: number[] = [];
  for (let number = 2; primes.length < count; number += 1) {
    if (primes.every(prime => number % prime !== 0)) {
      primes.push(number);
    }
  }
  return primes.map(prime => ((root(prime) % 1) * 2 ** 32) >>> 0);
}

const INITIAL = fractions(8, Math.sqrt);
const ROUNDS = fractions(64, Math.cbrt);
