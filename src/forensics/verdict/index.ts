/**
 * The causes of a device OOM, in the order they are tried. The first that holds is the verdict; those that fail are its "not why". External
 * pressure comes first because what it leaves looks full; a leak before capacity, for it ends in one; capacity before fragmentation because a
 * full device is also fragmented.
 */
import type { RuledOut } from '../../model/results.js';
import type { Cause } from '../../model/vocabulary.js';
import { capacity } from './capacity.js';
import { externalPressure } from './external-pressure.js';
import type { CauseTest, EvidenceLog, OomFacts, TestOutcome } from './facts.js';
import { fragmentation } from './fragmentation.js';
import { graphPools } from './graph-pools.js';
import { leak } from './leak.js';
import { synchronisation } from './synchronisation.js';

export const CAUSE_TESTS: readonly CauseTest[] = [
  externalPressure,
  synchronisation,
  graphPools,
  leak,
  capacity,
  fragmentation,
];

export interface Judgement {
  readonly holds: (Extract<TestOutcome, { outcome: 'holds' }> & { readonly cause: Cause }) | null;
  readonly ruledOut: readonly RuledOut[];
  readonly missing: readonly string[];
  /** Tests that ran to an answer, of all. */
  readonly ran: number;
}

/** Runs every test. Tests behind the one that holds still say whether they are ruled out or were not testable. */
export function judge(facts: OomFacts, evidence: EvidenceLog): Judgement {
  let holds: Judgement['holds'] = null;
  const ruledOut: RuledOut[] = [];
  const missing: string[] = [];
  let ran = 0;
  for (const test of CAUSE_TESTS) {
    const { cause } = test;
    const outcome = test.run(facts, evidence);
    if (outcome.outcome !== 'not_testable') ran += 1;
    if (outcome.outcome === 'holds') holds ??= { ...outcome, cause };
    else if (outcome.outcome === 'fails') ruledOut.push({ cause, why: outcome.why });
    else missing.push(`${cause.replaceAll('_', ' ')}: needs ${outcome.needs}`);
  }
  return { holds, ruledOut, missing, ran };
}
