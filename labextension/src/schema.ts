/**
 * Checks of untrusted JSON: each takes a value and where it stands, and returns
 * it typed or throws a PayloadError that names the place.
 */

export type Check<T> = (value: unknown, where: string) => T;
export type Checked<C> = C extends Check<infer T> ? T : never;

export class PayloadError extends Error {}

export function fail(where: string, expected: string): never {
  throw new PayloadError(`${where}: expected ${expected}`);
}

export function text(longest: number): Check<string> {
  return (value, where) =>
    typeof value === 'string' && value.length <= longest
      ? value
      : fail(where, `a text of at most ${longest} characters`);
}

export function whole(least: number, most: number): Check<number> {
  return (value, where) =>
    Number.isInteger(value) && (value as number) >= least && (value as number) <= most
      ? (value as number)
      : fail(where, `a whole number from ${least} to ${most}`);
}

export const flag: Check<boolean> = (value, where) =>
  typeof value === 'boolean' ? value : fail(where, 'true or false');

export function oneOf<const T extends string>(...words: readonly T[]): Check<T> {
  return (value, where) =>
    words.includes(value as T) ? (value as T) : fail(where, `one of ${words.join(', ')}`);
}

export function optional<T>(check: Check<T>): Check<T | null> {
  return (value, where) => (value === null || value === undefined ? null : check(value, where));
}

export function list<T>(check: Check<T>, most: number): Check<T[]> {
  return (value, where) => {
    if (!Array.isArray(value) || value.length > most) {
      return fail(where, `a list of at most ${most}`);
    }
    return value.map((item, index) => check(item, `${where}[${index}]`));
  };
}

type Items<T extends readonly Check<unknown>[]> = { [K in keyof T]: Checked<T[K]> };

export function tuple<T extends readonly Check<unknown>[]>(...checks: T): Check<Items<T>> {
  return (value, where) => {
    if (!Array.isArray(value) || value.length !== checks.length) {
      return fail(where, `a list of ${checks.length}`);
    }
    return checks.map((check, index) => check(value[index], `${where}[${index}]`)) as Items<T>;
  };
}

type Fields = { [name: string]: Check<unknown> };
type Fielded<F extends Fields> = { [K in keyof F]: Checked<F[K]> };

export function record<F extends Fields>(fields: F): Check<Fielded<F>> {
  return (value, where) => {
    const given = mapping(value, where);
    const entries = Object.entries(fields).map(([name, check]) => [
      name,
      check(given.get(name), where ? `${where}.${name}` : name)
    ]);
    return Object.fromEntries(entries) as Fielded<F>;
  };
}

/** A JSON object with any keys; a Map, so that no key can meet a prototype. */
export function table<T>(check: Check<T>, most: number): Check<ReadonlyMap<string, T>> {
  return (value, where) => {
    const given = mapping(value, where);
    if (given.size > most) {
      return fail(where, `at most ${most} entries`);
    }
    return new Map([...given].map(([key, item]) => [key, check(item, `${where}[${key}]`)]));
  };
}

function mapping(value: unknown, where: string): Map<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return fail(where || 'the payload', 'an object');
  }
  return new Map(Object.entries(value));
}
