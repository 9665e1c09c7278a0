/** On-chip memory: a bar for each chip, drawn to scale, and the buffers that it is made of. */
import { element, folded } from './dom.js';
import type { KernelMemory, MemoryBar, Payload } from './payload.js';

const SVG = 'http://www.w3.org/2000/svg';
const WIDTH = 200;
const HEIGHT = 12;
const TIGHT = 0.9;

/** What stands of it in the card, nothing where nothing is known. */
export function memoryFold({ card: { memory } }: Payload): HTMLElement[] {
  if (memory === null) {
    return [];
  }
  const gist = memory.gist ? ` · ${memory.gist}` : '';
  const fold = folded('memory', `On-chip memory${gist}`, ...memory.kernels.flatMap(kernelTables));
  return [element('div', { class: 'pm-memory' }, fold)];
}

function kernelTables(kernel: KernelMemory, index: number): HTMLElement[] {
  const calls = kernel.calls ? ` ${kernel.calls}` : '';
  const caption = element(
    'caption',
    {},
    element('code', {}, kernel.kernel),
    `${calls} · ${kernel.space}`
  );
  const rows = kernel.bars.map(bar => barRow(bar, kernel.space));
  const tables = [element('table', { class: 'pm-bars' }, caption, ...rows)];
  for (const { chips, buffers } of kernel.tables) {
    const heads = ['buffer', 'type', 'size', 'in all'].map(name =>
      element('th', { scope: 'col' }, name)
    );
    const lines = buffers.map(({ name, type, copies, total }) =>
      element(
        'tr',
        {},
        element('th', { scope: 'row' }, element('code', {}, name)),
        element('td', {}, element('code', {}, type)),
        element('td', {}, copies),
        element('td', {}, total)
      )
    );
    tables.push(
      element(
        'table',
        {},
        element('caption', {}, chips ? `buffers on ${chips}` : 'buffers'),
        element('thead', {}, element('tr', {}, ...heads)),
        element('tbody', {}, ...lines)
      )
    );
  }
  return tables.map((table, place) =>
    element(
      'div',
      { class: 'pm-scrolled', tabindex: '0', 'data-key': `memory/${index}/${place}` },
      table
    )
  );
}

function barRow(bar: MemoryBar, space: string): HTMLElement {
  const rest = `${bar.rest_words} of it is the compiler's own`;
  return element(
    'tr',
    {},
    element('th', { scope: 'row' }, bar.chips),
    element('td', {}, bar.words),
    element('td', {}, bar.limit ? drawn(bar, `${space} on ${bar.chips}: ${bar.words}`) : null),
    bar.rest_words ? element('td', { class: 'pm-dim' }, rest) : null
  );
}

function drawn(bar: MemoryBar, said: string): SVGElement {
  const tight = bar.used > TIGHT * bar.limit;
  const node = svg('svg', {
    class: tight ? 'pm-bar pm-bar-tight' : 'pm-bar',
    role: 'img',
    'aria-label': said,
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    width: `${WIDTH}`,
    height: `${HEIGHT}`
  });
  node.append(rectangle(0, WIDTH, 'pm-bar-free'));
  let start = 0;
  [...bar.parts, bar.rest].forEach((part, index) => {
    const own = bar.parts.length > 0 && index === bar.parts.length;
    const name = own ? 'pm-bar-rest' : index % 2 ? 'pm-bar-odd' : 'pm-bar-even';
    node.append(rectangle(at(start, bar), at(start + part, bar), name));
    start += part;
  });
  return node;
}

/** Where an amount ends; what is used is seen, however little of a large memory it is. */
function at(amount: number, { used, limit }: MemoryBar): number {
  const scaled = amount / Math.max(used, limit);
  return Math.min(1, Math.max(scaled, (0.01 * amount) / Math.max(used, 1))) * WIDTH;
}

function rectangle(start: number, end: number, name: string): SVGElement {
  const width = Math.max(0, end - start);
  return svg('rect', { class: name, x: `${start}`, width: `${width}`, height: `${HEIGHT}` });
}

function svg(tag: string, attributes: { readonly [name: string]: string }): SVGElement {
  const node = document.createElementNS(SVG, tag) as SVGElement;
  for (const [name, value] of Object.entries(attributes)) {
    node.setAttribute(name, value);
  }
  return node;
}
