/** The symptoms that a run shows, in the order of the list. */
import type { SymptomHit } from '../../model/results/advise.js';
import type { SymptomEvidence } from './evidence.js';
import { SYMPTOMS } from './index.js';
import type { Symptom } from './symptom.js';

interface Found {
  readonly hit: SymptomHit;
  readonly twins: Symptom[];
}

/** Several guides have a row for the same refusal: the first of them is reported and names the others. */
export function findSymptoms(evidence: SymptomEvidence, symptoms: readonly Symptom[] = SYMPTOMS): SymptomHit[] {
  const entries: Found[] = [];
  const byFinding = new Map<string, Found>();
  for (const symptom of symptoms) {
    const known = symptom.finding === undefined ? undefined : byFinding.get(symptom.finding);
    const hit = symptom.find(evidence);
    if (hit === null) continue;
    if (known !== undefined) {
      known.twins.push(symptom);
      continue;
    }
    const entry: Found = { hit, twins: [] };
    entries.push(entry);
    if (symptom.finding !== undefined) byFinding.set(symptom.finding, entry);
  }
  return entries.map(withTwins);
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
