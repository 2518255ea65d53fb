/**
 * Every generated run against the arithmetic of its cause, recomputed here from the final allocator state, the trace
 * and the plan. No verdict code and none of the generator's own sums take part.
 */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { CAUSES_TO_GENERATE } from '../../samples/generate/causes/index.js';
import type { GeneratedRun, SimulatedRank } from '../../samples/generate/run.js';
import type { SegmentSnapshot } from '../../src/allocator/caching/caching-allocator.js';
import { GIB, MIB } from '../../src/model/units.js';
import { CAUSE_DETAILS } from '../../src/model/vocabulary.js';
import { lastAttempt } from '../support/generated-runs.js';

const SEEDS = [3, 1414, 271_828];

const built = new Map<string, GeneratedRun>();

const build = (name: string, seed: number): GeneratedRun =>
  CAUSES_TO_GENERATE.find((cause) => cause.name === name)!.build(seed);

function runOf(name: string, seed: number): GeneratedRun {
  const run = built.get(`${name} ${seed}`) ?? build(name, seed);
  built.set(`${name} ${seed}`, run);
  return run;
}

type Segment = SegmentSnapshot<unknown>;
type OomRank = SimulatedRank & { readonly ending: Extract<SimulatedRank['ending'], { kind: 'oom' }> };

/** What the final state says about the rank that failed first. */
interface Scene {
  readonly run: GeneratedRun;
  readonly rank: OomRank;
  readonly segments: readonly Segment[];
  readonly live: number;
  readonly request: number;
  readonly reserved: number;
  /** Reserve and free device memory, within the memory fraction. */
  readonly budget: number;
  readonly outside: number;
  /** Free blocks the request could have had but for their size. */
  readonly usable: readonly Hole[];
  readonly otherStream: readonly Hole[];
}

interface Hole {
  readonly bytes: number;
  /** From the start of its segment. */
  readonly offset: number;
  readonly segment: Segment;
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const bytesOf = (holes: readonly Hole[]): number => sum(holes.map(({ bytes }) => bytes));
const largest = (holes: readonly Hole[]): number => Math.max(0, ...holes.map(({ bytes }) => bytes));
const blocksOf = (segments: readonly Segment[]) => segments.flatMap(({ blocks }) => blocks);
const isDefaultPool = ({ poolId }: Segment): boolean => poolId[0] === 0 && poolId[1] === 0;

const firstFailing = (run: GeneratedRun): SimulatedRank =>
  lastAttempt(run).ranks.find(({ rank }) => rank === run.truth.firstFailingRank)!;

function holesOf(segments: readonly Segment[], wanted: (segment: Segment) => boolean): Hole[] {
  return segments.filter(wanted).flatMap((segment) =>
    segment.blocks.flatMap((block, i) => {
      if (block.state !== 'inactive') return [];
      const offset = sum(segment.blocks.slice(0, i).map(({ sizeBytes }) => sizeBytes));
      return [{ bytes: block.sizeBytes, offset, segment }];
    }),
  );
}

function sceneOf(run: GeneratedRun): Scene {
  const rank = firstFailing(run);
  expect(rank.ending.kind).toBe('oom');
  const oom = rank as OomRank;
  const { report } = oom.ending;
  const segments = rank.process.allocator.snapshot();
  const reserved = sum(segments.map(({ totalBytes }) => totalBytes));
  const live = sum(blocksOf(segments).map(({ state, sizeBytes }) => (state === 'inactive' ? 0 : sizeBytes)));
  expect(reserved).toBe(report.reservedBytes);
  expect(live).toBe(report.allocatedBytes);
  const whole = reserved + report.deviceFreeBytes;
  const large = (segment: Segment): boolean => isDefaultPool(segment) && segment.segmentType === 'large';
  return {
    run,
    rank: oom,
    segments,
    live,
    request: report.roundedBytes,
    reserved,
    budget: Math.min(whole, report.allowedBytes ?? whole),
    outside: report.deviceTotalBytes - whole,
    usable: holesOf(segments, (segment) => large(segment) && segment.stream === report.stream),
    otherStream: holesOf(segments, (segment) => large(segment) && segment.stream !== report.stream),
  };
}

/** Context, NCCL and libraries take no more than this where nothing is wrong. */
const ordinaryOutside = ({ rank }: Scene): number => Math.max(2 * GIB, 0.05 * rank.ending.report.deviceTotalBytes);

const expectOrdinaryOutside = (scene: Scene): void => expect(scene.outside).toBeLessThanOrEqual(ordinaryOutside(scene));

/** No layout of the live bytes would leave room for the request. */
function expectCapacity(scene: Scene): void {
  expect(scene.live + scene.request - scene.budget).toBeGreaterThan(32 * MIB);
  expectOrdinaryOutside(scene);
}

/** In sum there is room, in one piece there is not. */
function expectFragmentation(scene: Scene): void {
  expect(scene.budget - scene.live - scene.request).toBeGreaterThan(200 * MIB);
  expect(largest(scene.usable)).toBeLessThan(scene.request);
  expectOrdinaryOutside(scene);
}

const conf = ({ run }: Scene): string => lastAttempt(run).plan.environment['PYTORCH_CUDA_ALLOC_CONF'] ?? '';

/** By the innermost frame. */
function liveBytesFrom(scene: Scene, isSite: (name: string, filename: string) => boolean): number {
  const stacks = scene.rank.process.allocator.snapshot().flatMap(({ blocks }) => blocks);
  return sum(
    stacks.map(({ state, stack, sizeBytes }) => {
      const frame = stack?.frames[0];
      return state === 'active_allocated' && frame !== undefined && isSite(frame.name, frame.filename) ? sizeBytes : 0;
    }),
  );
}

const PAGE_BYTES = 20 * MIB;

/** What makes each cause true. Keys are the names of the list. */
const PREDICATES: Readonly<Record<string, (run: GeneratedRun) => void>> = {
  'fragmentation-split-remainder': (run) => {
    const scene = sceneOf(run);
    expectFragmentation(scene);
    expect(conf(scene)).not.toContain('expandable_segments:True');
    expect(bytesOf(scene.usable)).toBeGreaterThan(GIB);
    expect(bytesOf(scene.usable)).toBeGreaterThan(2 * bytesOf(scene.otherStream));
    // The last flush gave back what it could: a live block pins every segment that is left.
    for (const { blocks } of scene.segments) expect(blocks.some(({ state }) => state !== 'inactive')).toBe(true);
  },

  'fragmentation-other-stream': (run) => {
    const scene = sceneOf(run);
    expectFragmentation(scene);
    expect(bytesOf(scene.otherStream)).toBeGreaterThan(GIB);
    expect(bytesOf(scene.otherStream)).toBeGreaterThan(bytesOf(scene.usable));
    for (const { segment } of scene.otherStream) {
      expect(segment.blocks.some(({ state }) => state !== 'inactive')).toBe(true);
    }
  },

  'fragmentation-page-pinning': (run) => {
    const scene = sceneOf(run);
    expectFragmentation(scene);
    expect(conf(scene)).toContain('expandable_segments:True');
    expect(bytesOf(scene.usable)).toBeGreaterThan(GIB);
    for (const { segment, offset, bytes } of scene.usable) {
      expect(segment.isExpandable).toBe(true);
      // Mapped runs begin and end on page borders; no hole holds a whole page, or the flush would have taken it.
      expect(segment.totalBytes % PAGE_BYTES).toBe(0);
      const firstPage = Math.ceil(offset / PAGE_BYTES);
      expect(Math.floor((offset + bytes) / PAGE_BYTES)).toBeLessThanOrEqual(firstPage);
    }
  },

  'fragmentation-oversize-rule': (run) => {
    const scene = sceneOf(run);
    const maxSplit = Number(/max_split_size_mb:(\d+)/.exec(conf(scene))?.[1]) * MIB;
    const waste = sum(
      blocksOf(scene.segments).map(({ state, sizeBytes, requestedBytes }) =>
        state === 'active_allocated' && sizeBytes >= maxSplit ? sizeBytes - requestedBytes : 0,
      ),
    );
    expectCapacity(scene);
    expect(scene.live - waste + scene.request).toBeLessThan(scene.budget - 200 * MIB);
    expect(run.snapshots.length).toBeGreaterThan(0);
  },

  capacity: (run) => expectCapacity(sceneOf(run)),

  'other-process': (run) => {
    const scene = sceneOf(run);
    const { report, otherProcesses } = scene.rank.ending;
    const others = sum(otherProcesses.map(({ bytes }) => bytes));
    expect(others).toBe(report.deviceTotalBytes - report.deviceFreeBytes - report.processBytes);
    expect(others).toBeGreaterThan(ordinaryOutside(scene));
    expect(scene.live + scene.request).toBeLessThan(report.deviceTotalBytes - ordinaryOutside(scene));
    // What this process has itself outside PyTorch is normal.
    expect(report.processBytes - scene.reserved).toBeLessThanOrEqual(ordinaryOutside(scene));
  },

  'nccl-growth': (run) => {
    const rank = firstFailing(run);
    const { totalBytes, freeBytes, processBytes } = rank.process.driver.memory();
    const { reservedBytes, allocatedBytes } = rank.process.allocator.statistics;
    const ordinary = Math.max(2 * GIB, 0.05 * totalBytes);
    const own = processBytes - reservedBytes.current;
    expect(own).toBe(totalBytes - freeBytes - reservedBytes.current);
    expect(own).toBeGreaterThan(1.2 * ordinary);
    const request = rank.ending.kind === 'oom' ? rank.ending.report.roundedBytes : 0;
    expect(allocatedBytes.current + request).toBeLessThan(totalBytes - ordinary);
    if (rank.ending.kind === 'raised') {
      expect(rank.ending.exception).toContain('ncclUnhandledCudaError');
      const warnings = lastAttempt(run).storyLines.filter((line) => line.text.includes('NCCL WARN'));
      expect(warnings.some((line) => line.rank === rank.rank)).toBe(true);
    } else expect(rank.ending.kind).toBe('oom');
  },

  leak: (run) => {
    const scene = sceneOf(run);
    expectCapacity(scene);
    const resting = scene.rank.iterations.map(({ memory }) => memory.allocatedBytes.current);
    // The first step brings the optimizer's states; from then on the same amount is added every time.
    const growth = resting.slice(2).map((bytes, i) => bytes - resting[i + 1]!);
    expect(growth.length).toBeGreaterThanOrEqual(2);
    const least = Math.min(...growth);
    expect(least).toBeGreaterThan(100 * MIB);
    expect(Math.max(...growth)).toBeLessThan(1.2 * least + 16 * MIB);
    const kept = liveBytesFrom(scene, (_, filename) => /(monitor|metrics|callback|stats)\.py$/.test(filename));
    // The step in which it ends may not have got as far as keeping its own.
    expect(kept).toBeGreaterThan(0.95 * least * (scene.rank.iterations.length - 1));
    expect(scene.live - kept + scene.request).toBeLessThan(0.9 * scene.budget);
  },

  'graph-pools': (run) => {
    const scene = sceneOf(run);
    const idle = bytesOf(holesOf(scene.segments, (segment) => !isDefaultPool(segment)));
    expect(scene.rank.ending.report.privatePoolFreeBytes).toBe(idle);
    expect(scene.live + scene.request).toBeLessThan(scene.budget - 200 * MIB);
    expect(scene.live + scene.request + idle).toBeGreaterThan(scene.budget + 32 * MIB);
    expect(largest(scene.usable)).toBeLessThan(scene.request);
    expectOrdinaryOutside(scene);
  },

  'pending-frees': (run) => {
    const scene = sceneOf(run);
    expect(scene.budget - scene.live - scene.request).toBeGreaterThan(200 * MIB);
    // After the wait a block that fits lies free, and was not looked for again.
    expect(largest(scene.usable)).toBeGreaterThanOrEqual(scene.request);
    expectOrdinaryOutside(scene);
    // The recorded ranks show the wait: frees requested earlier complete in the failing call.
    for (const { rank } of run.snapshots) {
      const { trace } = lastAttempt(run).ranks.find((candidate) => candidate.rank === rank)!.process;
      const failedUs = trace.at(-1)!.timeUs;
      const requestedUs = new Map<number, number>();
      let waitedBytes = 0;
      for (const { action, addr, timeUs, sizeBytes } of trace) {
        if (action === 'free_requested') requestedUs.set(addr!, timeUs!);
        const waited = action === 'free_completed' && timeUs === failedUs && requestedUs.get(addr!)! < timeUs!;
        if (waited) waitedBytes += sizeBytes;
      }
      expect(waitedBytes).toBeGreaterThan(0);
    }
  },

  'transient-logits-spike': (run) => {
    const scene = sceneOf(run);
    expectCapacity(scene);
    const isLoss = (name: string, filename: string): boolean =>
      filename.endsWith('/cross_entropy.py') || (name === 'forward' && filename.endsWith('/tensor_parallel/layers.py'));
    const logits = liveBytesFrom(scene, isLoss);
    const before = Math.max(...scene.rank.iterations.map(({ memory }) => memory.allocatedBytes.peak));
    expect(before).toBeLessThan(0.9 * scene.budget);
    expect(scene.live - logits).toBeLessThan(0.9 * scene.budget);
    expect(logits + scene.request).toBeGreaterThan(scene.budget - scene.live);
  },

  imbalance: (run) => {
    const scene = sceneOf(run);
    expectCapacity(scene);
    for (const { stage, ending, process } of lastAttempt(run).ranks) {
      if (stage === scene.rank.stage) continue;
      expect(ending.kind).toBe('stopped');
      expect(process.allocator.statistics.allocatedBytes.peak).toBeLessThan(0.9 * scene.budget);
    }
  },

  'impossible-request': (run) => {
    const scene = sceneOf(run);
    expect(scene.request).toBeGreaterThan(scene.rank.ending.report.deviceTotalBytes);
    expectOrdinaryOutside(scene);
  },

  'checkpoint-save-spike': (run) => {
    const scene = sceneOf(run);
    expectCapacity(scene);
    const { plan, firstIteration, checkpoints } = lastAttempt(run);
    const done = firstIteration + scene.rank.iterations.length;
    expect(done % plan.saveInterval! === 0 || done === plan.trainIterations).toBe(true);
    expect(checkpoints.at(-1)).toMatchObject({ iteration: done, endUs: null });
    expect(scene.rank.ending.path.some(({ name }) => name === 'save_checkpoint')).toBe(true);
    expect(scene.rank.iterations.at(-1)!.memory.allocatedBytes.peak).toBeLessThan(0.95 * scene.budget);
  },

  'fraction-limit': (run) => {
    const scene = sceneOf(run);
    const { report } = scene.rank.ending;
    const { memoryFraction, gpu } = lastAttempt(run).plan;
    expect(report.allowedBytes).toBe(Math.floor(memoryFraction! * gpu.totalBytes));
    expect(scene.live + scene.request).toBeGreaterThan(report.allowedBytes! + 32 * MIB);
    expect(scene.live + scene.request).toBeLessThan(scene.reserved + report.deviceFreeBytes - 32 * MIB);
  },

  'host-oom': (run) => {
    expectHealthyDevices(run);
    const { ending } = firstFailing(run);
    if (ending.kind === 'signalled') {
      expect(ending.signal).toBe('SIGKILL');
      const system = lastAttempt(run).storyLines.filter(({ rank }) => rank === null);
      expect(system.some(({ text }) => /oom[-_]kill event/.test(text))).toBe(true);
    } else if (ending.kind === 'raised') expect(ending.exception).toMatch(/DataLoader worker \(pid \d+\) is killed by/);
    else expect.fail(`ended as ${ending.kind}`);
  },

  'no-oom': (run) => {
    expectHealthyDevices(run);
    const { ranks, plan, firstIteration } = lastAttempt(run);
    for (const { ending, iterations } of ranks) {
      expect(ending.kind).toBe('completed');
      expect(firstIteration + iterations.length).toBe(plan.trainIterations);
    }
  },

  'not-an-oom': (run) => {
    expectHealthyDevices(run);
    const { ending } = firstFailing(run);
    const kind = run.seed % 3;
    if (kind === 0) {
      expect(ending).toMatchObject({ kind: 'signalled', signal: 'SIGABRT' });
      const said = lastAttempt(run).storyLines.filter(({ rank }) => rank === run.truth.firstFailingRank);
      expect(said[0]!.text).toMatch(/Watchdog caught collective operation timeout: WorkNCCL\(SeqNum=\d+/);
    } else if (ending.kind !== 'raised') expect.fail(`ended as ${ending.kind}`);
    else if (kind === 1) expect(ending.exception).toContain('CUDA error: an illegal memory access was encountered');
    else
      expect(ending.exception).toMatch(
        /OutOfResources: out of resource: shared memory, Required: \d+, Hardware limit: \d+/,
      );
  },
};

/** No allocator ever failed, and none came near it. */
function expectHealthyDevices(run: GeneratedRun): void {
  for (const { process } of lastAttempt(run).ranks) {
    const { numOoms, reservedBytes } = process.allocator.statistics;
    expect(numOoms).toBe(0);
    expect(reservedBytes.peak).toBeLessThan(lastAttempt(run).plan.gpu.totalBytes);
  }
}

/** Words with which a file beside the logs would be taken for one. */
const FAILURE_WORDS = /out.of.memory|tried to allocate|OutOfMemoryError|memory in use|oom.kill/i;

/** What any run must be, whatever its cause. */
function expectConsistent(run: GeneratedRun): void {
  const { truth } = run;
  expect(truth.because).not.toMatch(FAILURE_WORDS);
  expect(truth.isOom).toBe(truth.cause !== 'not_oom');
  if (truth.detail !== null) expect(CAUSE_DETAILS[truth.detail]).toBe(truth.cause);
  for (const [key, value] of Object.entries(truth.numbers)) {
    expect(key).toMatch(/^[a-z0-9]+(_[a-z0-9]+)*$/);
    expect(Number.isFinite(value), key).toBe(true);
  }
  for (const [index, attempt] of run.attempts.entries()) {
    const { plan, ranks, storyLines } = attempt;
    const { tensor, pipeline, data } = plan.parallelism;
    expect(ranks.map(({ rank }) => rank)).toEqual(Array.from({ length: tensor * pipeline * data }, (_, rank) => rank));
    expect(ranks.length).toBeGreaterThanOrEqual(4);
    expect(ranks.length).toBeLessThanOrEqual(32);
    if (index > 0) expect(plan.startUs).toBeGreaterThan(run.attempts[index - 1]!.endUs);
    const times = storyLines.map(({ timeUs }) => timeUs);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    for (const rank of ranks) expectConsistentRank(rank, attempt.plan.gpu.name);
  }
  const { plan, ranks } = lastAttempt(run);
  for (const { rank, trigger, state } of run.snapshots) {
    expect(plan.profiledRanks).toContain(rank);
    const dumped = ranks.find((candidate) => candidate.rank === rank)!;
    expect(trigger === 'oom').toBe(dumped.ending.kind === 'oom');
    const entries = dumped.process.trace.slice(0, state?.traceEntries);
    expectTraceLeadsTo(entries, state?.segments ?? dumped.process.allocator.snapshot());
    expect(entries.length).toBeLessThan(20_000);
    if (trigger === 'oom' && dumped.ending.kind === 'oom') {
      const { report } = dumped.ending;
      const { roundedBytes: sizeBytes, deviceFreeBytes } = report;
      expect(entries.at(-1)).toMatchObject({ action: 'oom', sizeBytes, deviceFreeBytes });
    }
  }
}

function expectConsistentRank(rank: SimulatedRank, gpu: string): void {
  const peak = /A100/.test(gpu) ? 312 : 989;
  let endUs = rank.trainingStartUs ?? 0;
  for (const iteration of rank.iterations) {
    expect(iteration.startUs).toBeGreaterThanOrEqual(endUs);
    expect(iteration.endUs).toBeGreaterThan(iteration.startUs);
    expect(iteration.teraflopsPerGpu).toBeGreaterThan(0.02 * peak);
    expect(iteration.teraflopsPerGpu).toBeLessThan(0.6 * peak);
    endUs = iteration.endUs;
  }
  expect(rank.endUs).toBeGreaterThanOrEqual(endUs);
  expect(sum(rank.parameters.map(({ elements }) => elements))).toBe(rank.parameterElements);
  const { ending } = rank;
  if (ending.kind === 'oom' || ending.kind === 'raised') {
    expect(ending.path.at(-1)!.name).toBe('<module>');
    for (const { name, filename, source, line } of ending.path) {
      expect(name.length * filename.length * source.length * line).toBeGreaterThan(0);
    }
  }
}

/**
 * Played by addresses alone, a trace from the empty allocator ends in exactly the live blocks of the state beside it.
 */
function expectTraceLeadsTo(
  entries: readonly Readonly<{ action: string; addr: number | null; sizeBytes: number; timeUs: number | null }>[],
  segments: readonly Segment[],
): void {
  const live = new Map<number, number>();
  const freed = new Map<number, number>();
  let reserved = 0;
  let timeUs = 0;
  for (const entry of entries) {
    const { action, sizeBytes } = entry;
    const addr = entry.addr ?? 0;
    expect(entry.timeUs).toBeGreaterThanOrEqual(timeUs);
    timeUs = entry.timeUs!;
    if (action === 'alloc') {
      if (live.has(addr) || freed.has(addr)) expect.fail(`allocated twice: ${addr}`);
      live.set(addr, sizeBytes);
    } else if (action === 'free_requested') {
      if (live.get(addr) !== sizeBytes) expect.fail(`freed but not live: ${addr}`);
      live.delete(addr);
      freed.set(addr, sizeBytes);
    } else if (action === 'free_completed') {
      if (!freed.delete(addr)) expect.fail(`completed but not freed: ${addr}`);
    } else if (action === 'segment_alloc' || action === 'segment_map') reserved += sizeBytes;
    else if (action === 'segment_free' || action === 'segment_unmap') reserved -= sizeBytes;
  }
  expect(sum(segments.map(({ totalBytes }) => totalBytes))).toBe(reserved);
  const active = blocksOf(segments).filter(({ state }) => state === 'active_allocated');
  expect(new Map(active.map(({ addr, requestedBytes }) => [addr, requestedBytes]))).toEqual(live);
}

/** Everything a writer can see of a run, as one hash; a stack counts once, by its lines. */
function fingerprint(run: GeneratedRun): string {
  const hash = createHash('sha256');
  const stacks = new Map<object, string>();
  const shorten = (key: string, value: unknown): unknown => {
    if ((key !== 'frames' && key !== 'path') || !Array.isArray(value)) return value;
    let text = stacks.get(value);
    if (text === undefined) {
      const path = value as OomRank['ending']['path'];
      const lines = path.map(({ name, filename, line }) => `${name} ${filename}:${line}`);
      text = createHash('sha256').update(lines.join()).digest('hex');
      stacks.set(value, text);
    }
    return text;
  };
  const add = (value: unknown): void => void hash.update(JSON.stringify(value, shorten));
  add({ ...run, attempts: undefined, snapshots: run.snapshots.map(({ rank, trigger }) => [rank, trigger]) });
  for (const { ranks, ...attempt } of run.attempts) {
    add(attempt);
    for (const { process, ...rank } of ranks)
      for (const part of [rank, process.annotations, process.trace, process.allocator.snapshot(), process.now()])
        add(part);
  }
  return hash.digest('hex');
}

describe('the list of causes', () => {
  it('has distinct names, a title each, and a check here for each', () => {
    const names = CAUSES_TO_GENERATE.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect([...names].sort()).toEqual(Object.keys(PREDICATES).sort());
    for (const { name, title } of CAUSES_TO_GENERATE) {
      expect(name).toMatch(/^[a-z]+(-[a-z]+)*$/);
      expect(title.length).toBeGreaterThan(10);
    }
  });
});

describe.each(CAUSES_TO_GENERATE.map(({ name }) => name))('%s', (name) => {
  it.each(SEEDS)('is true by arithmetic, seed %i', (seed) => {
    const run = runOf(name, seed);
    expect(run.causeName).toBe(name);
    expect(run.seed).toBe(seed);
    PREDICATES[name]!(run);
    expectConsistent(run);
  });

  it('comes out the same from the same seed, and differently from another', () => {
    const [one, other] = [SEEDS[0]!, SEEDS[1]!];
    const again = build(name, one);
    expect(fingerprint(again)).toBe(fingerprint(runOf(name, one)));
    expect(fingerprint(runOf(name, other))).not.toBe(fingerprint(again));
  });
});

describe('all runs together', () => {
  it('vary as a population does', () => {
    const runs = CAUSES_TO_GENERATE.flatMap(({ name }) => SEEDS.map((seed) => runOf(name, seed)));
    const plans = runs.map((run) => lastAttempt(run).plan);
    const values = (of: (plan: (typeof plans)[number]) => unknown): number => new Set(plans.map(of)).size;
    const kinds = [values((plan) => plan.framework), values((plan) => plan.torch), values((plan) => plan.recompute)];
    expect([...kinds, values(({ gpu }) => gpu.name)]).toEqual([2, 4, 3, 4]);
    expect(values(({ model }) => model.name)).toBeGreaterThan(6);
    expect(values(({ parallelism }) => parallelism.tensor)).toBeGreaterThan(2);
    expect(values(({ parallelism }) => parallelism.pipeline)).toBeGreaterThan(2);
    expect(plans.some(({ parallelism }) => parallelism.virtualPipeline !== null)).toBe(true);
    expect(runs.some((run) => run.attempts.length === 2)).toBe(true);
    expect(runs.some((run) => lastAttempt(run).firstIteration > 0)).toBe(true);
    expect(new Set(plans.map(({ name }) => name)).size).toBe(plans.length);
  });
});
