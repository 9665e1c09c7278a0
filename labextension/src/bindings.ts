/** The cells of one notebook that the documents of a payload are. */
import type { ISharedCell, ISharedNotebook } from '@jupyter/ydoc';
import { documentsOf } from './documents.js';
import { locate, Located } from './locate.js';
import { textsOf } from './notebook.js';
import type { Payload, Source } from './payload.js';

export type Binding =
  | { readonly kind: 'cell'; readonly cell: ISharedCell }
  | { readonly kind: 'file' }
  | { readonly kind: 'none'; readonly why: string };

export class Bindings {
  constructor(
    private readonly _payload: Payload,
    private readonly _notebook: ISharedNotebook
  ) {
    this._documents = documentsOf(_payload.sources);
    this._keys = [...new Set(this._documents.values())];
    this.renew();
  }

  /** Find the cells again: they are moved, removed and put back as new ones. Tells if any is. */
  renew(): boolean {
    const before = this._bound;
    const cells = new Set(this._notebook.cells);
    const bound = this._keys.map(key => {
      const known = before.get(key);
      const stays = known?.kind === 'file' || (known?.kind === 'cell' && cells.has(known.cell));
      return [key, stays ? known : this._bind(key)] as const;
    });
    this._bound = new Map(bound);
    return this._keys.some(key => !same(before.get(key), this._bound.get(key)));
  }

  of(key: string): Binding {
    return this._bound.get(key) ?? { kind: 'none', why: 'the text is not in this notebook' };
  }

  documentOf(source: string): string {
    return this._documents.get(source) ?? source;
  }

  label(key: string): string {
    return this._payload.sources.get(key)?.label ?? key;
  }

  source(key: string): Source | null {
    return this._payload.sources.get(key) ?? null;
  }

  keys(): readonly string[] {
    return this._keys;
  }

  /** The documents that are this cell. */
  keysOf(cell: unknown): readonly string[] {
    return this._keys.filter(key => this.cell(key) === cell);
  }

  cell(key: string): ISharedCell | null {
    const binding = this.of(key);
    return binding.kind === 'cell' ? binding.cell : null;
  }

  /** Why nothing of the payload is found here, where no id says that it is of other cells. */
  lost(): string | null {
    const all = this._keys.map(key => ({ binding: this.of(key), source: this.source(key) }));
    const nameless = all.find(({ source }) => source?.kind === 'cell' && !source.cell_id);
    const none = all.every(({ binding }) => binding.kind === 'none');
    return none && nameless?.binding.kind === 'none' ? nameless.binding.why : null;
  }

  /** The bound cells, each once. */
  cells(): readonly ISharedCell[] {
    const found = this._keys.map(key => this.cell(key)).filter(cell => cell !== null);
    return [...new Set(found)];
  }

  private _bind(key: string): Binding {
    const { sources } = this._payload;
    const source = sources.get(key);
    if (source?.kind !== 'cell') {
      return { kind: 'file' };
    }
    const { cells } = this._notebook;
    const found = locate(textsOf(cells), source, sources.values());
    const cell = typeof found === 'number' ? cells[found] : undefined;
    return cell ? { kind: 'cell', cell } : { kind: 'none', why: whyNot(found, source) };
  }

  private readonly _documents: ReadonlyMap<string, string>;
  private readonly _keys: readonly string[];
  private _bound: ReadonlyMap<string, Binding> = new Map();
}

function same(one: Binding | undefined, other: Binding | undefined): boolean {
  if (one?.kind === 'cell' && other?.kind === 'cell') {
    return one.cell === other.cell;
  }
  const why = one?.kind === 'none' ? one.why : '';
  return one?.kind === other?.kind && why === (other?.kind === 'none' ? other.why : '');
}

export function changedSince(label: string): string {
  return `${label} has changed since it was checked`;
}

function whyNot(found: Located, { label, cell_id }: Source): string {
  if (found === 'ambiguous') {
    return `two cells hold the text of ${label}`;
  }
  return found === 'missing' && cell_id
    ? `${label} is not in this notebook`
    : changedSince(label);
}
