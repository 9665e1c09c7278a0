/** The chip matrix: kernels, stages and chips, its cells linked to the findings below it. */
import { inline } from './code.js';
import { button, element } from './dom.js';
import type { CardDiagnostic, ChipCell, ChipMatrix, Payload } from './payload.js';

const SIGNS = { ok: '✓', failed: '✗', skipped: '–', waiting: '…' } as const;

/** What stands of it in the card, nothing where the report is of one chip. */
export function chipTable({ card }: Payload, findings: readonly HTMLDetailsElement[]): HTMLElement[] {
  if (card.chips === null) {
    return [];
  }
  const table = element(
    'table',
    {},
    element('caption', {}, card.chips.caption),
    header(card.chips),
    ...card.chips.kernels.map((kernel, index) =>
      element(
        'tbody',
        {},
        ...kernel.rows.map((row, place) =>
          element(
            'tr',
            {},
            place === 0 ? kernelName(kernel) : null,
            element('th', { scope: 'row', class: 'pm-dim' }, row.stage),
            ...row.cells.map((one, at) =>
              cell(one, card.diagnostics, findings, `chips/${index}/${place}/${at}`)
            )
          )
        )
      )
    )
  );
  const reasons = card.chips.reasons.map(reason => element('li', {}, ...inline(reason)));
  return [
    element(
      'div',
      { class: 'pm-chips' },
      element('div', { class: 'pm-scrolled', tabindex: '0', 'data-key': 'chips' }, table),
      reasons.length ? element('ul', {}, ...reasons) : null
    )
  ];
}

function header({ chips }: ChipMatrix): HTMLElement {
  const names = ['kernel', 'stage', ...chips];
  const heads = names.map(name => element('th', { scope: 'col' }, name));
  return element('thead', {}, element('tr', {}, ...heads));
}

function kernelName({ name, calls, rows }: ChipMatrix['kernels'][number]): HTMLElement {
  return element(
    'th',
    { scope: 'rowgroup', rowspan: `${rows.length}` },
    element('code', {}, name),
    calls ? element('span', { class: 'pm-dim' }, ` ${calls}`) : null
  );
}

function cell(
  { status, found, about }: ChipCell,
  diagnostics: readonly CardDiagnostic[],
  findings: readonly HTMLDetailsElement[],
  key: string
): HTMLElement {
  if (status === 'none') {
    return element('td');
  }
  const sign = element(
    'span',
    { class: `pm-cell-${status}`, role: 'img', 'aria-label': status },
    SIGNS[status]
  );
  const [first, ...others] = found.flatMap((index, place) => {
    const [shown, finding] = [diagnostics[index], findings[index]];
    return shown && finding ? [link(shown, finding, `${key}/${place}`)] : [];
  });
  // The sign stays with the first of the links, wherever a narrow cell wraps.
  const together = first ? [sign, ' ', first] : [sign];
  return element(
    'td',
    { title: about },
    element('span', { class: 'pm-cell' }, ...together),
    ...others.flatMap(other => [' ', other])
  );
}

function link(shown: CardDiagnostic, finding: HTMLDetailsElement, key: string): HTMLElement {
  const name = shown.reference || shown.code;
  const node = button(name, `${name}: show it`, () => {
    finding.open = true;
    finding.querySelector('summary')?.focus({ preventScroll: true });
    finding.scrollIntoView({ block: 'nearest' });
  });
  node.className = 'pm-link';
  node.dataset.key = key;
  node.dataset.severity = shown.severity;
  return node;
}
