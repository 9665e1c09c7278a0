/** Changes to several documents at once, each under its document's key. */
import { applied, Change, inverted, rebased } from './rebase.js';

export type Texts = ReadonlyMap<string, string>;
export type Edits = ReadonlyMap<string, readonly Change[]>;

/** The texts with every change made. */
export function appliedEdits(texts: Texts, edits: Edits): Texts {
  const changed = [...texts].map(
    ([key, text]) => [key, applied(text, edits.get(key) ?? [])] as const
  );
  return new Map(changed);
}

/** What of the edits is left once `made` is in the texts; null where the two overlap. */
export function rebasedEdits(edits: Edits, made: Edits): Edits | null {
  const left = new Map<string, readonly Change[]>();
  for (const [key, changes] of edits) {
    const found = rebased(changes, made.get(key) ?? []);
    if (found === null) {
      return null;
    }
    if (found.length) {
      left.set(key, found);
    }
  }
  return left;
}

/** The edits that take `made` back; `texts` are those from before. */
export function invertedEdits(texts: Texts, made: Edits): Edits {
  return new Map([...made].map(([key, changes]) => [key, inverted(texts.get(key) ?? '', changes)]));
}

/** The edits of some of the documents. */
export function editsOf(edits: Edits, wanted: (key: string) => boolean): Edits {
  return new Map([...edits].filter(([key]) => wanted(key)));
}
