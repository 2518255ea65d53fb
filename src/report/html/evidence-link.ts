/** Links to the pieces of evidence of the page. Pure. */
import type { ReportResult } from '../../model/results/report.js';
import { type Child, element, text, textElement } from './html.js';

/** Names of the pieces that the page holds: `E6` of the first verdict, `2-E6` of the second one. */
export type EvidenceNames = ReadonlySet<string>;

/** `verdict`: from 1. */
export const evidenceName = (id: string, verdict: number): string => (verdict === 1 ? id : `${verdict}-${id}`);

export function evidenceNames({ evidence }: ReportResult): EvidenceNames {
  return new Set(
    evidence.flatMap(({ evidence: entry, verdict }) => (entry === null ? [] : [evidenceName(entry.id, verdict)])),
  );
}

/** The handle as a link, or as a word where the page does not hold the evidence. */
export function evidenceLink(id: string, verdict: number, names: EvidenceNames): Child {
  const name = evidenceName(id, verdict);
  if (!names.has(name)) return textElement('span', id, { class: 'e' });
  return element('a', { class: 'e', href: `#evidence-${name}`, 'data-e': name }, text(id));
}
