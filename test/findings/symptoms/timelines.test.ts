/** What is read of an export: waits, gaps and exposed communication, counted by hand. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rankLayout } from '../../../src/derive/run/rank-layout.js';
import { straddles } from '../../../src/findings/symptoms/nvl72.js';
import { trainingLog } from '../../support/training-log.js';
import { exportOf, type Kernel } from './devices.js';
import { answer, hitOf, type Observed, observe } from './observed.js';

const MS = 1_000_000;
const GEMM = 'nvjet_tst_128x256_64x4_2x1_v_bz_TNT';
const NORM = 'void transformer_engine::normalization::rmsnorm_bwd_tuned_kernel<...>(...)';
const REDUCE = 'ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)';
const BUFFERS = 'void userbuffers_fp16_sum_inplace_gpu_rr_rs<8>(...)';
const COMMUNICATION = 20;

const STEP = 100 * MS;
const steps = [0, 1, 2, 3].map((i) => ({ start: i * STEP, end: (i + 1) * STEP }));

/**
 * One step: a matrix product of 40 ms, then a reduction of 20 ms that four norms were launched beside; then four norms
 * on their own.
 */
function step(at: number, normsWait: boolean): Kernel[] {
  const norms = [0, 1, 2, 3].map((i): Kernel => {
    // Streams of their own, so that each is ready when it is launched.
    const begin = normsWait ? at + 60 * MS + 2_000 : at + (42 + 2 * i) * MS;
    return { name: NORM, start: begin, end: begin + MS, stream: 30 + i, launch: at + 41 * MS };
  });
  return [
    { name: GEMM, start: at, end: at + 40 * MS },
    { name: REDUCE, start: at + 40 * MS, end: at + 60 * MS, stream: COMMUNICATION, launch: at },
    ...norms,
    { name: GEMM, start: at + 65 * MS, end: at + 95 * MS, launch: at + 60 * MS },
  ];
}

/** Ten short products in a step, each launched half a millisecond after the one before was over. */
function starved(at: number): Kernel[] {
  return Array.from({ length: 60 }, (_, i) => {
    const start = at + i * 1.5 * MS;
    return { name: GEMM, start, end: start + MS, launch: start - 10_000 };
  });
}

/** Kernels of user buffers that begin only when the product that they should run next to is over. */
function lateBuffers(at: number): Kernel[] {
  return Array.from({ length: 8 }, (_, i) => {
    const begin = at + i * 10 * MS;
    return [
      { name: GEMM, start: begin, end: begin + 8 * MS },
      {
        name: BUFFERS,
        start: begin + 8 * MS + 3_000,
        end: begin + 9 * MS,
        stream: COMMUNICATION,
        launch: begin + 1_000,
      },
    ];
  }).flat();
}

const settings = {
  ...{ tensor_model_parallel_size: 1, pipeline_model_parallel_size: 1, world_size: 8, overlap_grad_reduce: 'True' },
};
const all = (kernels: (at: number) => Kernel[]): Kernel[] => steps.flatMap(({ start }) => kernels(start));
const files = (
  kernels: readonly Kernel[],
  more: Readonly<Record<string, string | number>> = {},
  environment: readonly string[] = [],
) => ({
  'train.log': trainingLog({ arguments: { ...settings, ...more } }),
  'gpu.log': 'GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-1111-2222-3333-444444444444)\n',
  'rank0.sqlite': exportOf({ kernels, steps, environment: ['RANK=0', 'WORLD_SIZE=8', ...environment] }),
});

let runs: Observed;
beforeAll(async () => {
  runs = await observe({
    waiting: files(all((at) => step(at, true))),
    beside: files(all((at) => step(at, false))),
    starved: files(all(starved)),
    buffers: files(all(lateBuffers), { tensor_model_parallel_size: 2, tp_comm_overlap: 'True' }, [
      'CUDA_DEVICE_MAX_CONNECTIONS=32',
    ]),
  });
});
afterAll(() => runs.close());

describe('an export', () => {
  it('reports all steps but the first', async () => {
    const [timeline, ...others] = (await runs.of('waiting')).timelines;
    expect(others).toEqual([]);
    expect(timeline).toMatchObject({
      ...{ path: 'rank0.sqlite', rank: 0, stage: 0, steps: 3, window_ns: 3 * STEP },
      ...{ collectives: { busy_ns: 60 * MS, exposed_ns: 60 * MS }, sends: { busy_ns: 0, exposed_ns: 0 } },
      norm_waits: { met: 12, waited: 12, waited_ns: 12 * (19 * MS + 2_000) },
      ...{ gemm: { count: 6, total_ns: 3 * 70 * MS }, collective_kernels: { count: 3, median_ns: 20 * MS } },
    });
    expect(timeline!.compute_ns).toBe(3 * 71 * MS);
    expect(timeline!.idle_ns).toBe(3 * (100 - 71 - 20) * MS);
  });

  it('counts norms that run next to a collective as met, not as waiting', async () => {
    const [timeline] = (await runs.of('beside')).timelines;
    expect(timeline!.norm_waits).toMatchObject({ met: 12, waited: 0, waited_ns: 0 });
    expect(timeline!.collectives.exposed_ns).toBe(3 * 16 * MS);
  });

  it('distinguishes S21', async () => {
    expect(hitOf(await runs.of('waiting'), 'S21')).toMatchObject({ source: 'rank0.sqlite', confirmation: 'confirmed' });
    expect(answer(await runs.of('beside'), 'S21')).toBe('refuted');
  });

  it('shows a device that waits for launches', async () => {
    const [timeline] = (await runs.of('starved')).timelines;
    // A step has 59 gaps of half a millisecond; that to the next step is longer than any launch.
    expect(timeline!.launch_gaps).toEqual({ count: 3 * 59, ns: 3 * 59 * 0.5 * MS });
    expect(hitOf(await runs.of('starved'), 'S25')).toMatchObject({ confirmation: 'confirmed' });
  });

  it('shows communication of tensor parallelism at the end of its product', async () => {
    const [timeline] = (await runs.of('buffers')).timelines;
    expect(timeline!.overlap_waits).toMatchObject({ met: 24, waited: 24, waited_ns: 24 * (8 * MS + 2_000) });
    expect(hitOf(await runs.of('buffers'), 'S22')).toMatchObject({
      confirmation: 'confirmed',
      confirmation_text: expect.stringContaining('CUDA_DEVICE_MAX_CONNECTIONS=32'),
    });
  });
});

describe('groups across a border', () => {
  const crossing = (world: number, sizes: { tp: number; pp: number; cp?: number; ep?: number }, order?: string) => {
    const layout = rankLayout(world, { cp: 1, ep: 1, etp: 1, ...sizes }, order)!;
    return straddles(world, 72, (rank) => layout.position(rank)).map(
      ({ axis, ranks }) => `${axis} ${ranks[0]}-${ranks.at(-1)}`,
    );
  };

  it('are those that would fit into one domain', () => {
    // The published example: TP 4, DP 16, PP 4. Stage 1 holds ranks 64 to 127.
    const groups = [64, 65, 66, 67, 128, 129, 130, 131, 192, 193, 194, 195];
    expect(crossing(256, { tp: 4, pp: 4 })).toEqual(groups.map((rank) => `dp ${rank}-${rank + 60}`));
    // 72 a stage.
    expect(crossing(288, { tp: 4, pp: 4 })).toEqual([]);
    // Larger than a domain: it crosses whatever one does.
    expect(crossing(256, { tp: 4, pp: 1 })).toEqual([]);
    expect(crossing(160, { tp: 16, pp: 2 })).toContain('tp 64-79');
  });

  it('are of experts too', () => {
    expect(crossing(256, { tp: 1, pp: 4, ep: 16 })).toContain('ep 64-79');
    expect(crossing(256, { tp: 1, pp: 4, ep: 8 })).not.toContain('ep 64-71');
  });
});
