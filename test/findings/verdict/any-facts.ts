/** Facts of OOMs as they may come together, most of them near the edges between causes. */
import fc from 'fast-check';
import type { Activity } from '../../../src/derive/stacks/activity.js';
import { statement } from '../../../src/model/statement.js';
import { GIB, MIB } from '../../../src/model/units.js';
import type { Figure, Growth, OomFacts, RunSide, TraceFacts } from './hand-facts.js';

const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: null, freq: 4 });
/** Quarters of a GiB: sums that are equal are as likely as sums that are not. */
const bytes = (most: number) => fc.integer({ min: 0, max: 4 * most }).map((quarters) => (quarters * GIB) / 4);
const figure = (most: number): fc.Arbitrary<Figure> =>
  fc.record({
    bytes: bytes(most),
    precisionBytes: fc.constantFrom(0, 0.005 * GIB),
    source: fc.constant({ path: 'a source' }),
  });
/** Of a snapshot: no message prints it. */
const recorded = (size: number): Figure => ({ bytes: size, precisionBytes: 0, source: { path: 'a trace' } });
const hole = (most: number) =>
  fc
    .record({ bytes: bytes(most), share: fc.constantFrom(0.1, 0.5, 1), count: fc.nat(9) })
    .map(({ bytes: all, share, count }) => ({ bytes: all, largestBytes: Math.floor(all * share), count }));
const activity = fc.constantFrom<(Activity | null)[]>(
  ...[null, 'logits_loss' as const, 'checkpoint_save' as const, 'checkpoint_load' as const, 'optimizer_init' as const],
);

const trace: fc.Arbitrary<TraceFacts> = fc
  .record({
    steps: maybe(
      fc.array(fc.record({ settled: fc.boolean(), peakBytes: bytes(80), endBytes: bytes(80) }), { maxLength: 6 }),
    ),
    rises: fc.boolean(),
    whole: fc.boolean(),
    hasEarlierStates: fc.boolean(),
    keeping: fc.array(
      fc.record({
        ...{ site: fc.constant('a site'), bytes: bytes(20), blocks: fc.nat(9), steps: fc.nat(5) },
        bytesPerStep: bytes(4),
      }),
      { maxLength: 2 },
    ),
    repeatedBytes: bytes(80),
    activity,
    activityBytes: bytes(30),
    copiedBytes: bytes(20),
    step: maybe(fc.record({ peakBytes: bytes(90), alikeShare: fc.constantFrom(0, 0.5, 0.97, 1) })),
  })
  .map(({ rises, step, ...seen }) => ({
    ...seen,
    wholeStep: step && { ...step, outcome: 'fits' as const, limitBytes: 0 },
    steps:
      seen.steps?.map((step, i) => (rises ? { ...step, settled: i > 0, endBytes: (40 + 2 * i) * GIB } : step)) ?? null,
    stepsBy: seen.steps === null ? null : 'steps',
    source: { path: 'a trace' },
  }));

const run: fc.Arbitrary<RunSide> = fc
  .record({
    completed: maybe(fc.nat(5)),
    activity,
    highestBytes: maybe(bytes(80)),
    stages: fc.constantFrom(1, 2, 4),
    own: bytes(80),
    other: bytes(80),
    onlyThisStage: fc.boolean(),
    severalReplicas: fc.boolean(),
    early: maybe(
      fc.record({
        ...{ firstIteration: fc.constant(1), secondIteration: fc.constant(2), peakBytes: bytes(80) },
        ...{ bytesPerIteration: fc.constantFrom(1, 3 * GIB, 8 * GIB), lastIteration: fc.integer({ min: 2, max: 20 }) },
        source: fc.constant({ path: 'a line' }),
      }),
    ),
    nccl: fc.array(fc.constant({ ...statement('nccl_failure'), source: { path: 'a line' } }), { maxLength: 1 }),
  })
  .map(({ stages, own, other, ...told }) => ({
    ...told,
    activitySource: { path: 'a line' },
    stage: 0,
    stages,
    ownStage: { stage: 0, rank: 0, bytes: own },
    otherStages: stages === 1 ? [] : [{ stage: 1, rank: 4, bytes: other }],
    source: { path: 'a line' },
  }));

const growth: fc.Arbitrary<Growth> = fc.record({
  ...{ samples: fc.integer({ min: 2, max: 12 }), firstIteration: fc.constant(2), lastIteration: fc.constant(11) },
  ...{ firstBytes: bytes(60), lastBytes: bytes(80), bytesPerIteration: fc.constant(GIB), lateBytes: maybe(bytes(20)) },
  ...{ r2: fc.constantFrom(0.5, 0.9, 0.99), source: fc.constant({ path: 'a log' }) },
});

export const anyFacts: fc.Arbitrary<OomFacts> = fc
  .record({
    ...{ request: maybe(figure(100)), reserved: maybe(figure(80)), allocated: maybe(figure(80)) },
    pending: maybe(fc.oneof(fc.constant(recorded(0)), bytes(8).map(recorded))),
    freedByWait: maybe(bytes(8).map(recorded)),
    deviceFree: maybe(figure(40)),
    total: maybe(
      fc
        .constantFrom(24, 80)
        .map((gib) => ({ bytes: gib * GIB, precisionBytes: 0.005 * GIB, source: { path: 'a line' } })),
    ),
    ...{
      process: maybe(figure(80)),
      otherProcesses: fc.array(figure(40), { maxLength: 2 }),
      allowed: maybe(figure(80)),
    },
    ...{ privatePools: maybe(figure(20)), privatePoolFree: maybe(figure(20)) },
    ...{ oversizeSlack: maybe(figure(4)), roundingWaste: maybe(figure(4)) },
    free: maybe(
      fc.record({
        ...{ usable: hole(20), otherStream: hole(20), otherClass: hole(20), privatePool: hole(20) },
        ...{ pinnedSegments: fc.nat(3), pinningBytes: bytes(4) },
      }),
    ),
    allocator: maybe(
      fc.record({
        expandableSegments: fc.boolean(),
        maxSplitBytes: fc.constantFrom(128 * MIB, Number.POSITIVE_INFINITY),
        source: fc.constant({ path: 'a setting' }),
      }),
    ),
    ...{ growth: maybe(growth), reservedGrowth: maybe(growth), trace: maybe(trace), run: maybe(run) },
    walk: maybe(
      fc.record({
        ...{ exact: fc.boolean(), violations: fc.constant(0), uncertainBlocks: fc.constant(0) },
        uncertainBytes: fc.constantFrom(0, 2 * GIB, 50 * GIB),
      }),
    ),
    bystanders: maybe(
      fc.record({
        ...{ failedAlone: fc.boolean(), ranks: fc.constantFrom(0, 3), hasEnvironment: fc.boolean() },
        ...{ mostReservedBytes: maybe(bytes(80)), ownReservedBytes: maybe(bytes(80)) },
      }),
    ),
    driver: maybe(
      fc.record({
        outside: fc.uniqueArray(
          fc.record({
            owner: fc.constantFrom('nccl' as const, 'cublas' as const, 'context' as const),
            bytes: bytes(20),
          }),
          { selector: ({ owner }) => owner, maxLength: 3 },
        ),
        moment: fc.constantFrom('oom' as const, 'peak' as const),
        source: fc.constant({ path: 'a profile' }),
      }),
    ),
    monitor: maybe(
      fc.record({
        ...{ totalBytes: fc.constant(null), usedBytes: bytes(80), usedOfBytes: fc.constant(null) },
        moment: fc.constant('failure' as const),
        others: maybe(
          fc.array(fc.record({ pid: maybe(fc.nat(9)), process: fc.constant(null), bytes: bytes(40) }), {
            maxLength: 2,
          }),
        ),
        ...{
          outsideFirstBytes: fc.constant(null),
          outsideLastBytes: fc.constant(null),
          othersSource: fc.constant(null),
        },
        ...{ source: fc.constant({ path: 'a monitor' }), totalSource: fc.constant({ path: 'a monitor' }) },
      }),
    ),
    cached: fc.integer({ min: 0, max: 80 }),
  })
  .map(({ cached, ...known }) => ({
    ...known,
    ...{ rank: 0, device: 0, requestSite: null, freedAfterOom: false },
    requestAtLeastBytes: Math.max(0, Math.round((known.request?.bytes ?? 0) - (known.request?.precisionBytes ?? 0))),
    segmentBytes: known.request?.bytes ?? null,
    // A process holds its reserve, which holds what is allocated.
    allocated:
      known.allocated === null || known.reserved === null
        ? known.allocated
        : { ...known.allocated, bytes: Math.max(0, known.reserved.bytes - (cached * GIB) / 4) },
    process:
      known.process === null || known.reserved === null
        ? known.process
        : { ...known.process, bytes: Math.max(known.process.bytes, known.reserved.bytes) },
  }));
