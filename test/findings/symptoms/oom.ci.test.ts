/** Out of memory: what the guides make of it, against what `diagnose` finds. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GIB } from '../../../src/model/units.js';
import { oomLines, type TrainingLog, trainingLog } from '../../support/training-log.js';
import { answer, envDump, hitOf, type Observed, observe } from './observed.js';

const GIB_IN_MIB = 1024;
const peaks = (first: number, later: number): NonNullable<TrainingLog['peaks']> =>
  [0, 1, 2, 3].map((rank) => ({ rank, first: first * GIB_IN_MIB, later: later * GIB_IN_MIB }));
const EXPANDABLE = envDump({ PYTORCH_CUDA_ALLOC_CONF: 'expandable_segments:True' });
const DEFAULTS = envDump({ NCCL_DEBUG: 'WARN' });

/** 60 GiB of 78 live, 16 free inside: 4 GiB more would fit. */
const FRAGMENTED = oomLines(0, 4, 60, 17);
/** 76 GiB live, 4 asked. */
const FULL = oomLines(0, 4, 76, 0.5);
/** No figures but what was asked. */
const BARE = ['[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB.'];

const BASE = { num_layers: 32, tensor_model_parallel_size: 1, pipeline_model_parallel_size: 1, world_size: 4 };

const log = (
  after: readonly string[],
  more: Partial<TrainingLog> & { readonly set?: Record<string, string | number> } = {},
): string => {
  const { set = {}, ...rest } = more;
  return trainingLog({ iterations: 4, target: 50, arguments: { ...BASE, ...set }, after, finished: false, ...rest });
};

/** 7 B parameters on one device: 16 bytes each, which no 80 GB hold. */
const SEVEN_BILLION = {
  num_layers: 32,
  hidden_size: 4096,
  ffn_hidden_size: 11008,
  num_attention_heads: 32,
  seq_length: 4096,
  micro_batch_size: 1,
  global_batch_size: 4,
  vocab_size: 32000,
  padded_vocab_size: 32000,
  max_position_embeddings: 4096,
  swiglu: 'True',
  bf16: 'True',
  tensor_model_parallel_size: 1,
  pipeline_model_parallel_size: 1,
  world_size: 1,
};
const GPU = 'GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-1111-2222-3333-444444444444)\n';

let runs: Observed;
beforeAll(async () => {
  runs = await observe({
    fragmented: { 'train.log': log(FRAGMENTED, { peaks: peaks(55, 60) }), environ: DEFAULTS },
    'fragmented-no-env': { 'train.log': log(FRAGMENTED, { peaks: peaks(55, 60) }) },
    'fragmented-expandable': { 'train.log': log(FRAGMENTED, { peaks: peaks(55, 60) }), environ: EXPANDABLE },
    'fragmented-buffers': {
      'train.log': log(FRAGMENTED, { peaks: peaks(55, 60), set: { nccl_ub: 'True' } }),
      environ: DEFAULTS,
    },
    full: { 'train.log': log(FULL, { peaks: peaks(55, 60) }), environ: DEFAULTS },
    'full-expandable': { 'train.log': log(FULL, { peaks: peaks(55, 60) }), environ: EXPANDABLE },
    'bare-expandable': { 'train.log': log(BARE), environ: EXPANDABLE },
    'no-headroom': { 'train.log': log(FRAGMENTED, { peaks: peaks(64, 69) }), environ: DEFAULTS },
    'two-ranks': {
      'train.log': log([...FRAGMENTED, ...oomLines(1, 4, 60, 17)], { peaks: peaks(55, 60) }),
      environ: DEFAULTS,
    },
    healthy: { 'train.log': log([], { peaks: peaks(55, 60), finished: true }), environ: EXPANDABLE },
    // S3
    'too-large': {
      'train.log': trainingLog({ iterations: 0, arguments: SEVEN_BILLION, after: FULL, finished: false }),
    },
    'large-but-runs': { 'train.log': trainingLog({ iterations: 5, arguments: SEVEN_BILLION }), 'gpu.log': GPU },
    'large-but-fragmented': {
      'train.log': trainingLog({ iterations: 5, arguments: SEVEN_BILLION, after: FRAGMENTED, finished: false }),
    },
    'not-launched': {
      'train.log': trainingLog({ iterations: 0, arguments: SEVEN_BILLION, finished: false }),
      'gpu.log': GPU,
    },
    small: {
      'train.log': trainingLog({
        iterations: 0,
        arguments: { ...SEVEN_BILLION, num_layers: 4 },
        after: FULL,
        finished: false,
      }),
    },
    // S7
    'no-norm': {
      'train.log': log(FRAGMENTED, {
        peaks: peaks(50, 60),
        set: { recompute_granularity: 'selective', recompute_modules: "['core_attn']" },
      }),
    },
    norm: {
      'train.log': log(FRAGMENTED, {
        peaks: peaks(51, 60.5),
        set: { recompute_granularity: 'selective', recompute_modules: "['core_attn', 'layernorm']" },
      }),
    },
    'norm-saves': {
      'train.log': log(FRAGMENTED, {
        peaks: peaks(40, 52),
        set: { recompute_granularity: 'selective', recompute_modules: "['core_attn', 'layernorm']" },
      }),
    },
    'norm-no-lines': {
      'train.log': log(FRAGMENTED, {
        set: { recompute_granularity: 'selective', recompute_modules: "['core_attn', 'layernorm']" },
      }),
    },
    'norm-and-more': {
      'train.log': log(FRAGMENTED, {
        peaks: peaks(51, 60.5),
        set: {
          recompute_granularity: 'selective',
          recompute_modules: "['core_attn', 'layernorm']",
          sequence_parallel: 'True',
          num_layers: 32,
          use_distributed_optimizer: 'True',
        },
      }),
    },
    // S15, S17
    'offload-full': { 'train.log': log(FULL, { set: { cpu_offloading: 'True' } }) },
    'offload-fragmented': { 'train.log': log(FRAGMENTED, { set: { cpu_offloading: 'True' } }), environ: DEFAULTS },
    'offload-bare': { 'train.log': log(BARE, { set: { cpu_offloading: 'True' } }) },
    'partial-full': {
      'train.log': log(FULL, { set: { optimizer_cpu_offload: 'True', optimizer_offload_fraction: 0.5 } }),
    },
    'partial-fragmented': {
      'train.log': log(FRAGMENTED, { set: { optimizer_cpu_offload: 'True', optimizer_offload_fraction: 0.5 } }),
      environ: DEFAULTS,
    },
    'whole-full': { 'train.log': log(FULL, { set: { optimizer_cpu_offload: 'True', optimizer_offload_fraction: 1 } }) },
  });
});
afterAll(() => runs.close());

const of = async (run: string, id: string, baseline?: string) => answer(await runs.of(run, baseline), id);

describe('S1, one rank with headroom on the others', () => {
  it('is confirmed where the variable is not set and enough is free in pieces', async () => {
    const hit = hitOf(await runs.of('fragmented'), 'S1')!;
    expect(hit).toMatchObject({ confirmation: 'confirmed', source: expect.stringMatching(/^train\.log line \d+$/) });
    expect(hit.seen).toBe(
      "only rank 0 failed, asking for 4.00 GiB; of the others rank 1 reserved most, 67.20 GiB, 11.91 GiB below the device's 79.11 GiB",
    );
    expect(hit.confirmation_text).toMatch(
      /^PYTORCH_CUDA_ALLOC_CONF not set \(the captured environment\); diagnose finds fragmentation/,
    );
  });

  it('is refuted by a full device, and where the variable is set already', async () => {
    expect(await of('full', 'S1')).toBe('refuted');
    expect(await of('fragmented-expandable', 'S1')).toBe('refuted');
  });

  it('does not say to set what the configuration forbids', async () => {
    expect(hitOf(await runs.of('fragmented'), 'S1')!.fix).toMatch(
      /^export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True/,
    );
    const { fix } = hitOf(await runs.of('fragmented-buffers'), 'S1')!;
    expect(fix).not.toContain('export');
    expect(fix).toContain('NCCL user buffers');
  });

  it('is untested where nothing tells the environment', async () => {
    const hit = hitOf(await runs.of('fragmented-no-env'), 'S1')!;
    expect(hit.confirmation).toBe('untested');
    expect(hit.confirmation_text).toContain('add the job script');
  });

  it('is silent where the others have no room, where two failed, and where none did', async () => {
    for (const run of ['no-headroom', 'two-ranks', 'healthy']) expect(await of(run, 'S1'), run).toBe('silent');
  });
});

describe('S2, with expandable segments', () => {
  it('is what diagnose says of it', async () => {
    expect(await of('full-expandable', 'S2')).toBe('confirmed');
    expect(await of('fragmented-expandable', 'S2')).toBe('refuted');
    expect(await of('bare-expandable', 'S2')).toBe('untested');
  });

  it('is silent without them, and without a failure', async () => {
    for (const run of ['full', 'fragmented-no-env', 'healthy']) expect(await of(run, 'S2'), run).toBe('silent');
  });
});

describe('S3, an estimate above the device', () => {
  it('is confirmed by the failure, with the largest component', async () => {
    const hit = hitOf(await runs.of('too-large'), 'S3')!;
    expect(hit).toMatchObject({ confirmation: 'confirmed' });
    expect(hit.confirmation_text).toContain('largest component: optimizer state');
  });

  it('is refuted by a failure of another kind, and silent of a run that goes on', async () => {
    expect(await of('large-but-fragmented', 'S3')).toBe('refuted');
    const goesOn = await runs.of('large-but-runs');
    expect(goesOn.estimate.estimate!.stages[0]!.low_bytes).toBeGreaterThan(goesOn.device_bytes.value!);
    expect(answer(goesOn, 'S3')).toBe('silent');
  });

  it('before the launch is confirmed by the lower bound, and untested between the bounds', async () => {
    const evidence = await runs.of('not-launched');
    expect(hitOf(evidence, 'S3')).toMatchObject({
      confirmation: 'confirmed',
      confirmation_text: expect.stringContaining('even its lower bound does not fit'),
    });
    const estimate = evidence.estimate.estimate!;
    const { low_bytes: low, total_bytes: total } = estimate.stages[estimate.hottest]!;
    const between = { ...evidence.device_bytes, value: Math.round((low + total) / 2) };
    expect(answer({ ...evidence, device_bytes: between }, 'S3')).toBe('untested');
    expect(answer({ ...evidence, device_bytes: { ...between, value: null } }, 'S3')).toBe('silent');
  });

  it('is silent of a model that fits', async () => {
    expect(await of('small', 'S3')).toBe('silent');
  });
});

describe('S7, still out of memory with layernorm', () => {
  it('compares the peaks of before and after', async () => {
    expect(hitOf(await runs.of('norm', 'no-norm'), 'S7')).toMatchObject({
      confirmation: 'confirmed',
      confirmation_text: 'the peak of rank 0 was 60.00 GiB in no-norm and is 60.50 GiB',
    });
    expect(await of('norm-saves', 'S7', 'no-norm')).toBe('refuted');
  });

  it('is untested without peaks, or where more has changed', async () => {
    expect(await of('norm-no-lines', 'S7', 'no-norm')).toBe('untested');
    expect(hitOf(await runs.of('norm-and-more', 'no-norm'), 'S7')).toMatchObject({
      confirmation: 'untested',
      confirmation_text: expect.stringContaining('use_distributed_optimizer'),
    });
  });

  it('is silent without a run from before, or where it was there before', async () => {
    expect(await of('norm', 'S7')).toBe('silent');
    expect(await of('norm', 'S7', 'norm-saves')).toBe('silent');
    expect(await of('no-norm', 'S7', 'no-norm')).toBe('silent');
  });
});

describe('S15, with activation offloading', () => {
  it('is what diagnose says of it', async () => {
    expect(await of('offload-full', 'S15')).toBe('confirmed');
    expect(await of('offload-fragmented', 'S15')).toBe('refuted');
    expect(await of('offload-bare', 'S15')).toBe('untested');
    expect(await of('full', 'S15')).toBe('silent');
  });
});

describe('S17, with a part of the optimizer offloaded', () => {
  it('needs to know what is left on the device', async () => {
    const evidence = await runs.of('partial-full');
    expect(hitOf(evidence, 'S17')).toMatchObject({
      confirmation: 'untested',
      confirmation_text: expect.stringContaining('memory snapshot'),
    });
    const withStates = (bytes: number): typeof evidence => ({
      ...evidence,
      ooms: evidence.ooms.map((verdict) => ({
        ...verdict,
        components: { moment: 'oom', total_bytes: 76 * GIB, parts: [{ component: 'optimizer_state', bytes }] } as const,
      })),
    });
    expect(hitOf(withStates(10 * GIB), 'S17')).toMatchObject({
      confirmation: 'confirmed',
      confirmation_text: expect.stringContaining(
        '10.00 GiB of optimizer state are live on the device at 50 % offloaded',
      ),
    });
    expect(answer(withStates(GIB), 'S17')).toBe('refuted');
  });

  it('is refuted by another cause, and silent where all or nothing is offloaded', async () => {
    expect(await of('partial-fragmented', 'S17')).toBe('refuted');
    expect(await of('whole-full', 'S17')).toBe('silent');
    expect(await of('full', 'S17')).toBe('silent');
  });
});
