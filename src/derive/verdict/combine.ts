/** The verdicts of a run by the rules (`cause_test`, `rule_verdict`), and how each came about. */

import { groupBy } from '../../model/group-by.js';
import { type Statement, statement } from '../../model/statement.js';
import type {
  AppliedRule,
  Capture,
  CaptureId,
  CauseTest,
  Contributor,
  StepKind,
  Verdict,
  VerdictBasis,
} from '../../model/verdict.js';
import type { Cause, CauseDetail, Confidence } from '../../model/vocabulary.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';
import { type Answer, describeAnswer, type StepDraft } from './describe-answers.js';
import type { EvidenceLog, OomFacts } from './facts.js';

type Rule = QueryRow<'verdict.of_run'>;

/** A failure's row of `rule_verdict` and its rows of `cause_test`; none of these where the kind of the line decides. */
export interface Judged extends Omit<Rule, 'cause' | 'detail' | 'confidence' | 'basis' | 'capture'> {
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
  return withTests(store, { run_id: runId, failures: null }, await store.all('verdict.of_run', { run_id: runId }));
}

/** A verdict that is described, by its row of the table `verdict`. */
export interface Arranged extends Judged {
  /** As printed, from 1. */
  readonly number: number;
  /** Of the failure whose evidence shows another cause. */
  readonly contradiction: { readonly rank: number | null; readonly cause: Cause } | null;
}

/** In the order of their numbers. */
export async function readArranged(store: Store, runId: number): Promise<Arranged[]> {
  const rows = await store.all('verdict.judged', { run_id: runId });
  const rules = rows.map((row): Rule => ({ ...row, failure: row.failure!, basis: row.basis!, reason: row.reason! }));
  const judged = await withTests(store, { run_id: runId, failures: numbersOf(rules) }, rules);
  return judged.map((one, i) => {
    const { number, contradicting_rank: rank, contradicting_cause: cause } = rows[i]!;
    return { ...one, number, contradiction: cause === null ? null : { rank, cause: cause as Cause } };
  });
}

/** As queries take them. */
export const numbersOf = (failures: readonly { readonly failure: number }[]): string =>
  failures.map(({ failure }) => failure).join(',');

async function withTests(
  store: Store,
  asked: { readonly run_id: number | null; readonly failures: string | null },
  rows: readonly Rule[],
): Promise<Judged[]> {
  if (rows.length === 0) return [];
  const keyOf = (row: { readonly run_id: number; readonly failure: number }): string => `${row.run_id} ${row.failure}`;
  const answers = groupBy(await store.all('verdict.tests', asked), keyOf);
  const contributors = groupBy(await store.all('verdict.contributors', asked), keyOf);
  return rows.map((row) => ({
    ...row,
    cause: row.cause as Cause,
    detail: row.detail as CauseDetail | null,
    confidence: row.confidence as Confidence,
    basis: row.basis as VerdictBasis,
    capture: row.capture as CaptureId | null,
    tests: (answers.get(keyOf(row)) ?? []).map(answerOf),
    contributors: (contributors.get(keyOf(row)) ?? []).map(({ run_id: _, failure: __, ...part }) => part),
  }));
}

function answerOf(row: QueryRow<'verdict.tests'>): Answer {
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

export interface Judgement extends Pick<Verdict, 'tests' | 'captures' | 'rules'> {
  /** The test that is the verdict; undefined where another rule decides, or none. */
  readonly held: CauseTest | undefined;
  /** Of that test. */
  readonly steps: readonly StepDraft[];
}

/** The tests of a failure and the rules that applied; adds their evidence. */
export function describeTests(judged: Judged, facts: OomFacts, evidence: EvidenceLog): Judgement {
  const described = judged.tests.map(({ detail: _, confidence: __, ...answer }, i) => {
    const { details, steps } = describeAnswer(judged.tests[i]!, facts, evidence);
    return { test: { ...answer, details: { numbers: {}, names: {}, ...details } }, steps };
  });
  const tests = described.map(({ test }) => test);
  const untested = tests.filter(({ outcome }) => outcome === 'not_testable');
  const held = judged.basis === 'test' ? described.find(({ test }) => test.cause === judged.cause) : undefined;
  return {
    held: held?.test,
    steps: held === undefined ? [] : stepsOfParts(held, described),
    tests,
    captures: capturesFor(untested.map(({ cause, capture }) => ({ cause, capture: capture! }))),
    rules: rulesOf(judged, held?.test, tests),
  };
}

/** Settings: they cost no throughput. */
const FREE: ReadonlySet<StepKind> = new Set([
  'expandable_segments',
  'raise_fraction',
  'raise_max_split',
  'lower_oversize_rounding',
  'set_device',
]);

/**
 * The steps of the verdict, then those of other parts that would have served as well; what costs nothing comes first,
 * so that the first step does not depend on which of them leaves most. A full device and a leak are not such parts.
 */
function stepsOfParts(
  held: { readonly test: CauseTest; readonly steps: readonly StepDraft[] },
  described: readonly { readonly test: CauseTest; readonly steps: readonly StepDraft[] }[],
): readonly StepDraft[] {
  if (held.test.numbers['left_bytes'] === undefined) return held.steps;
  const serving = described.filter((one) => one !== held && one.test.numbers['left_bytes'] !== undefined);
  const all = [held, ...serving.filter(({ test }) => test.outcome === 'holds')].flatMap(({ steps }) => steps);
  const isFree = (draft: StepDraft): boolean => FREE.has(typeof draft === 'string' ? draft : draft.kind);
  return [...all.filter(isFree), ...all.filter((draft) => !isFree(draft))];
}

/** What lowered the confidence is in `items`: the causes that were not tested, the doubts of tests. */
function rulesOf(
  judged: Judged,
  held: CauseTest | undefined,
  tests: readonly CauseTest[],
): readonly Statement<AppliedRule>[] {
  const rules = [statement<AppliedRule>('all_run')];
  const apply = (rule: AppliedRule, names: readonly string[] = []): void =>
    void rules.push(statement(rule, { items: names.map((name) => ({ name, numbers: {} })) }));
  if (held === undefined) apply('none_holds');
  else {
    apply(judged.cause === 'leak' ? 'leak_before_capacity' : 'leaves_most');
    if (judged.untested_rivals.length > 0) apply('untested_rival', judged.untested_rivals);
    const doubted = [held, ...tests.filter(({ outcome }) => outcome === 'fails')];
    const doubts = doubted.filter((test) => test.doubts.length > 0).map(({ cause }) => cause);
    if (doubts.length > 0) apply('contradiction', doubts);
    if (judged.is_proven) apply('proven');
  }
  if (judged.basis === 'guide') apply('rule_of_thumb');
  return rules;
}

/** The captures that tests asked for, each once, with the causes it settles. */
export function capturesFor(wanted: readonly { readonly cause: Cause; readonly capture: CaptureId }[]): Capture[] {
  const causes = new Map<CaptureId, Set<Cause>>();
  for (const { cause, capture } of wanted) {
    const settled = causes.get(capture);
    if (settled === undefined) causes.set(capture, new Set([cause]));
    else settled.add(cause);
  }
  return [...causes].map(([id, settles]) => ({ id, settles: [...settles] }));
}
