/** The verdicts of a run as the store has them (`cause_test`, `verdict`), and in words how each came about. */

import { MbfError } from '../../model/errors.js';
import { groupBy } from '../../model/group-by.js';
import type {
  CauseTestResult,
  Contributor,
  Counterfactual,
  RuledOut,
  VerdictBasis,
  VerdictCapture,
} from '../../model/results/common.js';
import type { Cause, CauseDetail, Confidence } from '../../model/vocabulary.js';
import { loadLibrary } from '../../store/load-queries.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';
import { type CaptureId, capturesFor } from './captures.js';
import { capacity } from './causes/capacity.js';
import { externalPressure } from './causes/external-pressure.js';
import { fragmentation } from './causes/fragmentation.js';
import { graphPools } from './causes/graph-pools.js';
import { leak } from './causes/leak.js';
import { synchronisation } from './causes/synchronisation.js';
import type { Answer, CauseWords, Step } from './causes/words.js';
import type { EvidenceLog, OomFacts } from './facts.js';
import { writeReplays } from './write-replays.js';

const WORDS: Readonly<Partial<Record<Cause, CauseWords>>> = {
  external_pressure: externalPressure,
  synchronisation,
  graph_pools: graphPools,
  leak,
  capacity,
  fragmentation,
};

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

/** The rules of the view `verdict`, in the order they are applied. */
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

/** A failure's row of `verdict` and its rows of `cause_test`; these are empty where the kind of the line decides. */
export interface Judged
  extends Omit<QueryRow<'verdict.of_run'>, 'cause' | 'detail' | 'confidence' | 'basis' | 'capture'> {
  readonly basis: VerdictBasis;
  readonly cause: Cause;
  readonly detail: CauseDetail | null;
  readonly confidence: Confidence;
  readonly capture: CaptureId | null;
  readonly tests: readonly Answer[];
  readonly contributors: readonly Contributor[];
}

/** In the order of runs and of the numbers of the failures; null: of all runs. */
export async function readJudged(store: Store, runId: number | null): Promise<Judged[]> {
  const keyOf = (row: { readonly run_id: number; readonly failure: number }): string => `${row.run_id} ${row.failure}`;
  const tests = await store.all('verdict.tests', { run_id: runId });
  const answers = groupBy(tests, keyOf);
  const rows = await store.all('verdict.of_run', { run_id: runId });
  // Only a full device has several reasons; of another cause they would be read as its rivals.
  const isFull = rows.some(({ cause }) => cause === 'capacity');
  const contributors = groupBy(isFull ? await store.all('verdict.contributors', { run_id: runId }) : [], keyOf);
  return rows.map((row) => ({
    ...row,
    cause: row.cause as Cause,
    detail: row.detail as CauseDetail | null,
    confidence: row.confidence as Confidence,
    basis: row.basis as VerdictBasis,
    capture: row.capture as CaptureId | null,
    tests: (answers.get(keyOf(row)) ?? []).map(answerOf),
    contributors:
      row.cause === 'capacity'
        ? (contributors.get(keyOf(row)) ?? []).map(({ contributor, bytes }) => ({ contributor, bytes }))
        : [],
  }));
}

/**
 * The verdicts on the failures of a run. `counterfactuals`: the allocator model's answers on the first of them, which
 * are in a TEMP table for the questions of this connection.
 */
export async function judgeFailures(
  store: Store,
  runId: number,
  counterfactuals: readonly (Counterfactual | null)[],
): Promise<Judged[]> {
  const replayed = counterfactuals.flatMap((answer, failure) =>
    answer === null ? [] : [{ failure, counterfactual: answer }],
  );
  if (replayed.length > 0) {
    await store.shadow('oom_replay');
    await store.transaction(() => writeReplays(store, runId, replayed));
  }
  return readJudged(store, runId);
}

function answerOf(row: QueryRow<'verdict.tests'>): Answer {
  // The rows are stored, and a store may be a stranger's: what the view of the cause cannot answer is not ours.
  const view = loadLibrary().get(`cause_${row.cause}`);
  if (view?.statement.includes(`'${row.reason}'`) !== true)
    throw new MbfError(
      'MBF3004',
      `a test of ${JSON.stringify(row.cause)} has the reason ${JSON.stringify(row.reason)}, which this version does not know`,
    );
  const known = row.names
    .map((name, i) => [name, row.amounts[i] ?? null] as const)
    .filter(([, value]) => value !== null);
  return {
    cause: row.cause as Cause,
    outcome: row.outcome as Answer['outcome'],
    reason: row.reason,
    detail: row.detail as CauseDetail | null,
    confidence: row.confidence as Confidence | null,
    capture: row.capture as CaptureId | null,
    doubts: row.doubts,
    numbers: Object.fromEntries(known) as Record<string, number>,
  };
}

export interface Judgement {
  /** Of the test that holds. */
  readonly summary: string | null;
  readonly next: readonly (string | Step)[];
  readonly ruledOut: readonly RuledOut[];
  readonly missing: readonly string[];
  readonly tests: readonly CauseTestResult[];
  readonly captures: readonly VerdictCapture[];
  /** The rules that applied, with what lowered the confidence. */
  readonly combination: readonly string[];
}

/** Words for the tests of a failure; adds their evidence. */
export function describeTests(judged: Judged, facts: OomFacts, evidence: EvidenceLog): Judgement {
  const described = judged.tests.map((answer) => ({ answer, words: WORDS[answer.cause]!(answer, facts, evidence) }));
  const untested = described.filter(({ answer }) => answer.outcome === 'not_testable');
  const held = judged.basis === 'test' ? described.find(({ answer }) => answer.outcome === 'holds') : undefined;
  const combination = [ruleText('all_run')];
  if (held === undefined) combination.push(ruleText('none_holds'));
  else {
    const rule = RULE_OF_CAUSE[judged.cause];
    if (rule !== undefined) combination.push(ruleText(rule));
    if (judged.untested_rivals.length > 0)
      combination.push(`${ruleText('untested_rival')} Not tested: ${judged.untested_rivals.map(plain).join(', ')}.`);
    const against = described.filter(({ answer }) => answer.outcome === 'fails');
    const doubts = [held, ...against].flatMap(({ words }) => words.doubts ?? []);
    if (doubts.length > 0) combination.push(`${ruleText('contradiction')} Here: ${doubts.join('; ')}.`);
    if (judged.is_proven) combination.push(ruleText('proven'));
  }
  if (judged.basis === 'guide') combination.push(ruleText('rule_of_thumb'));
  return {
    summary: held?.words.text ?? null,
    next: held?.words.next ?? [],
    ruledOut: described.flatMap(({ answer, words }) =>
      answer.outcome === 'fails' ? [{ cause: answer.cause, why: words.text }] : [],
    ),
    missing: untested.map(({ answer, words }) => `${plain(answer.cause)}: needs ${words.text}`),
    tests: described.map(({ answer: { cause, outcome, reason, numbers, capture }, words }) => ({
      cause,
      outcome,
      reason,
      text: words.text,
      numbers,
      capture,
    })),
    captures: capturesFor(untested.map(({ answer }) => ({ cause: answer.cause, capture: answer.capture! }))),
    combination,
  };
}

function ruleText(id: RuleId): string {
  return COMBINATION_RULES.find((rule) => rule.id === id)!.text;
}

const plain = (cause: string): string => cause.replaceAll('_', ' ');
