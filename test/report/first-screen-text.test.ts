/**
 * The first screen as a pure function: whatever texts, numbers and ranks it is given, it fits, and what it shows adds
 * up.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LAUNCH_ENDINGS } from '../../src/model/launch-end.js';
import { COSTS_BY, SAVINGS_BY } from '../../src/model/results/advise.js';
import type {
  AccountingPart,
  DiagnoseResult,
  EvidenceResult as Evidence,
  RanksResult,
  VerdictResult as Verdict,
} from '../../src/model/results/common.js';
import type { WhatIfSetting } from '../../src/model/results/replay.js';
import { statement } from '../../src/model/statement.js';
import { GIB } from '../../src/model/units.js';
import { CAUSES, COMPONENTS, CONFIDENCES } from '../../src/model/vocabulary.js';
import { withTarget } from '../../src/report/start/diagnosis-parts.js';
import { diagnoseText, expectScreen } from '../support/screen.js';

const word = fc.oneof(
  fc.string({ minLength: 1, maxLength: 12 }),
  fc.constantFrom(
    '1.59 GiB',
    '(8,930,721,792 bytes)',
    'and',
    'of',
    'a/very/long/path/'.repeat(12),
    'x'.repeat(300),
    'tab\there\n',
  ),
);
const prose = fc.array(word, { minLength: 1, maxLength: 60 }).map((words) => words.join(' '));
const bytes = fc.integer({ min: 1, max: 100 * GIB });
const PARTS = [
  'allocated',
  'pending_free',
  'cached_too_small',
  'cached_page_pinned',
  'outside_pytorch_this_process',
  'device_free',
];

const account = fc.array(bytes, { minLength: 1, maxLength: PARTS.length }).map((values) => {
  const parts: AccountingPart[] = values.map((value, i) => ({
    part: PARTS[i]!,
    bytes: value,
    source: 'train.log line 3',
  }));
  const total = values.reduce((a, b) => a + b, 0);
  return { total: { kind: 'total' as const, text: 'device total', bytes: total, source: 'train.log line 3' }, parts };
});

const KIND_OF_TOPIC = {
  request: 'request',
  message: 'message',
  context: 'expandable_segments',
  test: 'limit_exceeded',
  replay: 'replay',
} as const;

const evidence = fc
  .array(fc.record({ text: prose, about: fc.constantFrom('request', 'message', 'context', 'test', 'replay') }), {
    maxLength: 30,
  })
  .map((entries): Evidence[] =>
    entries.map(({ text, about }, i) => ({
      id: `E${i + 1}`,
      ...statement(KIND_OF_TOPIC[about as keyof typeof KIND_OF_TOPIC], {
        numbers: { requested_bytes: GIB },
        names: { site: text },
      }),
      place: { path: 'train.log', line: 3 },
      text,
      source: 'train.log line 3',
      about: about as NonNullable<Evidence['about']>,
    })),
  );

const whatIf: fc.Arbitrary<WhatIfSetting> = fc.record({
  setting: fc.constantFrom('recorded', 'expandable_segments:True', 'expandable_segments:False'),
  capacity_bytes: fc.option(bytes),
  outcome: fc.constantFrom('fits' as const, 'same_oom' as const, 'earlier_oom' as const, 'later_oom' as const),
  peak_reserved_bytes: bytes,
  peak_reserved_least_bytes: bytes,
  peak_reserved_most_bytes: bytes,
  peak_active_bytes: bytes,
  headroom_bytes: fc.option(bytes),
  driver_calls: fc.nat(1_000_000),
  bound: fc.constantFrom('exact' as const, 'optimistic' as const, 'pessimistic' as const),
  unused_at_peak_bytes: bytes,
  retries: fc.nat(100),
  short_bytes: fc.option(bytes),
  oom_seq: fc.option(fc.nat(10_000_000)),
  robust: fc.boolean(),
  note: fc.option(prose),
});

const verdict: fc.Arbitrary<Verdict> = fc
  .record({
    also: fc.array(fc.record({ number: fc.nat(), rank: fc.option(fc.nat(100_000)), device: fc.option(fc.nat(15)) }), {
      maxLength: 3,
    }),
    rank: fc.option(fc.nat(100_000)),
    device: fc.option(fc.nat(15)),
    cause: fc.constantFrom(...CAUSES),
    detail: fc.constantFrom(null, 'split_remainder' as const),
    confidence: fc.constantFrom(...CONFIDENCES),
    basis: fc.constantFrom(null, 'test' as const, 'kind' as const, 'guide' as const, 'none' as const),
    reason: fc.constantFrom(null, 'full'),
    contributors: fc
      .subarray(['other_processes', 'outside_pytorch', 'pending_free', 'private_pools_free', 'cached'])
      .chain((names) =>
        fc.tuple(
          ...names.map((contributor) =>
            bytes.map((size) => ({ contributor, bytes: size, serves: null, left_bytes: null })),
          ),
        ),
      ),
    summary: prose,
    tests: fc.constantFrom(
      [],
      [
        {
          cause: 'capacity' as const,
          outcome: 'fails' as const,
          reason: 'fits',
          text: 'it fits',
          numbers: {},
          capture: null,
        },
        {
          cause: 'leak' as const,
          outcome: 'not_testable' as const,
          reason: 'lines_missing',
          text: 'steps',
          numbers: {},
          capture: 'memory_each_iteration',
        },
      ],
    ),
    captures: fc.constant([]),
    combination: fc.array(prose, { maxLength: 6 }),
    replay: fc.option(
      fc.record({
        status: fc.constantFrom('exact' as const, 'approximate' as const, 'refused' as const),
        reason: prose,
        address_matches: fc.nat(10_000_000),
        address_total: fc.nat(10_000_000),
        repeats_oom: fc.boolean(),
        layout_short_bytes: fc.option(bytes),
        least_capacity_bytes: fc.option(bytes),
      }),
    ),
    what_if: fc.array(whatIf, { maxLength: 4 }),
    evidence,
    ruled_out: fc.array(fc.record({ cause: fc.constantFrom(...CAUSES), why: prose }), { maxLength: 6 }),
    missing: fc.array(prose, { maxLength: 12 }),
    components: fc.option(
      fc.array(fc.record({ component: fc.constantFrom(...COMPONENTS), bytes }), { maxLength: 18 }).map((parts) => ({
        moment: 'oom' as const,
        total_bytes: parts.reduce((sum, part) => sum + part.bytes, 0),
        parts,
      })),
    ),
    accounting_total: account.map(({ total }) => total),
    accounting: fc.constant([]),
    accounting_from: fc.constant('joined' as const),
    accounting_peak: account.map(({ total, parts }) => ({
      moment: 'peak' as const,
      seq: 3,
      total,
      parts,
      from: 'joined' as const,
    })),
    hint: fc.option(prose.map((text) => ({ verdict: 'applies' as const, text, source: 'train.log line 3' }))),
    next: fc.array(prose, { maxLength: 6 }),
    commands: fc.constant(['mbforensics show E1', 'mbforensics state --at oom night-shift/3/snapshot#1']),
    request: fc.constant(null),
  })
  .chain((one) =>
    account.map(({ total, parts }) => ({
      ...one,
      steps: one.next.map(() => ({ ...statement('lower_live' as const), status: 'open' as const, because: null })),
      accounting_total: total,
      accounting: parts,
    })),
  );

const ranks: fc.Arbitrary<RanksResult | null> = fc.option(
  fc.nat(40).map((stages): RanksResult => {
    const spread = { ranks: 8, least: GIB, median: 2 * GIB, most: 3 * GIB, most_rank: 7 };
    return {
      world_size: 8 * (stages + 1),
      layout_origin: null,
      stages: Array.from({ length: stages + 1 }, (_, pp) => ({
        pp,
        ranks: Array.from({ length: 8 }, (__, i) => 8 * pp + i),
        peak_allocated_bytes: spread,
        peak_reserved_bytes: spread,
      })),
      fragmentation: {
        from: 'log',
        failed: { rank: 3, reserved_bytes: 9 * GIB, active_bytes: GIB, gap_bytes: 8 * GIB, moment: 'lines' },
        others: spread,
        only_failed: true,
      },
      pinning: { ranks: [1, 2], sites: [{ site: 'f '.repeat(90), ranks: 2, segments: 8, bytes: GIB }] },
      snapshots_left_out: stages,
    };
  }),
);

const result: fc.Arbitrary<DiagnoseResult> = fc.record({
  schema: fc.constant('mbforensics/diagnose@1' as const),
  run: prose,
  verdicts: fc.array(verdict, { maxLength: 40 }),
  first_failure: fc.constant(null),
  launches: fc.array(
    fc.record({
      attempt: fc.integer({ min: 1, max: 99 }),
      ending: fc.constantFrom(...LAUNCH_ENDINGS),
      ending_kind: fc.constant(null),
      ending_file: fc.constant('log'),
      ending_line: fc.option(fc.nat()),
      ending_rank: fc.constant(null),
      ending_host: fc.constant(null),
    }),
    { maxLength: 12 },
  ),
  judged_launch: fc.constant(1),
  launch_ooms: fc.constant([]),
  messages_dropped: fc.option(fc.nat(), { nil: 0 }),
  run_state: fc.constant(null),
  caught_ooms: fc.constant(null),
  ranks,
  advice: fc.option(
    fc.record({
      plan: fc.option(fc.array(fc.constantFrom('pp-8', 'recompute-mlp'), { maxLength: 3 })),
      actions: fc.array(
        fc.record({ step: fc.constant(null), fixes: fc.array(fc.constant('expandable-segments'), { maxLength: 3 }) }),
        { maxLength: 3 },
      ),
      fixes: fc.array(
        fc.record({
          id: fc.constantFrom('expandable-segments', 'pp-8-more-gpus', 'optimizer-offload-100'),
          title: prose,
          saving_by: fc.option(fc.constantFrom(...SAVINGS_BY)),
          cost_by: fc.option(fc.constantFrom(...COSTS_BY)),
          cost_on: fc.option(prose),
          status: fc.constantFrom('recommended', 'possible', 'conditional', 'forbidden'),
          saving_bytes: fc.option(fc.nat()),
          cost_percent: fc.option(fc.double({ min: -5, max: 90, noNaN: true })),
          closes: fc.option(fc.boolean()),
          requires: fc.constant([]),
          paste: fc.constant({ sbatch: [], megatron_bridge: [], megatron_lm: [], nemo: [], trainer: [], python: [] }),
          forbidden_by: fc.option(fc.constant('offload-pp')),
        }),
        { maxLength: 20 },
      ),
      paste_forms: fc.constant(['sbatch', 'megatron_lm'] as const),
      non_fixes: fc.array(fc.constantFrom('vpp', 'recompute-layernorm'), { maxLength: 3 }),
    }),
  ),
  pinned_host_memory: fc.option(
    fc.record({
      rank: fc.option(fc.nat()),
      blocks: fc.nat(),
      total_bytes: fc.nat(),
      active_bytes: fc.nat(),
      site: fc.option(prose),
      site_bytes: fc.option(fc.nat()),
    }),
  ),
  read_formats: fc.subarray(['config', 'log', 'nsys', 'torch-snapshot', 'wandb']),
  failed_sources: fc.array(
    prose.map((text) => ({ path: text, error: { code: 'MBF2101', text, remedy: '', offset: null } })),
    { maxLength: 50 },
  ),
});

describe('the first screen', () => {
  it('fits whatever it is given', () => {
    fc.assert(
      fc.property(result, fc.option(prose), (one, operand) => {
        expectScreen(one, { operands: operand === null ? [] : [operand] });
      }),
      { numRuns: 300 },
    );
  });

  it('shows commands whole, however long they are', () => {
    const [one] = fc.sample(verdict, { numRuns: 1, seed: 3 });
    const of = (operand: string): string =>
      diagnoseText(
        {
          schema: 'mbforensics/diagnose@1',
          run: 'r',
          verdicts: [one!],
          first_failure: null,
          launches: [],
          judged_launch: 1,
          launch_ooms: [],
          run_state: null,
          caught_ooms: null,
          messages_dropped: 0,
          ranks: null,
          read_formats: [],
          failed_sources: [],
          advice: null,
          pinned_host_memory: null,
        },
        { operands: [operand] },
      );
    expect(of('runs/a b')).toContain("mbforensics show E1 'runs/a b'");
    const long = `runs/${'long-'.repeat(40)}`;
    expect(of(long)).toContain(`mbforensics show E1 ${long}\n`);
    expect(withTarget('mbforensics show E1', { operands: ["it's"], db: 'x.duckdb' })).toBe(
      `mbforensics show E1 'it'\\''s' --db x.duckdb`,
    );
    expect(withTarget('mbforensics show E1', { operands: ["tab\there\n it's\u001b"] })).toBe(
      "mbforensics show E1 $'tab\\there\\n it\\'s\\x1b'",
    );
    expect(withTarget('mbforensics show E1', { capacity: '80GiB' })).toBe('mbforensics show E1 --capacity 80GiB');
    expect(withTarget('mbforensics peak', { capacity: '80GiB' })).toBe('mbforensics peak');
    // A handle names its run already.
    expect(withTarget('mbforensics state --at oom r/0/snapshot#1', { operands: ['r'] })).toBe(
      'mbforensics state --at oom r/0/snapshot#1',
    );
  });
});
