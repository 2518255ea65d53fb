/** The symptoms that a run shows, in the order of the list. */
import type { SymptomHit } from '../../model/results/advise.js';
import type { SymptomEvidence } from './evidence.js';
import { SYMPTOMS } from './index.js';
import type { Symptom } from './symptom.js';

interface Found {
  readonly hit: SymptomHit;
  readonly twins: Symptom[];
}

/** Several guides have a row for the same refusal: the first of them is told, and the others are named in it. */
export function findSymptoms(evidence: SymptomEvidence, symptoms: readonly Symptom[] = SYMPTOMS): SymptomHit[] {
  const found: Found[] = [];
  const told = new Map<string, Found>();
  for (const one of symptoms) {
    const known = one.finding === undefined ? undefined : told.get(one.finding);
    const hit = one.find(evidence);
    if (hit === null) continue;
    if (known !== undefined) {
      known.twins.push(one);
      continue;
    }
    const entry: Found = { hit, twins: [] };
    found.push(entry);
    if (one.finding !== undefined) told.set(one.finding, entry);
  }
  return found.map(withTwins);
}

function withTwins({ hit, twins }: Found): SymptomHit {
  if (twins.length === 0) return hit;
  const fixes = [...new Set([hit.fix, ...twins.map(({ fix }) => fix)])];
  return {
    ...hit,
    symptom: `${hit.symptom} (also ${twins.map(({ id }) => id).join(' and ')})`,
    fix: fixes.join('; or: '),
  };
}
