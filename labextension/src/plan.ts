/**
 * What can be inserted into the documents of a payload, and what is left of it
 * after each insertion. A plan belongs to exact texts; pure, knows no notebook.
 */
import { documentsOf } from './documents.js';
import { appliedEdits, Edits, rebasedEdits, Texts } from './edits.js';
import type { Payload, ReportDiagnostic, ReportFix, Severity, Span, TextEdit } from './payload.js';
import { rangeOf } from './positions.js';
import { Change, ordered, rebased } from './rebase.js';

export type FixStatus =
  | { readonly kind: 'ready'; readonly edits: Edits }
  | { readonly kind: 'inserted' }
  | { readonly kind: 'contained' }
  | { readonly kind: 'unneeded'; readonly by: number }
  | { readonly kind: 'overlaps' }
  | { readonly kind: 'unproved' }
  | { readonly kind: 'idea' };

export interface PlannedFix {
  readonly id: number;
  readonly diagnostic: number;
  readonly status: FixStatus;
}

export interface Combined {
  readonly ids: readonly number[];
  readonly edits: Edits;
}

export interface Mark {
  readonly document: string;
  readonly diagnostic: number;
  readonly from: number;
  readonly to: number;
  readonly severity: Severity;
  readonly text: string;
}

export interface Plan {
  readonly texts: Texts;
  readonly fixes: readonly PlannedFix[];
  readonly combined: Combined | null;
  readonly marks: readonly Mark[];
}

export type Choice = number | 'all';

/** The plan for the documents as they were checked. */
export function planFor(payload: Payload): Plan {
  const places = new Places(payload);
  const offered = offeredFixes(payload);
  const status = (fix: ReportFix): FixStatus => {
    if (fix.applicability === 'display' || fix.edits.length === 0) {
      return { kind: 'idea' };
    }
    return offered.has(fix.id) ? placed(places, fix.edits) : { kind: 'unproved' };
  };
  const fixes = payload.diagnostics.flatMap((item, diagnostic) =>
    item.fixes.map(fix => ({ id: fix.id, diagnostic, status: status(fix) }))
  );
  const marks = payload.diagnostics.flatMap((item, index) => marksOf(item, index, places));
  return { texts: places.texts, fixes, combined: combinedOf(payload, places, fixes), marks };
}

/** The edits that a choice makes to the plan's texts; null where it has none. */
export function editsOfChoice(plan: Plan, choice: Choice): Edits | null {
  if (choice === 'all') {
    return plan.combined?.edits ?? null;
  }
  const status = plan.fixes.find(fix => fix.id === choice)?.status;
  return status?.kind === 'ready' ? status.edits : null;
}

/** The plan for the texts with a choice inserted; null where there is nothing to insert. */
export function planAfter(plan: Plan, choice: Choice): Plan | null {
  const made = editsOfChoice(plan, choice);
  if (made === null) {
    return null;
  }
  const chosen = choice === 'all' ? (plan.combined?.ids ?? []) : [choice];
  const mended = new Map(
    plan.fixes.filter(fix => chosen.includes(fix.id)).map(fix => [fix.diagnostic, fix.id])
  );
  return {
    texts: appliedEdits(plan.texts, made),
    fixes: plan.fixes.map(fix => ({ ...fix, status: statusAfter(fix, chosen, mended, made) })),
    combined: combinedAfter(plan.combined, chosen, made),
    marks: plan.marks.filter(mark => !mended.has(mark.diagnostic)).flatMap(mark => moved(mark, made))
  };
}

function moved(mark: Mark, made: Edits): Mark[] {
  const change = { from: mark.from, to: mark.to, insert: '' };
  const found = rebased([change], made.get(mark.document) ?? [])?.[0];
  return found ? [{ ...mark, from: found.from, to: found.to }] : [];
}

function statusAfter(
  fix: PlannedFix,
  chosen: readonly number[],
  mended: ReadonlyMap<number, number>,
  made: Edits
): FixStatus {
  if (chosen.includes(fix.id)) {
    return { kind: 'inserted' };
  }
  if (fix.status.kind !== 'ready') {
    return fix.status;
  }
  const by = mended.get(fix.diagnostic);
  if (by !== undefined) {
    return { kind: 'unneeded', by };
  }
  const edits = rebasedEdits(fix.status.edits, made);
  if (edits === null) {
    return { kind: 'overlaps' };
  }
  return edits.size ? { kind: 'ready', edits } : { kind: 'contained' };
}

/** Only these fixes were proved together: with any other in the text they are withdrawn. */
function combinedAfter(
  combined: Combined | null,
  chosen: readonly number[],
  made: Edits
): Combined | null {
  if (combined === null || !chosen.every(id => combined.ids.includes(id))) {
    return null;
  }
  const ids = combined.ids.filter(id => !chosen.includes(id));
  const edits = rebasedEdits(combined.edits, made);
  return ids.length > 1 && edits?.size ? { ids, edits } : null;
}

function combinedOf(
  payload: Payload,
  places: Places,
  fixes: readonly PlannedFix[]
): Combined | null {
  const { combined, card } = payload;
  if (combined === null || card.combined === null || card.state === 'proving') {
    return null;
  }
  const every = combined.ids.every(
    id => fixes.find(fix => fix.id === id)?.status.kind === 'ready'
  );
  const status = placed(places, combined.edits);
  return every && status.kind === 'ready' ? { ids: combined.ids, edits: status.edits } : null;
}

/**
 * The fixes that were proved and are drawn. What lies in the executed cell alone
 * the card has decided; of what lies elsewhere it says that it cannot insert it.
 */
function offeredFixes({ card, diagnostics }: Payload): ReadonlySet<number> {
  if (card.state === 'proving') {
    return new Set();
  }
  const proved = diagnostics.flatMap(item =>
    item.fixes.filter(({ proof }) => proof !== null && proof.gone !== false).map(fix => fix.id)
  );
  const drawn = card.diagnostics.flatMap(item =>
    item.fixes
      .filter(fix => (fix.elsewhere ? fix.diff.length > 0 : fix.insertable !== false))
      .map(fix => fix.id)
  );
  return new Set(proved.filter(id => drawn.includes(id)));
}

function placed(places: Places, edits: readonly TextEdit[]): FixStatus {
  const found = new Map<string, Change[]>();
  for (const { span, new_text } of edits) {
    const place = places.of(span);
    if (place === null) {
      return { kind: 'overlaps' };
    }
    const { document, from, to } = place;
    found.set(document, [...(found.get(document) ?? []), { from, to, insert: new_text }]);
  }
  const whole = new Map<string, readonly Change[]>();
  for (const [document, changes] of found) {
    const inOrder = ordered(changes);
    if (inOrder === null) {
      return { kind: 'overlaps' };
    }
    whole.set(document, inOrder);
  }
  return whole.size ? { kind: 'ready', edits: whole } : { kind: 'overlaps' };
}

function marksOf(item: ReportDiagnostic, diagnostic: number, places: Places): Mark[] {
  const primary = item.primary
    ? [{ span: item.primary, severity: item.severity, text: item.message }]
    : [];
  const labels = item.labels.map(label => ({
    span: label.span,
    severity: label.role === 'cause' ? ('note' as const) : item.severity,
    text: label.role === 'cause' ? `${item.message}: ${label.text}` : item.message
  }));
  return [...primary, ...labels].flatMap(({ span, severity, text }) => {
    const place = places.of(span);
    return place ? [{ diagnostic, ...place, severity, text }] : [];
  });
}

interface SpanPlace {
  readonly document: string;
  readonly from: number;
  readonly to: number;
}

/** Spans of a payload as ranges of its documents. */
class Places {
  readonly texts: Texts;

  constructor({ sources }: Payload) {
    this._documents = documentsOf(sources);
    this.texts = new Map(
      [...new Set(this._documents.values())].map(key => [key, sources.get(key)?.text ?? ''])
    );
  }

  of(span: Span): SpanPlace | null {
    const document = this._documents.get(span.source);
    const text = document === undefined ? undefined : this.texts.get(document);
    const range = text === undefined ? null : rangeOf(text, span);
    return range && document !== undefined ? { document, ...range } : null;
  }

  private readonly _documents: ReadonlyMap<string, string>;
}
