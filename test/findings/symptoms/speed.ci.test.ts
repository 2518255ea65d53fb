/** Slower than a run from before, and what the guides make of it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SymptomEvidence, Timeline } from '../../../src/findings/symptoms/evidence.js';
import { type TrainingLog, trainingLog } from '../../support/training-log.js';
import { timelineOf } from './devices.js';
import { answer, hitOf, type Observed, observe } from './observed.js';

type Settings = Readonly<Record<string, string | number>>;

const BASE: Settings = {
  num_layers: 32,
  hidden_size: 8192,
  ffn_hidden_size: 28672,
  num_attention_heads: 64,
  num_query_groups: 8,
  swiglu: 'True',
  padded_vocab_size: 128256,
  seq_length: 4096,
  global_batch_size: 32,
  micro_batch_size: 1,
  tensor_model_parallel_size: 1,
  pipeline_model_parallel_size: 4,
  world_size: 4,
  bf16: 'True',
};

const log = (set: Settings, more: TrainingLog = {}): { 'train.log': string } => ({
  'train.log': trainingLog({ arguments: { ...BASE, ...set }, ...more }),
});

const peaks = (gib: number): NonNullable<TrainingLog['peaks']> => [{ rank: 0, first: 900 * gib, later: 1024 * gib }];
const speed = (tflops: number, more: TrainingLog = {}): TrainingLog => ({
  tflops: () => tflops,
  stepMs: () => 700_000 / tflops,
  ...more,
});
const selective = (...modules: readonly string[]): Settings => ({
  recompute_granularity: 'selective',
  recompute_modules: `[${modules.map((name) => `'${name}'`).join(', ')}]`,
});
const offloaded = (fraction: number): Settings => ({
  optimizer_cpu_offload: 'True',
  optimizer_offload_fraction: fraction,
});

/** Megatron's timers of every rank, as `--timing-log-option all` prints them. */
const timers = (name: string, ms: readonly number[]): string[] => [
  'times across ranks (ms):',
  `  ${name}:`,
  ...ms.map((value, rank) => `     rank${String(rank).padStart(3)}: ${value.toFixed(2)}`),
];
const stages = (ms: readonly number[]): TrainingLog => ({
  after: [
    ...timers('forward-compute', ms),
    ...timers(
      'backward-compute',
      ms.map((value) => 2 * value),
    ),
  ],
});

const stagePeaks = [60, 50, 40, 55].map((gib, rank) => ({ rank, first: 1000 * gib, later: 1024 * gib }));

let runs: Observed;
beforeAll(async () => {
  runs = await observe({
    // The published figures of the recompute guide.
    core: log(selective('core_attn'), speed(704, { peaks: peaks(58.8) })),
    mlp: log(selective('mlp'), speed(593.6, { peaks: peaks(55.6) })),
    both: log(selective('mlp', 'core_attn'), speed(586.8, { peaks: peaks(55.6) })),
    'both-saves': log(selective('mlp', 'core_attn'), speed(586.8, { peaks: peaks(50) })),
    'both-no-lines': log(selective('mlp', 'core_attn'), speed(586.8)),
    'both-as-fast': log(selective('mlp', 'core_attn'), speed(593.6, { peaks: peaks(55.6) })),
    'mlp-slow': log(selective('mlp'), speed(400)),
    'mlp-tp': log({ ...selective('mlp'), tensor_model_parallel_size: 2, pipeline_model_parallel_size: 2 }, speed(560)),
    'core-slow': log(selective('core_attn'), speed(500)),
    'mlp-other-model': log({ ...selective('mlp'), num_layers: 48 }, speed(500)),
    // S16
    resident: log({}, speed(700)),
    'offload-100': log(offloaded(1), speed(160)),
    'offload-100-timed': log(offloaded(1), speed(160, { after: timers('optimizer', [3500, 3500, 3500, 3500]) })),
    'offload-100-elsewhere': log(offloaded(1), speed(160, { after: timers('optimizer', [35, 35, 35, 35]) })),
    'offload-50': log(offloaded(0.5), speed(160)),
    'offload-untold': log({ optimizer_cpu_offload: 'True' }, speed(160)),
    'offload-25': log(offloaded(0.25), speed(368)),
    // S20
    fp8: log({ fp8: 'hybrid', fp8_recipe: 'tensorwise' }, speed(770)),
    'fp8-blocks': log({ fp8: 'hybrid', fp8_recipe: 'mxfp8' }, speed(770)),
    'fp8-good': log({ fp8: 'hybrid' }, speed(900)),
    'fp8-mbs': log(
      { fp8: 'hybrid', recompute_granularity: 'full', recompute_method: 'uniform', recompute_num_layers: 1 },
      speed(700),
    ),
    // S26
    'last-slow': log({}, { ...stages([100, 100, 100, 113]), peaks: stagePeaks }),
    'last-accounted': log({ account_for_loss_in_pipeline_split: 'True', num_layers: 31 }, stages([100, 100, 100, 113])),
    'last-small': log({ padded_vocab_size: 32000 }, stages([100, 100, 100, 113])),
    'last-untold': {
      'train.log': trainingLog({
        arguments: { tensor_model_parallel_size: 1, pipeline_model_parallel_size: 4, world_size: 4 },
        ...stages([100, 100, 100, 113]),
      }),
    },
    even: log({}, stages([100, 101, 100, 103])),
  });
});
afterAll(() => runs.close());

const of = async (run: string, id: string, baseline?: string) => answer(await runs.of(run, baseline), id);

describe('S6, utilization dropped', () => {
  it('is confirmed where mlp is what has changed', async () => {
    expect(hitOf(await runs.of('mlp', 'core'), 'S6')).toMatchObject({
      confirmation: 'confirmed',
      seen: expect.stringContaining('593.6 TFLOP/s per GPU against 704.0 of core (−16 %)'),
      confirmation_text: expect.stringContaining('core has ["core_attn"], and nothing else'),
      source: expect.stringMatching(/^train\.log line \d+$/),
    });
  });

  it('is refuted where mlp was there before, and untested where more has changed', async () => {
    expect(await of('mlp-slow', 'S6', 'mlp')).toBe('refuted');
    expect(hitOf(await runs.of('mlp-tp', 'core'), 'S6')).toMatchObject({
      confirmation: 'untested',
      confirmation_text: expect.stringContaining('TP 1 → 2 and PP 4 → 2'),
    });
  });

  it('is silent without a baseline, without mlp, of another model, and of a smaller drop', async () => {
    expect(await of('mlp', 'S6')).toBe('silent');
    expect(await of('core-slow', 'S6', 'core')).toBe('silent');
    expect(await of('mlp-other-model', 'S6', 'core')).toBe('silent');
    expect(await of('both', 'S6', 'mlp')).toBe('silent');
  });
});

describe('S10, mlp and core_attn', () => {
  it('is confirmed where it is slower for no memory', async () => {
    expect(hitOf(await runs.of('both', 'mlp'), 'S10')).toMatchObject({
      confirmation: 'confirmed',
      confirmation_text: expect.stringContaining(
        'nothing gained: the peak of rank 0 was 55.60 GiB in mlp and is 55.60 GiB',
      ),
    });
  });

  it('is refuted where it saves, untested without peaks, silent where it is as fast', async () => {
    expect(await of('both-saves', 'S10', 'mlp')).toBe('refuted');
    expect(await of('both-no-lines', 'S10', 'mlp')).toBe('untested');
    expect(await of('both-as-fast', 'S10', 'mlp')).toBe('silent');
    expect(await of('both', 'S10', 'core')).toBe('silent');
    expect(await of('both', 'S10')).toBe('silent');
  });
});

describe('S16, an offloaded optimizer', () => {
  it('is confirmed at a fraction of 1, with the share of the optimizer where it is timed', async () => {
    expect(hitOf(await runs.of('offload-100', 'resident'), 'S16')).toMatchObject({
      confirmation: 'confirmed',
      confirmation_text: '100 % offloaded here, 0.0 % in resident, and nothing else that bears on it differs',
    });
    expect(hitOf(await runs.of('offload-100-timed', 'resident'), 'S16')).toMatchObject({
      confirmation: 'confirmed',
      confirmation_text: expect.stringContaining('the optimizer takes 80 % of a step'),
    });
  });

  it('is refuted by the timer, and by a smaller fraction', async () => {
    expect(await of('offload-100-elsewhere', 'S16', 'resident')).toBe('refuted');
    expect(await of('offload-50', 'S16', 'resident')).toBe('refuted');
  });

  it('is untested where no fraction is told, silent where it is not so slow', async () => {
    expect(await of('offload-untold', 'S16', 'resident')).toBe('untested');
    expect(await of('offload-25', 'S16', 'resident')).toBe('silent');
    expect(await of('offload-100', 'S16')).toBe('silent');
  });
});

describe('S20, little gain of FP8', () => {
  const shown = (evidence: SymptomEvidence, more: Partial<Timeline>): SymptomEvidence => ({
    ...evidence,
    timelines: [timelineOf(more)],
  });
  const gemm = (ns: number): Partial<Timeline> => ({
    gemm: { total_ns: ns, median_ns: ns / 100 },
    all_kernels_ns: 80e6,
  });

  it('is untested without a timeline, and reports how to get one', async () => {
    const hit = hitOf(await runs.of('fp8', 'resident'), 'S20')!;
    expect(hit).toMatchObject({ confirmation: 'untested', seen: expect.stringContaining('FP8 gains 1.10 times') });
    expect(hit.confirmation_text).toContain('nsys profile');
  });

  it('is confirmed by gaps, and by a small share of matrix products', async () => {
    const evidence = await runs.of('fp8', 'resident');
    const gaps = { launch_gaps: { count: 900, ns: 20e6 } };
    expect(answer(shown(evidence, { ...gemm(60e6), ...gaps }), 'S20')).toBe('confirmed');
    expect(answer(shown(evidence, gemm(20e6)), 'S20')).toBe('confirmed');
    expect(answer(shown(evidence, gemm(60e6)), 'S20')).toBe('refuted');
    expect(answer(shown(evidence, gemm(32e6)), 'S20')).toBe('untested');
    expect(answer(shown(await runs.of('fp8-blocks', 'resident'), gemm(60e6)), 'S20')).toBe('untested');
  });

  it('is untested where more has changed', async () => {
    expect(await of('fp8-mbs', 'S20', 'resident')).toBe('untested');
  });

  it('is silent of a good gain, without FP8, and against FP8', async () => {
    expect(await of('fp8-good', 'S20', 'resident')).toBe('silent');
    expect(await of('core', 'S20', 'resident')).toBe('silent');
    expect(await of('fp8', 'S20', 'fp8-good')).toBe('silent');
    expect(await of('fp8', 'S20')).toBe('silent');
  });
});

describe('S26, a slow edge stage', () => {
  it('is confirmed by a large vocabulary that no split allows for', async () => {
    expect(hitOf(await runs.of('last-slow'), 'S26')).toMatchObject({
      confirmation: 'confirmed',
      seen: 'stage 3 of 4 computes 339.0 ms, of those between the edges none more than 300.0 ms; it holds 55.00 GiB at its peak, the others at most 50.00 GiB',
      confirmation_text: expect.stringContaining('the projection to the vocabulary is worth 1.23 layers'),
      source: expect.stringMatching(/^train\.log line \d+$/),
    });
  });

  it('is refuted by a small one, and by a split that allows for it', async () => {
    expect(await of('last-small', 'S26')).toBe('refuted');
    expect(await of('last-accounted', 'S26')).toBe('refuted');
  });

  it('is untested where the sizes are not told, silent where stages are even or times unknown', async () => {
    expect(await of('last-untold', 'S26')).toBe('untested');
    expect(await of('even', 'S26')).toBe('silent');
    expect(await of('core', 'S26')).toBe('silent');
  });

  it('takes the computing time of exports where no timers were printed', async () => {
    const evidence = await runs.of('core');
    const timelines = [100, 100, 101, 120].map((ms, stage) =>
      timelineOf({ stage, rank: stage, compute_ns: 2 * ms * 1e6 }),
    );
    expect(hitOf({ ...evidence, timelines }, 'S26')).toMatchObject({
      confirmation: 'confirmed',
      seen: expect.stringContaining('stage 3 of 4 computes 120.0 ms'),
    });
  });
});
