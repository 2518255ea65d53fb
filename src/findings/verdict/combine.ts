/**
 * How the answers of the tests become one verdict. All decisions between causes are here or in `thresholds.ts`. The
 * texts are printed, and the code below does what they state.
 */
import type { CauseTestResult, RuledOut, VerdictCapture } from '../../model/results/common.js';
import { type Cause, CONFIDENCES, type Confidence } from '../../model/vocabulary.js';
import { type CaptureId, capturesFor } from './captures.js';
import { capacity } from './causes/capacity.js';
import { externalPressure } from './causes/external-pressure.js';
import { fragmentation } from './causes/fragmentation.js';
import { graphPools } from './causes/graph-pools.js';
import { leak } from './causes/leak.js';
import { synchronisation } from './causes/synchronisation.js';
import type { CauseTest, EvidenceLog, OomFacts, TestOutcome } from './facts.js';

/** The causes of a device OOM, in the order they are tried. */
export const CAUSE_TESTS: readonly CauseTest[] = [
  externalPressure,
  synchronisation,
  graphPools,
  leak,
  capacity,
  fragmentation,
];

export type RuleId =
  | 'all_run'
  | 'external_first'
  | 'pending_and_pools_before_full'
  | 'leak_before_capacity'
  | 'capacity_before_fragmentation'
  | 'none_holds'
  | 'rule_of_thumb'
  | 'untested_rival'
  | 'contradiction'
  | 'counterfactual'
  | 'proven';

/** The rules, in the order they are applied. */
export const COMBINATION_RULES: readonly { readonly id: RuleId; readonly text: string }[] = [
  {
    id: 'all_run',
    text: 'Every test runs, and each holds, fails or cannot be tested; the first that holds is the verdict.',
  },
  {
    id: 'external_first',
    text: 'External pressure comes first: what others leave of a device looks full, or fragmented.',
  },
  {
    id: 'pending_and_pools_before_full',
    text: 'Pending frees, then private pools, come before a full device: their bytes are reserved, and not live.',
  },
  { id: 'leak_before_capacity', text: 'A leak comes before capacity, for it ends in a full device.' },
  {
    id: 'capacity_before_fragmentation',
    text: 'Capacity comes before fragmentation: a full device is also fragmented, and no layout makes it larger.',
  },
  {
    id: 'none_holds',
    text: 'Where no test holds the verdict is undecided, with the capture that would settle each test that could not run.',
  },
  {
    id: 'rule_of_thumb',
    text: 'Where the figures are missing, the guides are asked: with expandable segments on probably a full device; without them, one rank failing among ranks alike, probably fragmentation. At low confidence.',
  },
  {
    id: 'untested_rival',
    text: 'A verdict that rests on sums alone (capacity, fragmentation) is not sure while a cause that goes before it could not be tested: its confidence is one step lower.',
  },
  {
    id: 'contradiction',
    text: 'Evidence that contradicts the verdict, or leaves little between it and another, takes one more step.',
  },
  {
    id: 'counterfactual',
    text: 'The run is replayed in the allocator model, as it was set and with the other kind of segments: what happens then speaks for the verdict, or against it.',
  },
  {
    id: 'proven',
    text: 'Proven needs a sure verdict, and either an exact walk through the trace, the message with the device total and every byte accounted for, or an exact replay that repeats the OOM and in which the counterfactual agrees.',
  },
];

/** The rule that applied where a cause won over those behind it. */
const RULE_OF_CAUSE: Partial<Record<Cause, RuleId>> = {
  external_pressure: 'external_first',
  synchronisation: 'pending_and_pools_before_full',
  graph_pools: 'pending_and_pools_before_full',
  leak: 'leak_before_capacity',
  capacity: 'capacity_before_fragmentation',
};

/**
 * Rivals whose test would have had to fail. Causes with evidence of their own (a foreign process, a pending block, a
 * call site that retains) need none: they are observed, not inferred. A leak cannot have filled the device unless the
 * sum fits, so it is not a rival of fragmentation.
 */
const RIVALS: Partial<Record<Cause, readonly Cause[]>> = {
  capacity: ['external_pressure', 'synchronisation', 'graph_pools', 'leak'],
  fragmentation: ['external_pressure', 'synchronisation', 'graph_pools'],
};

export interface Judgement {
  readonly holds: (Extract<TestOutcome, { outcome: 'holds' }> & { readonly cause: Cause }) | null;
  readonly ruledOut: readonly RuledOut[];
  readonly missing: readonly string[];
  /** How many of all tests gave an answer. */
  readonly ran: number;
  readonly tests: readonly CauseTestResult[];
  readonly captures: readonly VerdictCapture[];
  /** The rules that applied, with what lowered the confidence. */
  readonly combination: readonly string[];
}

/** Runs every test. Tests behind the one that holds still report whether they are ruled out or were not testable. */
export function judge(facts: OomFacts, evidence: EvidenceLog): Judgement {
  const outcomes = CAUSE_TESTS.map(({ cause, run }) => ({ cause, outcome: run(facts, evidence) }));
  const ruledOut: RuledOut[] = [];
  const missing: string[] = [];
  const neededCaptures: { cause: Cause; capture: CaptureId }[] = [];
  for (const { cause, outcome } of outcomes) {
    if (outcome.outcome === 'fails') ruledOut.push({ cause, why: outcome.why });
    if (outcome.outcome !== 'not_testable') continue;
    missing.push(`${cause.replaceAll('_', ' ')}: needs ${outcome.needs}`);
    neededCaptures.push({ cause, capture: outcome.capture });
  }
  const first = outcomes.find(({ outcome }) => outcome.outcome === 'holds');
  const combination = [ruleText('all_run')];
  let holds: Judgement['holds'] = null;
  if (first?.outcome.outcome === 'holds') {
    const { cause, outcome } = first;
    const rule = RULE_OF_CAUSE[cause];
    if (rule !== undefined) combination.push(ruleText(rule));
    holds = { ...outcome, cause, confidence: lowered(facts, cause, outcome, outcomes, combination) };
  } else combination.push(ruleText('none_holds'));
  return {
    holds,
    ruledOut,
    missing,
    ran: outcomes.length - missing.length,
    tests: outcomes.map(({ cause, outcome }) => resultOf(cause, outcome)),
    captures: capturesFor(neededCaptures),
    combination,
  };
}

function ruleText(id: RuleId): string {
  return COMBINATION_RULES.find((rule) => rule.id === id)!.text;
}

/** The confidence after the rules that lower it; each rule that applies is listed with its reason. */
function lowered(
  facts: OomFacts,
  cause: Cause,
  holds: Extract<TestOutcome, { outcome: 'holds' }>,
  outcomes: readonly { readonly cause: Cause; readonly outcome: TestOutcome }[],
  combination: string[],
): Confidence {
  let confidence = holds.confidence;
  const rivals = RIVALS[cause] ?? [];
  const untested = outcomes.filter((one) => rivals.includes(one.cause) && one.outcome.outcome === 'not_testable');
  // This is the reason that a message alone gives medium at best; a detail with its own evidence does not need a rival
  // to fail.
  const ownEvidence = holds.detail === 'impossible_request' && facts.total !== null;
  if (untested.length > 0 && confidence === 'high' && !ownEvidence) {
    confidence = lowerConfidence(confidence);
    const names = untested.map((one) => one.cause.replaceAll('_', ' ')).join(', ');
    combination.push(`${ruleText('untested_rival')} Not tested: ${names}.`);
  }
  const against = outcomes.flatMap(({ outcome }) => (outcome.outcome === 'fails' ? (outcome.doubts ?? []) : []));
  const doubts = [...(holds.doubts ?? []), ...against];
  if (doubts.length > 0) {
    confidence = lowerConfidence(confidence);
    combination.push(`${ruleText('contradiction')} Here: ${doubts.join('; ')}.`);
  }
  return confidence;
}

/** One level lower. */
export function lowerConfidence(confidence: Confidence): Confidence {
  return CONFIDENCES[Math.min(CONFIDENCES.length - 1, CONFIDENCES.indexOf(confidence) + 1)]!;
}

function resultOf(cause: Cause, outcome: TestOutcome): CauseTestResult {
  const numbers = outcome.numbers ?? {};
  switch (outcome.outcome) {
    case 'holds':
      return { cause, outcome: 'holds', text: outcome.summary, numbers, capture: null };
    case 'fails':
      return { cause, outcome: 'fails', text: outcome.why, numbers, capture: null };
    case 'not_testable':
      return { cause, outcome: 'not_testable', text: outcome.needs, numbers, capture: outcome.capture };
  }
}
