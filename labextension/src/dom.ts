/** Elements from plain values. Text goes in as text: nothing here parses markup. */

type Attributes = { readonly [name: string]: string };
export type Child = Node | string | null;

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    node.setAttribute(name, value);
  }
  node.append(...children.filter((child): child is Node | string => child !== null));
  return node;
}

export function button(label: string, aria: string, press: () => void): HTMLButtonElement {
  const node = element('button', { type: 'button', 'aria-label': aria }, label);
  node.addEventListener('click', press);
  return node;
}

/** A folded part; `key` is what its state is kept under when the card is drawn again. */
export function folded(key: string, summary: string, ...children: readonly Child[]): HTMLElement {
  return element(
    'details',
    { class: 'pm-fold', 'data-key': key },
    element('summary', { 'data-key': `${key}/summary` }, summary),
    ...children
  );
}
