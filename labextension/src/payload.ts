/**
 * The payload of one check: the report and the card drawn from it. It comes out
 * of a notebook that anyone may have written, so that every field is checked.
 */
import { rangeOf } from './positions.js';
import { Check, Checked, fail, flag, list, oneOf, optional, PayloadError } from './schema.js';
import { record, table, text, tuple, whole } from './schema.js';

export const MIME_TYPE = 'application/vnd.pallas-magic.v1+json';
const VERSION = 1;

const word = text(200);
const sentence = text(20_000);
const page = text(200_000);
const line = whole(1, 1_000_000);
const column = whole(0, 1_000_000);
const ids = list(whole(0, 100_000), 300);

const inline = list(tuple(oneOf('text', 'code'), sentence), 1_000);
const proof = list(tuple(oneOf('ok', 'part', 'no', 'wait'), sentence), 20);
const severity = oneOf('error', 'warning', 'note');
const applicability = oneOf('safe', 'unsafe', 'display');

const span = record({
  source: sentence,
  start_line: line,
  start_col: column,
  end_line: line,
  end_col: column
});
const edit = record({ span, new_text: page });
const source = record({
  kind: oneOf('cell', 'file'),
  label: sentence,
  text: text(2_000_000),
  cell_id: optional(sentence),
  editable: optional(flag)
});
const fix = record({
  id: whole(0, 100_000),
  applicability,
  edits: list(edit, 100),
  proof: optional(record({ gone: optional(flag) }))
});
const diagnostic = record({
  code: word,
  severity,
  message: sentence,
  primary: optional(span),
  primary_text: optional(sentence),
  labels: list(record({ span, text: sentence, role: oneOf('effect', 'cause') }), 100),
  fixes: list(fix, 30)
});

const codeLine = record({
  kind: oneOf('code', 'gap', 'label'),
  number: optional(whole(0, 1_000_000)),
  segments: list(tuple(word, sentence, optional(whole(0, 1_000))), 2_000),
  mark: optional(whole(0, 1_000)),
  indent: optional(whole(0, 10_000))
});
const diffLine = record({
  kind: oneOf('del', 'add', 'same'),
  number: optional(whole(0, 1_000_000)),
  segments: list(tuple(word, sentence), 2_000),
  changed: optional(list(tuple(whole(0, 1_000_000), whole(0, 1_000_000)), 100))
});
const cardFix = record({
  id: whole(0, 100_000),
  title: inline,
  name: sentence,
  applicability,
  proof,
  diff: list(diffLine, 2_000),
  folded: flag,
  elsewhere: optional(sentence),
  insertable: optional(flag)
});
const mark = record({
  role: oneOf('primary', 'effect', 'cause'),
  text: sentence,
  inline: optional(inline)
});
const cardDiagnostic = record({
  code: word,
  reference: optional(word),
  name: word,
  severity,
  message: inline,
  where: sentence,
  windows: list(record({ source: sentence, label: sentence, lines: list(codeLine, 500) }), 50),
  marks: list(mark, 1_000),
  notes: list(inline, 50),
  fixes: list(cardFix, 30),
  page: optional(page),
  original: optional(page),
  bug_report: optional(page)
});
const size = whole(0, 2 ** 50);
const chipCell = record({
  status: oneOf('ok', 'failed', 'skipped', 'waiting', 'none'),
  found: list(whole(0, 300), 300),
  about: sentence
});
const chipMatrix = record({
  caption: sentence,
  chips: list(sentence, 50),
  kernels: list(
    record({
      name: sentence,
      calls: sentence,
      rows: list(record({ stage: word, cells: list(chipCell, 50) }), 5)
    }),
    1_000
  ),
  reasons: list(inline, 1_000)
});
const memoryBar = record({
  chips: sentence,
  used: size,
  limit: size,
  parts: list(size, 1_000),
  rest: size,
  words: sentence,
  rest_words: sentence
});
const memoryBuffer = record({ name: sentence, type: sentence, copies: word, total: word });
const kernelMemory = record({
  kernel: sentence,
  calls: sentence,
  space: sentence,
  bars: list(memoryBar, 50),
  tables: list(record({ chips: sentence, buffers: list(memoryBuffer, 100) }), 50)
});
const card = record({
  state: oneOf('proving', 'done'),
  progress: optional(sentence),
  title: sentence,
  subtitle: inline,
  notes: list(inline, 100),
  kernels: list(inline, 1_000),
  chips: optional(chipMatrix),
  memory: optional(record({ gist: sentence, kernels: list(kernelMemory, 3_000) })),
  diagnostics: list(cardDiagnostic, 300),
  combined: optional(record({ ids, name: sentence, proof }))
});
const payload = record({
  diagnostics: list(diagnostic, 300),
  sources: table(source, 200),
  combined: optional(record({ ids, edits: list(edit, 1_000) })),
  card
});

export type Inline = Checked<typeof inline>;
export type ProofItems = Checked<typeof proof>;
export type Severity = Checked<typeof severity>;
export type Span = Checked<typeof span>;
export type TextEdit = Checked<typeof edit>;
export type Source = Checked<typeof source>;
export type ReportFix = Checked<typeof fix>;
export type ReportDiagnostic = Checked<typeof diagnostic>;
export type CodeLine = Checked<typeof codeLine>;
export type DiffLine = Checked<typeof diffLine>;
export type CardFix = Checked<typeof cardFix>;
export type CardDiagnostic = Checked<typeof cardDiagnostic>;
export type ChipCell = Checked<typeof chipCell>;
export type ChipMatrix = Checked<typeof chipMatrix>;
export type MemoryBar = Checked<typeof memoryBar>;
export type KernelMemory = Checked<typeof kernelMemory>;
export type Card = Checked<typeof card>;
export type Payload = Checked<typeof payload>;

export type Reading =
  | { readonly kind: 'empty' }
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'payload'; readonly payload: Payload };

/** The payload of a MIME bundle's JSON; a bad one is refused with a reason, never thrown. */
export function readPayload(value: unknown): Reading {
  try {
    if (isEmpty(value)) {
      return { kind: 'empty' };
    }
    record({ version: version })(value, '');
    const found = payload(value, '');
    found.diagnostics.forEach((item, index) => checkSpans(item, `diagnostics[${index}]`, found));
    checkEdits(found.combined?.edits ?? [], 'combined', found);
    checkFixes(found);
    checkChips(found.card);
    return { kind: 'payload', payload: found };
  } catch (error) {
    if (error instanceof PayloadError) {
      return { kind: 'refused', why: error.message };
    }
    throw error;
  }
}

const version: Check<number> = (value, where) =>
  value === VERSION ? VERSION : fail(where, `${VERSION}; this extension reads no other`);

function isEmpty(value: unknown): boolean {
  const mapping = typeof value === 'object' && value !== null && !Array.isArray(value);
  return mapping && Object.keys(value).length === 0;
}

function checkSpans(item: ReportDiagnostic, where: string, found: Payload): void {
  if (item.primary) {
    checkSpan(item.primary, `${where}.primary`, found);
  }
  item.labels.forEach((label, index) => checkSpan(label.span, `${where}.labels[${index}]`, found));
  item.fixes.forEach((one, index) => checkEdits(one.edits, `${where}.fixes[${index}]`, found));
}

function checkEdits(edits: readonly TextEdit[], where: string, found: Payload): void {
  edits.forEach((one, index) => checkSpan(one.span, `${where}.edits[${index}]`, found));
}

function checkSpan(place: Span, where: string, found: Payload): void {
  const text = found.sources.get(place.source)?.text;
  if (text === undefined || rangeOf(text, place) === null) {
    fail(where, 'a span of one of the sources');
  }
}

/** A cell stands under its chip and leads to findings of the card. */
function checkChips({ chips, diagnostics }: Card): void {
  const rows = chips?.kernels.flatMap(kernel => kernel.rows) ?? [];
  if (rows.some(row => row.cells.length !== chips?.chips.length)) {
    fail('card.chips.kernels', 'a cell for each chip');
  }
  if (rows.some(row => row.cells.some(cell => cell.found.some(at => at >= diagnostics.length)))) {
    fail('card.chips.kernels', 'places of diagnostics of the card');
  }
}

/** A button acts on the report's fix of its id, so each id stands for one fix. */
function checkFixes(found: Payload): void {
  const known = found.diagnostics.flatMap(item => item.fixes.map(one => one.id));
  if (new Set(known).size !== known.length) {
    fail('fixes', 'ids that differ');
  }
  const drawn = found.card.diagnostics.flatMap(item => item.fixes.map(one => one.id));
  if (drawn.some(id => !known.includes(id)) || new Set(drawn).size !== drawn.length) {
    fail('card.fixes', 'each fix of the report at most once');
  }
}
