/** Every row of the guides' symptom tables, in their order, and those that a run shows. */

import type { SymptomHit } from '../../model/results/advise.js';
import { S24, S27, S29 } from './collectives.js';
import { S4, S5, S8, S9, S11, S12, S13, S14, S18, S19 } from './constraints.js';
import type { SymptomEvidence } from './evidence.js';
import { S25 } from './host.js';
import { S28 } from './nvl72.js';
import { S1, S2, S3, S7, S15, S17 } from './oom.js';
import { S21, S22, S23 } from './overlap.js';
import { S6, S10, S16, S20 } from './speed.js';
import { S26 } from './stages.js';
import type { Symptom } from './symptom.js';

export const SYMPTOMS: readonly Symptom[] = [
  ...[S1, S2, S3, S4, S5, S6, S7, S8, S9, S10],
  ...[S11, S12, S13, S14, S15, S16, S17, S18, S19, S20],
  ...[S21, S22, S23, S24, S25, S26, S27, S28, S29],
];

interface Found {
  readonly hit: SymptomHit;
  readonly twins: Symptom[];
}

/** Several guides have a row for the same refusal: the first of them is reported and names the others. */
export function findSymptoms(evidence: SymptomEvidence): SymptomHit[] {
  const entries: Found[] = [];
  const byFinding = new Map<string, Found>();
  for (const symptom of SYMPTOMS) {
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
