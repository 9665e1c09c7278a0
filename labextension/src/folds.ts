/** What a reader opened, scrolled and focused in a card, kept while it is drawn again. */

export interface Folds {
  readonly open: ReadonlyMap<string, boolean>;
  readonly focused: string | null;
}

export function foldsOf(host: HTMLElement): Folds {
  const active = host.ownerDocument.activeElement;
  const focused = active instanceof HTMLElement && host.contains(active) ? active : null;
  return {
    open: new Map(keyed(host, 'details').map(([key, fold]) => [key, fold.open])),
    focused: focused?.dataset.key ?? null
  };
}

export function restoreFolds(host: HTMLElement, folds: Folds): void {
  for (const [key, fold] of keyed(host, 'details')) {
    fold.open = folds.open.get(key) ?? fold.open;
  }
  const all = Array.from(host.querySelectorAll<HTMLElement>('[data-key]'));
  all.find(node => folds.focused !== null && node.dataset.key === folds.focused)?.focus();
}

function keyed<K extends keyof HTMLElementTagNameMap>(
  host: HTMLElement,
  tag: K
): (readonly [string, HTMLElementTagNameMap[K]])[] {
  return Array.from(host.querySelectorAll(tag), node => [node.dataset.key ?? '', node] as const);
}
