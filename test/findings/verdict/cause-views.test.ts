/** What the views of causes can answer: their words, their vocabulary, and the columns they promise. */
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { describeTests, type Judged } from '../../../src/derive/verdict/combine.js';
import { stepsOf } from '../../../src/derive/verdict/describe-answers.js';
import { EvidenceLog } from '../../../src/derive/verdict/facts.js';
import { describeReason } from '../../../src/derive/verdict/judge-message.js';
import { statement } from '../../../src/model/statement.js';
import { GIB } from '../../../src/model/units.js';
import type { CaptureId } from '../../../src/model/verdict.js';
import type { Cause, CauseDetail, IncidentKind } from '../../../src/model/vocabulary.js';
import { CAUSE_DETAILS, CAUSES, CONFIDENCES, INCIDENT_KINDS, isOomKind } from '../../../src/model/vocabulary.js';
import { summaryText, testText } from '../../../src/report/verdict/cause-words.js';
import { evidenceText } from '../../../src/report/verdict/evidence-words.js';
import { stepText } from '../../../src/report/verdict/step-words.js';
import { captureWords } from '../../../src/report/verdict/word-verdict.js';
import { libraryObjects } from '../../../src/store/install-library.js';
import { SEED } from '../../support/level.js';
import { anyFacts } from './any-facts.js';
import { exact, messageFacts, runSideOf, tracedFacts, traceOf } from './facts.js';
import type { OomFacts } from './hand-facts.js';
import { judgeSeparately, readOf } from './hand-rows.js';
import { CAUSE_ORDER, judging } from './judging.js';

const { judge, scratch } = judging();

interface PossibleAnswer {
  readonly cause: Cause;
  readonly reason: string;
  readonly outcome: 'holds' | 'fails' | 'not_testable';
  readonly detail: CauseDetail | null;
  readonly capture: CaptureId | null;
}

const CAPTURE_IDS = Object.keys(captureWords());

const viewOf = (name: string) => libraryObjects().find((object) => object.name === `library.${name}`)!;

let answers: readonly PossibleAnswer[];

beforeAll(async () => {
  answers = (await scratch().select('FROM cause_reason')) as unknown as PossibleAnswer[];
});

/** Facts with every figure that the words may contain. */
const DETAILED = tracedFacts({
  roundingWaste: exact(GIB),
  allowed: exact(60 * GIB),
  trace: traceOf({
    keeping: [{ site: 'a.py:1', bytes: 15 * GIB, blocks: 5, steps: 4, bytesPerStep: 3 * GIB }],
    activity: 'checkpoint_save',
    wholeStep: { outcome: 'beyond', peakBytes: 83 * GIB, limitBytes: 78 * GIB, alikeShare: 1 },
  }),
  run: runSideOf({
    ownStage: { stage: 0, rank: 0, bytes: 70 * GIB },
    otherStages: [{ stage: 1, rank: 4, bytes: 50 * GIB }],
    highestBytes: 60 * GIB,
    early: {
      ...{ firstIteration: 1, secondIteration: 2, bytesPerIteration: GIB, peakBytes: 60 * GIB, lastIteration: 8 },
      source: { path: 'a line' },
    },
    nccl: [{ ...statement('nccl_failure'), source: { path: 'a line' } }],
  }),
  growth: {
    ...{ samples: 10, firstIteration: 2, lastIteration: 11, firstBytes: 40 * GIB, lastBytes: 44 * GIB },
    ...{ bytesPerIteration: GIB, r2: 0.99, source: { path: 'a log' } },
  },
  driver: { outside: [{ owner: 'nccl', bytes: GIB }], moment: 'oom', source: { path: 'a profile' } },
  bystanders: {
    ...{ failedAlone: true, ranks: 15, mostReservedBytes: 74 * GIB, ownReservedBytes: 74 * GIB },
    hasEnvironment: true,
  },
});
/** Every number that a view of the library names. */
const ANY_NUMBER = Object.fromEntries(
  libraryObjects().flatMap(({ statement: sql }) => [...sql.matchAll(/'(\w+)'/g)].map(([, name]) => [name!, GIB])),
);

describe('an answer', () => {
  it('has words, and advice where it holds', () => {
    for (const { cause, reason, outcome, detail, capture } of answers) {
      const answer = { cause, reason, outcome, detail, capture, confidence: null, doubts: [], numbers: ANY_NUMBER };
      const judged = {
        ...{ cause, detail, reason, capture: null, confidence: 'high', basis: 'test', failure: 0, run_id: 0 },
        ...{ tests: [answer], untested_rivals: [], doubts: [], is_proven: false, contributors: [] },
        ...{ contradicted_by: null, replay_status: null },
      };
      const evidence = new EvidenceLog();
      const { tests, held, steps } = describeTests(judged as unknown as Judged, readOf(DETAILED), evidence);
      expect(testText(tests[0]!), `${cause} ${reason}`).toMatch(/^\S.*\S$/);
      if (outcome !== 'holds') continue;
      expect(held, `${cause} ${reason}`).toBe(tests[0]);
      expect(steps.length, `${cause} ${reason}`).toBeGreaterThan(0);
      for (const one of stepsOf(steps)) expect(stepText(one), one.kind).toMatch(/^\S.*\S$/);
      for (const entry of evidence.entries) expect(evidenceText(entry), entry.kind).toMatch(/^\S.*\S$/);
      expect(evidence.entries.length, `${cause} ${reason}`).toBeGreaterThan(0);
    }
  });

  it('is of the vocabulary', () => {
    for (const { cause, reason, outcome, detail, capture } of answers) {
      expect(['holds', 'fails', 'not_testable'], `${cause} ${reason}`).toContain(outcome);
      if (detail !== null) expect([outcome, CAUSE_DETAILS[detail]], `${cause} ${reason}`).toEqual(['holds', cause]);
      if (outcome === 'not_testable') expect(CAPTURE_IDS, `${cause} ${reason}`).toContain(capture);
      else expect(capture, `${cause} ${reason}`).toBeNull();
    }
    expect(new Set(answers.map(({ cause, reason }) => `${cause} ${reason}`)).size).toBe(answers.length);
    for (const { cause, reason } of answers) expect(viewOf(`cause_${cause}`).statement).toContain(`'${reason}'`);
  });

  it('of each cause is one of three', () => {
    for (const cause of CAUSE_ORDER)
      expect(new Set(answers.filter((answer) => answer.cause === cause).map(({ outcome }) => outcome)).size).toBe(3);
  });
});

describe('the rules between causes', () => {
  it('are one row for each, whose rivals go before it', async () => {
    const rules = await scratch().select('FROM cause_rule ORDER BY place');
    expect(rules.map(({ cause }) => cause)).toEqual(CAUSE_ORDER);
    expect(rules.map(({ place }) => place)).toEqual(rules.map((_, i) => i + 1));
    for (const [i, { cause, rivals }] of rules.entries()) {
      expect(CAUSES).toContain(cause);
      for (const rival of rivals as Cause[]) expect(CAUSE_ORDER.slice(0, i)).toContain(rival);
    }
  });
});

interface KindRow {
  readonly kind: IncidentKind;
  readonly place: number;
  readonly pattern: string | null;
  readonly reason: string;
  readonly cause: Cause;
  readonly detail: CauseDetail | null;
  readonly confidence: string;
  readonly capture: string | null;
  readonly is_fallback: boolean;
  readonly needs_cause: boolean;
}

describe('verdicts from the kind of a line alone', () => {
  let rows: readonly KindRow[];
  beforeAll(async () => {
    rows = (await scratch().select('FROM kind_verdict ORDER BY kind, place')) as unknown as KindRow[];
  });
  const of = (kind: IncidentKind): KindRow => rows.findLast((row) => row.kind === kind)!;

  it('exist for every kind other than a device OOM, with the cause not_oom where the line shows that', () => {
    const unknown = new Set<IncidentKind>(['killed', 'nccl_unknown', 'cudnn_unknown', 'dataloader_worker_killed']);
    for (const kind of ['illegal_access_near_oom', 'negative_text', 'other'] as const) unknown.add(kind);
    for (const kind of INCIDENT_KINDS)
      if (!isOomKind(kind)) expect(of(kind)?.cause, kind).toBe(unknown.has(kind) ? 'undecided' : 'not_oom');
  });

  it('are sure of nothing where another rank may have run out of memory', () => {
    for (const kind of ['timeout', 'connection_lost'] as const) expect(of(kind).confidence).toBe('low');
    for (const { cause, confidence } of rows) if (cause === 'undecided') expect(confidence).toBe('low');
  });

  it('leave lines with figures to their figures', () => {
    const without = INCIDENT_KINDS.filter((kind) => rows.every((row) => row.kind !== kind));
    expect(without).toEqual(['cuda_oom', 'hip_oom', 'xpu_oom', 'npu_oom', 'mps_oom']);
    const fallbacks = rows.filter((row) => row.is_fallback).map(({ kind }) => kind);
    expect(fallbacks).toEqual(['cuda_oom_graph_capture']);
  });

  it('are of the vocabulary, and have words', () => {
    for (const { kind, reason, cause, detail, confidence, capture } of rows) {
      expect(INCIDENT_KINDS).toContain(kind);
      expect(CAUSES).toContain(cause);
      expect(CONFIDENCES).toContain(confidence);
      if (detail !== null) expect(CAUSE_DETAILS[detail]).toBe(cause);
      if (capture !== null) expect(CAPTURE_IDS).toContain(capture);
      const summary = { kind: 'reason', names: { reason }, numbers: {} } as const;
      expect(summaryText({ summary, tests: [], cause }), kind).not.toBe('');
      for (const one of describeReason(reason).steps) expect(stepText(one), kind).not.toBe('');
    }
    for (const reason of ['expandable_on', 'failed_alone', 'no_test_holds'])
      expect(describeReason(reason).steps.length).toBeGreaterThan(0);
  });

  it('end in a row without a pattern', () => {
    for (const kind of new Set(rows.map((row) => row.kind))) {
      const ofKind = rows.filter((row) => row.kind === kind);
      expect(ofKind.map(({ place }) => place)).toEqual(ofKind.map((_, i) => i + 1));
      expect(ofKind.map(({ pattern, needs_cause: needsCause }) => pattern === null && !needsCause)).toEqual(
        ofKind.map((_, i) => i === ofKind.length - 1),
      );
    }
  });

  it('decide nothing from bare driver and library lines', () => {
    for (const kind of ['cuda_oom_driver', 'cublas', 'cudnn', 'nvml_assert_in_oom_path'] as const) {
      expect(of(kind)).toMatchObject({ cause: 'undecided', confidence: 'low' });
      expect(describeReason(of(kind).reason).missing).toHaveLength(1);
    }
  });

  it('are host OOMs for host, shared memory and killed workers', () => {
    const kinds = ['host_oom', 'shm_oom', 'nccl_oom', 'kv_cache_budget'] as const;
    const expected = ['host_oom null', 'host_oom shm', 'external_pressure nccl', 'capacity kv_cache_budget'];
    expect(kinds.map(of).map(({ cause, detail }) => `${cause} ${detail}`)).toEqual(expected);
  });

  it('are the answer where no figures are: tests do not run, or hold before a fallback', async () => {
    const bare: Partial<OomFacts> = { reserved: null, allocated: null, deviceFree: null, total: null };
    const [nccl, captured, full] = await judge(
      { facts: messageFacts(), kind: 'nccl_oom', text: 'ncclUnhandledCudaError' },
      { facts: messageFacts(bare), kind: 'cuda_oom_graph_capture', text: 'during capture' },
      { facts: messageFacts(), kind: 'cuda_oom_graph_capture', text: 'during capture' },
    );
    expect(nccl.judged).toMatchObject({ cause: 'external_pressure', detail: 'nccl', basis: 'kind', tests: [] });
    expect(captured.judged).toMatchObject({ cause: 'graph_pools', confidence: 'low', basis: 'kind' });
    expect(captured.judged.capture).toBe('snapshot_at_oom');
    expect(captured.judged.tests).toHaveLength(CAUSE_ORDER.length);
    expect(full.judged).toMatchObject({ cause: 'capacity', basis: 'test', capture: null });
  });
});

describe('the columns', () => {
  it('are NULL only where their header allows it', async () => {
    const samples = fc.sample(anyFacts, { numRuns: 400, seed: SEED });
    const kinds = [undefined, 'cuda_oom', 'nccl_oom', 'cuda_oom_graph_capture'] as const;
    await judgeSeparately(
      scratch(),
      samples.map((facts, i) => ({ facts, kind: kinds[i % kinds.length], text: 'a line' })),
    );
    const views = [
      'oom_sum',
      'oom_part',
      'normal_outside',
      'cause_test',
      'cause_rule',
      'cause_reason',
      'cause_threshold',
      'kind_verdict',
    ];
    views.push('rule_verdict');
    for (const view of [...views, ...CAUSE_ORDER.map((cause) => `cause_${cause}`)]) {
      const { columns } = viewOf(view);
      const counts = columns.map(({ name }) => `count(*) FILTER (${name} IS NULL) AS ${name}`);
      const [row] = await scratch().select(`SELECT count(*) AS all_rows, ${counts.join(', ')} FROM ${view}`);
      expect(Number(row!['all_rows']), view).toBeGreaterThan(0);
      for (const { name, nullable } of columns) if (!nullable) expect(Number(row![name]), `${view}.${name}`).toBe(0);
    }
  });
});
