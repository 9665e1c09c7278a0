/**
 * What can be inserted into one document, and what is left of it after each
 * insertion. A plan belongs to one exact text; pure, knows no notebook.
 */
import type { Payload, ReportDiagnostic, ReportFix, Severity, TextEdit } from './payload.js';
import { rangeOf } from './positions.js';
import { applied, Change, ordered, rebased } from './rebase.js';

export type FixStatus =
  | { readonly kind: 'ready'; readonly changes: readonly Change[] }
  | { readonly kind: 'inserted' }
  | { readonly kind: 'contained' }
  | { readonly kind: 'unneeded'; readonly by: number }
  | { readonly kind: 'overlaps' }
  | { readonly kind: 'elsewhere'; readonly source: string }
  | { readonly kind: 'unproved' }
  | { readonly kind: 'idea' };

export interface PlannedFix {
  readonly id: number;
  readonly diagnostic: number;
  readonly status: FixStatus;
}

export interface Combined {
  readonly ids: readonly number[];
  readonly changes: readonly Change[];
}

export interface Mark {
  readonly diagnostic: number;
  readonly from: number;
  readonly to: number;
  readonly severity: Severity;
  readonly text: string;
}

export interface Plan {
  readonly text: string;
  readonly fixes: readonly PlannedFix[];
  readonly combined: Combined | null;
  readonly marks: readonly Mark[];
}

export type Choice = number | 'all';

/** The plan for the document `key` as it was checked. */
export function planFor(payload: Payload, key: string): Plan {
  const text = payload.sources.get(key)?.text ?? '';
  const proving = payload.card.state === 'proving';
  const refused = new Set(
    payload.card.diagnostics.flatMap(item =>
      item.fixes.filter(fix => fix.insertable === false).map(fix => fix.id)
    )
  );
  const status = (fix: ReportFix): FixStatus => {
    if (fix.applicability === 'display' || fix.edits.length === 0) {
      return { kind: 'idea' };
    }
    const found = placed(text, key, fix.edits);
    const shown = found.kind === 'elsewhere' || !(proving || refused.has(fix.id));
    return shown ? found : { kind: 'unproved' };
  };
  const fixes = payload.diagnostics.flatMap((item, diagnostic) =>
    item.fixes.map(fix => ({ id: fix.id, diagnostic, status: status(fix) }))
  );
  const marks = payload.diagnostics.flatMap((item, index) => marksOf(item, index, text, key));
  return { text, fixes, combined: combinedOf(payload, text, key, fixes), marks };
}

/** The changes that a choice makes to the plan's text; null where it has none. */
export function changesOf(plan: Plan, choice: Choice): readonly Change[] | null {
  if (choice === 'all') {
    return plan.combined?.changes ?? null;
  }
  const status = plan.fixes.find(fix => fix.id === choice)?.status;
  return status?.kind === 'ready' ? status.changes : null;
}

/** The plan for the text with a choice inserted; null where there is nothing to insert. */
export function planAfter(plan: Plan, choice: Choice): Plan | null {
  const made = changesOf(plan, choice);
  if (made === null) {
    return null;
  }
  const chosen = choice === 'all' ? (plan.combined?.ids ?? []) : [choice];
  const mended = new Map(
    plan.fixes.filter(fix => chosen.includes(fix.id)).map(fix => [fix.diagnostic, fix.id])
  );
  return {
    text: applied(plan.text, made),
    fixes: plan.fixes.map(fix => ({ ...fix, status: statusAfter(fix, chosen, mended, made) })),
    combined: combinedAfter(plan.combined, chosen, made),
    marks: plan.marks
      .filter(mark => !mended.has(mark.diagnostic))
      .flatMap(mark => {
        const moved = rebased([{ from: mark.from, to: mark.to, insert: '' }], made)?.[0];
        return moved ? [{ ...mark, from: moved.from, to: moved.to }] : [];
      })
  };
}

function statusAfter(
  fix: PlannedFix,
  chosen: readonly number[],
  mended: ReadonlyMap<number, number>,
  made: readonly Change[]
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
  const changes = rebased(fix.status.changes, made);
  if (changes === null) {
    return { kind: 'overlaps' };
  }
  return changes.length ? { kind: 'ready', changes } : { kind: 'contained' };
}

/** Only these fixes were proved together: with any other in the text they are withdrawn. */
function combinedAfter(
  combined: Combined | null,
  chosen: readonly number[],
  made: readonly Change[]
): Combined | null {
  if (combined === null || !chosen.every(id => combined.ids.includes(id))) {
    return null;
  }
  const ids = combined.ids.filter(id => !chosen.includes(id));
  const changes = rebased(combined.changes, made);
  return ids.length > 1 && changes?.length ? { ids, changes } : null;
}

function combinedOf(
  payload: Payload,
  text: string,
  key: string,
  fixes: readonly PlannedFix[]
): Combined | null {
  const { combined, card } = payload;
  if (combined === null || card.combined === null || card.state === 'proving') {
    return null;
  }
  const here = combined.ids.every(
    id => fixes.find(fix => fix.id === id)?.status.kind === 'ready'
  );
  const status = placed(text, key, combined.edits);
  return here && status.kind === 'ready' ? { ids: combined.ids, changes: status.changes } : null;
}

function placed(text: string, key: string, edits: readonly TextEdit[]): FixStatus {
  const other = edits.find(edit => edit.span.source !== key);
  if (other) {
    return { kind: 'elsewhere', source: other.span.source };
  }
  const changes = edits.flatMap(edit => {
    const range = rangeOf(text, edit.span);
    return range ? [{ ...range, insert: edit.new_text }] : [];
  });
  const found = changes.length === edits.length ? ordered(changes) : null;
  return found?.length ? { kind: 'ready', changes: found } : { kind: 'overlaps' };
}

function marksOf(item: ReportDiagnostic, diagnostic: number, text: string, key: string): Mark[] {
  const primary = item.primary
    ? [{ span: item.primary, severity: item.severity, text: item.message }]
    : [];
  const labels = item.labels.map(label => ({
    span: label.span,
    severity: label.role === 'cause' ? ('note' as const) : item.severity,
    text: label.role === 'cause' ? `${item.message}: ${label.text}` : item.message
  }));
  return [...primary, ...labels].flatMap(mark => {
    const range = mark.span.source === key ? rangeOf(text, mark.span) : null;
    return range ? [{ diagnostic, ...range, severity: mark.severity, text: mark.text }] : [];
  });
}
