/** The rules of the guides' symptom tables, and those that a run shows. */

import { SYMPTOMS } from '../../knowledge/symptoms.js';
import type { SymptomSighting } from '../../model/symptom.js';
import { COLLECTIVE_RULES } from './collectives.js';
import { CONSTRAINT_RULES, refused } from './constraints.js';
import type { SymptomEvidence } from './evidence.js';
import { HOST_RULES } from './host.js';
import { NVL72_RULES } from './nvl72.js';
import { OOM_RULES } from './oom.js';
import { OVERLAP_RULES } from './overlap.js';
import { SPEED_RULES } from './speed.js';
import { STAGE_RULES } from './stages.js';
import type { SymptomRule } from './symptom.js';

const RULES: Readonly<Record<string, SymptomRule>> = {
  ...{ ...CONSTRAINT_RULES, ...OOM_RULES, ...SPEED_RULES, ...OVERLAP_RULES },
  ...{ ...COLLECTIVE_RULES, ...HOST_RULES, ...STAGE_RULES, ...NVL72_RULES },
};

/** Several guides have a row for the same refusal: the first of them is reported and names the others. */
export function findSymptoms(evidence: SymptomEvidence): SymptomSighting[] {
  const byFinding = new Map<string, SymptomSighting & { readonly also: string[] }>();
  for (const { id, finding = id, refusal } of SYMPTOMS) {
    const sighting = refusal === undefined ? RULES[id]!(evidence) : refused(evidence, refusal);
    if (sighting === null) continue;
    const known = byFinding.get(finding);
    if (known === undefined) byFinding.set(finding, { id, also: [], ...sighting });
    else known.also.push(id);
  }
  return [...byFinding.values()];
}
