/** Facts made by hand, judged by the views of a store. */

import { afterAll, beforeAll, expect } from 'vitest';
import { describeTests, type Judged } from '../../../src/derive/verdict/combine.js';
import { stepsOf } from '../../../src/derive/verdict/describe-answers.js';
import { EvidenceLog } from '../../../src/derive/verdict/facts.js';
import { BLANK } from '../../../src/derive/verdict/judge-message.js';
import { insertReplays } from '../../../src/derive/verdict/write-replays.js';
import type { VerdictResult } from '../../../src/model/results/common.js';
import { statement } from '../../../src/model/statement.js';
import { CAUSE_DETAILS, type Cause, type CauseDetail, type Confidence } from '../../../src/model/vocabulary.js';
import { wordVerdict } from '../../../src/report/verdict/word-verdict.js';
import { openScratch } from '../../../src/store/open-store.js';
import type { Store } from '../../../src/store/store.js';
import type { OomFacts } from './hand-facts.js';
import { type FailureInput, judgeSeparately, readOf } from './hand-rows.js';

export interface Outcome
  extends Pick<VerdictResult, 'tests' | 'missing' | 'ruled_out' | 'captures' | 'combination' | 'evidence'> {
  /** The rows of the views. */
  readonly judged: Judged;
  /** The test that is the verdict; null: another rule decides, or none. */
  readonly holds: {
    readonly cause: Cause;
    readonly detail: CauseDetail | null;
    readonly confidence: Confidence;
    readonly summary: string;
    readonly next: readonly string[];
    readonly numbers: Readonly<Record<string, number>>;
  } | null;
  readonly cause: Cause | null;
  readonly detail: CauseDetail | null;
  readonly ruledOutCauses: readonly Cause[];
}

/** In the order in which they are asked. */
export const CAUSE_ORDER: readonly Cause[] = [
  ...(['external_pressure', 'synchronisation', 'graph_pools', 'leak', 'capacity', 'fragmentation'] as const),
];

type Judge = <const All extends readonly (OomFacts | FailureInput)[]>(
  ...all: All
) => Promise<{ readonly [Place in keyof All]: Outcome }>;

/**
 * Opens a store for the tests of the file. DuckDB plans the views longer than it runs them, so that what concurrent
 * tests ask is judged together.
 */
export function judging(): { readonly judge: Judge; readonly scratch: () => Store } {
  let store: Store;
  let waiting: FailureInput[] = [];
  let batch: Promise<Judged[]> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  beforeAll(async () => {
    store = await openScratch();
  });
  afterAll(() => store.close());
  const nextBatch = async (): Promise<Judged[]> => {
    await last;
    await new Promise((resolve) => setTimeout(resolve, 1));
    const all = waiting;
    [waiting, batch] = [[], undefined];
    return judgeEach(store, all);
  };
  const judge = async (...all: readonly (OomFacts | FailureInput)[]): Promise<Outcome[]> => {
    const inputs = all.map((input): FailureInput => ('facts' in input ? input : { facts: input }));
    const first = waiting.length;
    waiting.push(...inputs);
    if (batch === undefined) {
      batch = nextBatch();
      last = batch.catch(() => undefined);
    }
    const judged = await batch;
    return inputs.map((input, i) => outcomeOf(input, judged[first + i]!));
  };
  return { judge: judge as unknown as Judge, scratch: () => store };
}

async function judgeEach(store: Store, inputs: readonly FailureInput[]): Promise<Judged[]> {
  await store.run('DELETE FROM oom_replay');
  for (const [run, { counterfactual }] of inputs.entries())
    if (counterfactual !== undefined) await insertReplays(store, run, [{ failure: 0, counterfactual }]);
  return judgeSeparately(store, inputs);
}

/** Checks every answer: a detail belongs to its cause, every test has one outcome, a verdict has its evidence. */
function outcomeOf({ facts, kind, counterfactual }: FailureInput, judged: Judged): Outcome {
  const log = new EvidenceLog();
  const { held, steps, ...described } = describeTests(judged, readOf(facts), log);
  const { cause, detail, confidence } = judged;
  const judgement = wordVerdict({
    ...BLANK,
    ...described,
    ...{ rank: 0, device: 0, cause, detail, confidence },
    summary: held === undefined ? statement('silent') : null,
    evidence: log.entries,
    steps: stepsOf(steps),
  });
  if (detail !== null) expect(CAUSE_DETAILS[detail]).toBe(judged.cause);
  if (kind === undefined && counterfactual === undefined) expect(confidence).not.toBe('proven');
  const test =
    judged.basis === 'test' ? judgement.tests.find((one) => one.outcome === 'holds' && one.cause === cause) : undefined;
  expect(held?.cause).toBe(test?.cause);
  if (test !== undefined) {
    expect(test.cause).toBe(judged.cause);
    expect(log.entries.length).toBeGreaterThan(0);
    expect(judgement.summary).not.toBe('');
    expect(judgement.next.length).toBeGreaterThan(0);
  }
  const ruledOutCauses = judgement.ruled_out.map((item) => item.cause);
  expect(ruledOutCauses).not.toContain(test?.cause);
  if (kind === undefined) expect(judgement.tests.map(({ cause }) => cause)).toEqual(CAUSE_ORDER);
  const count = (of: string): number => judgement.tests.filter(({ outcome }) => outcome === of).length;
  expect([count('fails'), count('not_testable')]).toEqual([judgement.ruled_out.length, judgement.missing.length]);
  const { summary, next } = judgement;
  return {
    ...judgement,
    judged,
    holds: test === undefined ? null : { cause: test.cause, detail, confidence, summary, next, numbers: test.numbers },
    cause: test?.cause ?? null,
    detail: test === undefined ? null : detail,
    ruledOutCauses,
  };
}

/** The row and the words of one test. */
export function testOf({ judged, tests }: Outcome, cause: Cause) {
  const row = judged.tests.find((answer) => answer.cause === cause)!;
  return { ...row, text: tests.find((test) => test.cause === cause)!.text };
}
