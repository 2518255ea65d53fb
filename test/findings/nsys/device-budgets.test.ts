/** Every nanosecond of a window is in one of four parts, whatever ran side by side. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deviceBudgets } from '../../../src/findings/nsys/read-report.js';
import type { NsysBudget, NsysDeviceBudget, NsysStep } from '../../../src/model/results/nsys.js';
import { SEED } from '../../support/level.js';
import { budgetOf } from './expected.js';
import { scratchStore, type Work } from './stored.js';

const GEMM = 'sm90_xmma_gemm_bf16bf16_bf16f32';
const NCCL = 'ncclDevKernel_AllReduce_Sum_bf16_RING_LL';

const scratch = scratchStore();

const work = (what: string, startNs: number, endNs: number, more: Partial<Work> = {}): Work => ({
  ...{ pid: 1, device: 0, startNs, endNs, what, ...more },
});
const step = (index: number, start_ns: number, end_ns: number, pid: number | null = 1): NsysStep => ({
  ...{ index, start_ns, end_ns, pid },
});
const WHOLE = { start: 0, end: 1000 };

async function budgets(all: readonly Work[], steps: readonly NsysStep[] = []): Promise<NsysDeviceBudget[]> {
  return deviceBudgets(scratch.store, await scratch.work(all), steps, WHOLE);
}

function expected(all: readonly Work[], from: number, to: number): NsysBudget {
  const of = (...kinds: readonly string[]): Work[] => all.filter(({ what }) => kinds.includes(what));
  const parts = { compute: of(GEMM, 'graph'), communication: of(NCCL), copy: of('memcpy', 'memset') };
  return budgetOf(parts, from, to);
}

describe('the time of a device', () => {
  it('is that of its streams joined, never added', async () => {
    const [budget] = await budgets(
      [
        work(GEMM, 100, 300),
        work(GEMM, 200, 400),
        work('graph', 380, 420),
        work(NCCL, 350, 600),
        work(NCCL, 350, 500),
        work('memcpy', 590, 700),
        work('memset', 100, 110),
      ],
      [step(1, 0, 1000)],
    );
    expect(budget!.steps[0]).toEqual({
      ...{ index: 1, window_ns: 1000, compute_ns: 320, exposed_communication_ns: 180, exposed_copy_ns: 100 },
      ...{ idle_ns: 400, communication_ns: 250, copy_ns: 120 },
    });
    expect(budget!.per_step).toMatchObject({ window_ns: 1000, idle_ns: 400 });
  });

  it('is of the steps of its process, the first left out of the mean', async () => {
    const steps = [step(7, 0, 100), step(8, 100, 300), step(9, 300, 400), step(7, 50, 150, 2)];
    const actual = await budgets(
      [work(GEMM, 10, 60), work(GEMM, 120, 320), work(GEMM, 60, 90, { pid: 2, device: 1 })],
      steps,
    );
    expect(actual.map(({ pid, device, steps: own }) => [pid, device, own.map(({ compute_ns }) => compute_ns)])).toEqual(
      [
        [1, 0, [50, 180, 20]],
        [2, 1, [30]],
      ],
    );
    expect(actual[0]!.per_step).toMatchObject({ window_ns: 150, compute_ns: 100, idle_ns: 50 });
    expect(actual[1]!.per_step).toMatchObject({ window_ns: 100, compute_ns: 30 });
  });

  it("is of the launcher's steps where only it has ranges, and of the whole where several others have", async () => {
    const mine = [work(GEMM, 10, 60, { pid: 5 })];
    const [of] = await budgets(mine, [step(1, 0, 50, 9), step(2, 50, 100, 9)]);
    expect(of!.steps.map(({ compute_ns }) => compute_ns)).toEqual([40, 10]);
    const [none] = await budgets(mine, [step(1, 0, 50, 8), step(1, 50, 100, 9)]);
    expect(none).toMatchObject({ steps: [], per_step: { window_ns: 1000, compute_ns: 50, idle_ns: 950 } });
  });

  it('is of every device of a process, known or not', async () => {
    const actual = await budgets([
      work(GEMM, 0, 100, { device: 3 }),
      work(GEMM, 0, 200),
      work(GEMM, 0, 300, { pid: null, device: null }),
    ]);
    expect(actual.map(({ pid, device, per_step }) => [pid, device, per_step.compute_ns])).toEqual([
      [null, null, 300],
      [1, 0, 200],
      [1, 3, 100],
    ]);
  });

  it.each([
    ...['ncclDevKernel_SendRecv', 'ncclKernel_AllGather_RING_LL_Sum_int8_t', 'ncclSymkDevKernel_AllReduce'],
    ...['_ZN4vllm19cross_device_reduceI', 'nvshmemi_transfer_rma', 'userbuffers_fp16_sum_inplace_gpu_rr_rs'],
    'multimem_all_reduce_kernel',
  ])('has %s for communication', async (name) => {
    const [budget] = await budgets([work(name, 0, 100)]);
    expect(budget!.per_step).toMatchObject({ compute_ns: 0, communication_ns: 100 });
  });

  it.each(['vectorized_elementwise_kernel', 'reduce_kernel', 'nvjet_tst_256x128', 'flash_fwd_kernel'])(
    'has %s for computation',
    async (name) => {
      const [budget] = await budgets([work(name, 0, 100)]);
      expect(budget!.per_step).toMatchObject({ compute_ns: 100, communication_ns: 0 });
    },
  );

  it('is split by the kind of communication', async () => {
    const source_id = await scratch.work([
      work(GEMM, 0, 10),
      work(NCCL, 5, 25),
      work('ncclDevKernel_SendRecv', 8, 12),
      work('memcpy', 30, 35),
    ]);
    const [times] = await scratch.store.all('nsys.busy_times', { source_id, steps: '[]', from_ns: 0, to_ns: 50 });
    expect(times).toMatchObject({
      ...{ compute_ns: 10, idle_ns: 20, copy_ns: 5, exposed_copy_ns: 5 },
      ...{ collectives_ns: 20, exposed_collectives_ns: 15, sends_ns: 4, exposed_sends_ns: 2 },
      ...{ other_ns: 0, exposed_other_ns: 0, communication_ns: 20, exposed_communication_ns: 15 },
    });
  });

  it("knows DeepEP's kernels by their namespace, which short names lack", async () => {
    const completeName = 'void deep_ep::intranode::dispatch<(int)8, (int)768>(int4 *, float *, long *, int *)';
    const [budget] = await budgets([
      work('dispatch', 0, 100, { completeName }),
      work('dispatch', 300, 350, { completeName: 'void mine::dispatch<(int)8>(int4 *)' }),
    ]);
    expect(budget!.per_step).toMatchObject({ compute_ns: 50, communication_ns: 100 });
  });

  it('adds up for any work and any windows', async () => {
    const some = fc
      .record({
        what: fc.constantFrom(GEMM, GEMM, NCCL, 'memcpy', 'memset', 'graph'),
        pid: fc.integer({ min: 1, max: 2 }),
        startNs: fc.integer({ min: -20, max: 1000 }),
        length: fc.integer({ min: 0, max: 200 }),
      })
      .map(({ length, ...rest }): Work => ({ ...rest, device: 0, endNs: rest.startNs + length }));
    const windows = fc
      .uniqueArray(fc.integer({ min: -50, max: 1100 }), { minLength: 2, maxLength: 12 })
      .map((edges) => edges.sort((a, b) => a - b))
      .map((edges) => edges.slice(0, -1).flatMap((edge, i) => (i % 3 === 1 ? [] : [[edge, edges[i + 1]!] as const])));
    await fc.assert(
      fc.asyncProperty(fc.array(some, { maxLength: 40 }), windows, async (all, edges) => {
        const steps = [1, 2].flatMap((pid) => edges.map(([from, to], i) => step(i, from, to, pid)));
        const actual = await budgets(all, steps);
        const pids = [...new Set(all.map(({ pid }) => pid!))].sort();
        expect(actual.map(({ pid }) => pid)).toEqual(pids);
        for (const { pid, steps: own, per_step } of actual) {
          const mine = all.filter((one) => one.pid === pid);
          expect(own).toEqual(edges.map(([from, to], i) => ({ index: i, ...expected(mine, from, to) })));
          const { compute_ns, exposed_communication_ns, exposed_copy_ns, idle_ns, window_ns } = per_step;
          expect(compute_ns + exposed_communication_ns + exposed_copy_ns + idle_ns).toBeCloseTo(window_ns, 6);
        }
      }),
      { numRuns: 60, seed: SEED },
    );
  });
});
