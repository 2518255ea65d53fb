/** Communication and launches: what timelines show, and what the guides make of it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SymptomEvidence, Timeline } from '../../../src/findings/symptoms/evidence.js';
import { type TrainingLog, trainingLog } from '../../support/training-log.js';
import { timelineOf } from './devices.js';
import { answer, envDump, hitOf, type Observed, observe, raised } from './observed.js';

type Settings = Readonly<Record<string, string | number>>;

const SIZES: Settings = {
  num_layers: 32,
  hidden_size: 8192,
  seq_length: 4096,
  global_batch_size: 32,
  micro_batch_size: 1,
};
const gpu = (name: string): string => `GPU 0: NVIDIA ${name} (UUID: GPU-00000000-1111-2222-3333-444444444444)\n`;
const log = (set: Settings, more: TrainingLog = {}): string =>
  trainingLog({ arguments: { ...SIZES, ...set }, ...more });
const first = { tensor_model_parallel_size: 1, pipeline_model_parallel_size: 1 };
const overlap = { overlap_grad_reduce: 'True', overlap_param_gather: 'True', use_distributed_optimizer: 'True' };
const speed = (tflops: number): TrainingLog => ({ tflops: () => tflops, stepMs: () => 700_000 / tflops });
const after = (...lines: readonly string[]): TrainingLog => ({ after: lines });
const timers = (grads: number, params: number): TrainingLog =>
  after(
    'max time across ranks (ms):',
    `    all-grads-sync .................................: ${grads.toFixed(2)}`,
    `    params-all-gather ..............................: ${params.toFixed(2)}`,
  );
const MARGIN = { NVTE_FWD_LAYERNORM_SM_MARGIN: '16', NVTE_BWD_LAYERNORM_SM_MARGIN: '16' };
const UB_FAILURE = raised(
  'AssertionError: Userbuffers comm: tensor of 6144 rows is larger than the registered buffer of 4096',
);

const HOPPER = {
  ...first,
  world_size: 8,
  tensor_model_parallel_size: 2,
  tp_comm_overlap: 'True',
  sequence_parallel: 'True',
};
const NVL = { tensor_model_parallel_size: 4, pipeline_model_parallel_size: 4, world_size: 256 };
const OFFLOAD = { ...first, cpu_offloading: 'True', cpu_offloading_num_layers: 8, world_size: 16 };

let runs: Observed;
beforeAll(async () => {
  runs = await observe({
    dp: { 'train.log': log({ ...first, ...overlap, world_size: 8 }), environ: envDump({ NCCL_DEBUG: 'WARN' }) },
    'dp-margin': { 'train.log': log({ ...first, ...overlap, world_size: 8 }), environ: envDump(MARGIN) },
    'dp-no-env': { 'train.log': log({ ...first, ...overlap, world_size: 8 }) },
    'dp-no-overlap': { 'train.log': log({ ...first, world_size: 8 }) },
    single: { 'train.log': log({ ...first, ...overlap, world_size: 1 }) },
    // S22
    hopper: {
      'train.log': log(HOPPER),
      'gpu.log': gpu('H100 80GB HBM3'),
      environ: envDump({ CUDA_DEVICE_MAX_CONNECTIONS: '8' }),
    },
    'hopper-one': {
      'train.log': log(HOPPER),
      'gpu.log': gpu('H100 80GB HBM3'),
      environ: envDump({ CUDA_DEVICE_MAX_CONNECTIONS: '1' }),
    },
    'hopper-no-env': { 'train.log': log(HOPPER), 'gpu.log': gpu('H100 80GB HBM3') },
    'hopper-fsdp': {
      'train.log': log({ ...HOPPER, use_megatron_fsdp: 'True' }),
      'gpu.log': gpu('H100 80GB HBM3'),
      environ: envDump({ CUDA_DEVICE_MAX_CONNECTIONS: '8' }),
    },
    blackwell: {
      'train.log': log(HOPPER),
      'gpu.log': gpu('B200'),
      environ: envDump({ CUDA_DEVICE_MAX_CONNECTIONS: '8' }),
    },
    // S23
    'ub-variable': {
      'train.log': log({ ...HOPPER, variable_seq_lengths: 'True' }, { ...after(...UB_FAILURE), finished: false }),
    },
    'ub-fixed': {
      'train.log': log({ ...HOPPER, variable_seq_lengths: 'False' }, { ...after(...UB_FAILURE), finished: false }),
    },
    'ub-untold': { 'train.log': log(HOPPER, { ...after(...UB_FAILURE), finished: false }) },
    'ub-unfailed': { 'train.log': log({ ...HOPPER, variable_seq_lengths: 'True' }) },
    // S24
    'dp-64': {
      'train.log': log({
        ...first,
        world_size: 64,
        grad_reduce_in_fp32: 'False',
        num_distributed_optimizer_instances: 1,
      }),
    },
    'dp-64-fp32': { 'train.log': log({ ...first, world_size: 64, grad_reduce_in_fp32: 'True' }, timers(150, 50)) },
    'dp-64-bucket': {
      'train.log': log(
        { ...first, world_size: 64, grad_reduce_in_fp32: 'False', bucket_size: 1000000 },
        timers(150, 50),
      ),
    },
    'dp-64-timers': { 'train.log': log({ ...first, world_size: 64, grad_reduce_in_fp32: 'False' }, timers(150, 50)) },
    'dp-256': { 'train.log': log({ ...first, world_size: 256, grad_reduce_in_fp32: 'False' }, timers(150, 50)) },
    'dp-64-fast': { 'train.log': log({ ...first, world_size: 64, grad_reduce_in_fp32: 'True' }, timers(15, 5)) },
    // S25
    slow: { 'train.log': log(first, { ...speed(60), iterations: 12 }), 'gpu.log': gpu('H100 80GB HBM3') },
    jitter: {
      'train.log': log(first, { iterations: 20, stepMs: (i) => (i % 2 === 0 ? 1000 : 1400) }),
      'gpu.log': gpu('H100 80GB HBM3'),
    },
    minutes: { 'train.log': log(first, { iterations: 20, stepMs: (i) => (i % 2 === 0 ? 300_000 : 450_000) }) },
    usual: { 'train.log': log(first, { ...speed(420), iterations: 20 }), 'gpu.log': gpu('H100 80GB HBM3') },
    // S27
    'cp-2': {
      'train.log': log(
        { ...first, context_parallel_size: 2, world_size: 8, hidden_size: 4096, seq_length: 16384 },
        speed(500),
      ),
    },
    'cp-8': {
      'train.log': log(
        { ...first, context_parallel_size: 8, world_size: 8, hidden_size: 4096, seq_length: 16384 },
        speed(400),
      ),
    },
    'cp-4': {
      'train.log': log(
        { ...first, context_parallel_size: 4, world_size: 8, hidden_size: 4096, seq_length: 16384 },
        speed(450),
      ),
    },
    'cp-8-fast': {
      'train.log': log(
        { ...first, context_parallel_size: 8, world_size: 8, hidden_size: 4096, seq_length: 16384 },
        speed(510),
      ),
    },
    'cp-4-mbs': {
      'train.log': log(
        {
          ...first,
          context_parallel_size: 4,
          world_size: 8,
          hidden_size: 4096,
          seq_length: 16384,
          micro_batch_size: 2,
        },
        speed(400),
      ),
    },
    skinny: { 'train.log': log({ ...first, context_parallel_size: 4, world_size: 8 }, speed(400)) },
    'skinny-2': { 'train.log': log({ ...first, context_parallel_size: 2, world_size: 8 }, speed(400)) },
    // S28
    nvl72: { 'train.log': log(NVL), 'gpu.log': gpu('GB200') },
    'nvl72-contained': {
      'train.log': log({ ...NVL, tensor_model_parallel_size: 4, pipeline_model_parallel_size: 6, world_size: 432 }),
      'gpu.log': gpu('GB200'),
    },
    'nvl72-dp': { 'train.log': log({ ...first, world_size: 256 }), 'gpu.log': gpu('GB200') },
    'nvl72-64': { 'train.log': log(NVL), 'gpu.log': gpu('GB200'), environ: envDump({ NVLINK_DOMAIN_SIZE: '64' }) },
    'not-nvl72': { 'train.log': log(NVL), 'gpu.log': gpu('H100 80GB HBM3') },
    // S29
    offload: { 'train.log': log(OFFLOAD), environ: envDump({ NCCL_VERSION: '2.27.3' }) },
    'offload-set': { 'train.log': log(OFFLOAD), environ: envDump({ NCCL_VERSION: '2.27.3', NCCL_NET_GDR_C2C: '1' }) },
    'offload-old': { 'train.log': log(OFFLOAD), environ: envDump({ NCCL_VERSION: '2.21.5', NCCL_NET_GDR_C2C: '1' }) },
    'offload-no-env': { 'train.log': log(OFFLOAD) },
    'offload-one-node': {
      'train.log': log({ ...OFFLOAD, world_size: 8 }),
      environ: envDump({ NCCL_VERSION: '2.27.3' }),
    },
  });
});
afterAll(() => runs.close());

const of = async (run: string, id: string, more?: Partial<Timeline>, baseline?: string) => {
  const evidence = await runs.of(run, baseline);
  return answer(more === undefined ? evidence : shown(evidence, more), id);
};
const shown = (evidence: SymptomEvidence, more: Partial<Timeline>): SymptomEvidence => ({
  ...evidence,
  timelines: [timelineOf(more)],
});

describe('S21, no overlap of data parallelism', () => {
  const exposed = { collectives: { busy_ns: 20e6, exposed_ns: 15e6 } };
  const waiting = { ...exposed, norm_waits: { met: 20, waited: 18, waited_ns: 9e6 } };

  it('is confirmed by normalization kernels that wait', async () => {
    expect(hitOf(shown(await runs.of('dp'), waiting), 'S21')).toMatchObject({
      confirmation: 'confirmed',
      seen: expect.stringContaining('75 % of the collectives do not overlap computation, 15 % of the time'),
      confirmation_text: expect.stringContaining(
        'of 20 normalization kernels that could have overlapped a collective, 18 began only at its end',
      ),
      source: 'nsys.sqlite',
    });
  });

  it('is refuted by kernels that do not, and by margins that are there', async () => {
    expect(await of('dp', 'S21', { ...exposed, norm_waits: { met: 20, waited: 1, waited_ns: 1e5 } })).toBe('refuted');
    expect(await of('dp-margin', 'S21', waiting)).toBe('refuted');
  });

  it('is untested with too few kernels, or an unknown environment', async () => {
    expect(await of('dp', 'S21', exposed)).toBe('untested');
    expect(await of('dp-no-env', 'S21', waiting)).toBe('untested');
  });

  it('is silent where it overlaps, was not asked to, and without an export', async () => {
    expect(await of('dp', 'S21', {})).toBe('silent');
    expect(await of('dp-no-overlap', 'S21', waiting)).toBe('silent');
    expect(await of('single', 'S21', waiting)).toBe('silent');
    expect(await of('dp', 'S21')).toBe('silent');
  });
});

describe('S22, no overlap of tensor parallelism', () => {
  const late = { overlap_waits: { met: 40, waited: 39, waited_ns: 4e6 } };
  const beside = { overlap_waits: { met: 40, waited: 2, waited_ns: 1e5 } };

  it('is confirmed by the order of kernels', async () => {
    expect(hitOf(shown(await runs.of('hopper'), late), 'S22')).toMatchObject({
      confirmation: 'confirmed',
      confirmation_text: expect.stringContaining('CUDA_DEVICE_MAX_CONNECTIONS=8'),
    });
  });

  it('is refuted by kernels that run next to each other, and by the variable being 1', async () => {
    expect(await of('hopper', 'S22', beside)).toBe('refuted');
    expect(await of('hopper-one', 'S22', late)).toBe('refuted');
  });

  it('is untested without an export, or an environment', async () => {
    expect(await of('hopper', 'S22')).toBe('untested');
    expect(await of('hopper-no-env', 'S22', late)).toBe('untested');
  });

  it('is silent on other devices, with FSDP, and where all is as it should be', async () => {
    for (const run of ['blackwell', 'hopper-fsdp', 'hopper-one', 'hopper-no-env'])
      expect(await of(run, 'S22'), run).toBe('silent');
    expect(await of('blackwell', 'S22', late)).toBe('silent');
  });
});

describe('S23, changing shapes', () => {
  it('is confirmed, refuted or left open by what the configuration says of shapes', async () => {
    expect(await of('ub-variable', 'S23')).toBe('confirmed');
    expect(await of('ub-fixed', 'S23')).toBe('refuted');
    expect(await of('ub-untold', 'S23')).toBe('untested');
    expect(await of('ub-unfailed', 'S23')).toBe('silent');
  });
});

describe('S24, slow collectives at scale', () => {
  const exposed = (median_ns: number): Partial<Timeline> => ({
    collectives: { busy_ns: 30e6, exposed_ns: 20e6 },
    collective_kernels: { total_ns: 30e6, median_ns },
  });

  it('is confirmed by small messages, small buckets, precision, or a long ring', async () => {
    expect(await of('dp-64', 'S24', exposed(60e3))).toBe('confirmed');
    expect(hitOf(await runs.of('dp-64-fp32'), 'S24')).toMatchObject({
      confirmation: 'confirmed',
      seen: 'all-grads-sync 150.0 ms and params-all-gather 50.0 ms of a step of 1000.0 ms, at DP 64',
    });
    expect(await of('dp-64-bucket', 'S24')).toBe('confirmed');
    expect(await of('dp-256', 'S24')).toBe('confirmed');
  });

  it('is refuted by large messages, untested where sizes are unknown', async () => {
    expect(await of('dp-64', 'S24', exposed(5e6))).toBe('refuted');
    expect(await of('dp-64', 'S24', exposed(400e3))).toBe('untested');
    expect(await of('dp-64-timers', 'S24')).toBe('untested');
  });

  it('is silent where they are fast, or few', async () => {
    expect(await of('dp-64-fast', 'S24')).toBe('silent');
    expect(await of('dp-64', 'S24', {})).toBe('silent');
    expect(await of('dp', 'S24', exposed(60e3))).toBe('silent');
  });
});

describe('S25, host overhead', () => {
  const gaps = (ns: number): Partial<Timeline> => ({ idle_ns: 30e6, launch_gaps: { count: 5000, ns } });

  it('is told by low throughput, jitter, or idle devices', async () => {
    expect(hitOf(await runs.of('slow'), 'S25')).toMatchObject({
      confirmation: 'untested',
      seen: '60.0 TFLOP/s per GPU are 6.1 % of the 989 dense BF16 of NVIDIA H100 80GB HBM3',
    });
    expect(hitOf(await runs.of('jitter'), 'S25')).toMatchObject({
      seen: expect.stringMatching(/steps of \d+\.\d ms vary/),
    });
    expect(hitOf(shown(await runs.of('usual'), gaps(20e6)), 'S25')).toMatchObject({
      confirmation: 'confirmed',
      seen: 'the device of rank 0 does nothing for 30 % of its steps',
    });
  });

  it('is confirmed by launches that come too late, and refuted by launches in time', async () => {
    expect(await of('slow', 'S25', gaps(20e6))).toBe('confirmed');
    expect(await of('slow', 'S25', gaps(1e6))).toBe('refuted');
    expect(await of('slow', 'S25', gaps(9e6))).toBe('untested');
  });

  it('is silent of a usual run', async () => {
    expect(await of('usual', 'S25')).toBe('silent');
    expect(await of('usual', 'S25', {})).toBe('silent');
    // Minutes vary for other reasons than the host.
    expect(await of('minutes', 'S25')).toBe('silent');
  });
});

describe('S27, more context parallelism', () => {
  const ring = (exposed_ns: number): Partial<Timeline> => ({ sends: { busy_ns: 20e6, exposed_ns } });

  it('is confirmed by short chunks, or by an exposed ring', async () => {
    expect(hitOf(await runs.of('cp-8', 'cp-2'), 'S27')).toMatchObject({
      confirmation: 'confirmed',
      seen: expect.stringContaining('400.0 TFLOP/s per GPU against 500.0 of cp-2 (−20 %), from CP 2 to CP 8'),
      confirmation_text: expect.stringContaining('a chunk of 2,048 tokens with a hidden size of 4,096'),
    });
    expect(await of('cp-4', 'S27', ring(9e6), 'cp-2')).toBe('confirmed');
    expect(await of('skinny', 'S27', ring(9e6))).toBe('confirmed');
  });

  it('is refuted by a hidden ring with long chunks, and by a run that is not slower', async () => {
    expect(await of('cp-4', 'S27', ring(1e6), 'cp-2')).toBe('refuted');
    expect(await of('skinny', 'S27', undefined, 'skinny-2')).toBe('refuted');
  });

  it('is untested without measurements, or where more has changed', async () => {
    expect(await of('skinny', 'S27')).toBe('untested');
    expect(await of('cp-4', 'S27', undefined, 'cp-2')).toBe('untested');
    expect(await of('cp-4-mbs', 'S27', undefined, 'cp-2')).toBe('untested');
  });

  it('is silent without context parallelism, and where it is no slower', async () => {
    expect(await of('dp', 'S27')).toBe('silent');
    expect(await of('cp-8', 'S27')).toBe('silent');
    expect(await of('cp-8-fast', 'S27', undefined, 'cp-2')).toBe('silent');
  });
});

describe('S28, groups across NVL72', () => {
  const slow = { collectives: { busy_ns: 30e6, exposed_ns: 20e6 } };

  it('counts members by the order of ranks', async () => {
    const hit = hitOf(shown(await runs.of('nvl72'), slow), 'S28')!;
    expect(hit.confirmation).toBe('confirmed');
    // DP 16 of TP 4: stage 1 holds ranks 64 to 127, and its groups cross rank 72.
    expect(hit.confirmation_text).toContain('e.g. the DP group of ranks 64 to 124 (border at rank 72)');
  });

  it('is refuted where nothing is slow, or nothing crosses', async () => {
    expect(await of('nvl72', 'S28', {})).toBe('refuted');
    expect(await of('nvl72-contained', 'S28', slow)).toBe('refuted');
  });

  it('is untested without a timeline', async () => {
    expect(await of('nvl72', 'S28')).toBe('untested');
  });

  it('is silent for one kind of parallelism, 64 GPUs of each domain, and other systems', async () => {
    for (const run of ['nvl72-contained', 'nvl72-dp', 'nvl72-64', 'not-nvl72'])
      expect(await of(run, 'S28'), run).toBe('silent');
  });
});

describe('S29, offloading and the network', () => {
  const slow = { collectives: { busy_ns: 30e6, exposed_ns: 20e6 } };

  it('is confirmed by a slow network and a missing variable of that version', async () => {
    expect(hitOf(shown(await runs.of('offload'), slow), 'S29')).toMatchObject({
      confirmation: 'confirmed',
      confirmation_text: 'offloading is on and NCCL_NET_GDR_C2C not set',
    });
    expect(await of('offload-old', 'S29', slow)).toBe('confirmed');
  });

  it('is refuted by the variable, and by a network that is not slow', async () => {
    expect(await of('offload-set', 'S29', slow)).toBe('refuted');
    expect(await of('offload', 'S29', {})).toBe('refuted');
  });

  it('is untested without a timeline, or without version and variables', async () => {
    expect(await of('offload', 'S29')).toBe('untested');
    expect(await of('offload-no-env', 'S29', slow)).toBe('untested');
  });

  it('is silent on one node, with the variable set, and without offloading', async () => {
    for (const run of ['offload-one-node', 'offload-set', 'offload-no-env', 'dp-64'])
      expect(await of(run, 'S29'), run).toBe('silent');
  });
});
