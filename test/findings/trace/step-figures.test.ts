/** Figures of steps against sums made entry by entry, and what they say about growth. */
import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { stepCuts } from '../../../src/derive/step-cuts.js';
import { stepFigures, stepGrowth } from '../../../src/findings/trace/step-figures.js';
import type { StepRange, TimelineStep } from '../../../src/model/results/timeline.js';
import { MIB } from '../../../src/model/units.js';
import type { Store } from '../../../src/store/store.js';
import { SEED } from '../../support/level.js';
import { addBuckets, addTrace, type Bucket, emptyStore, SNAPSHOT } from './trace-store.js';

const SEGMENTS = ['segment_alloc', 'segment_map', 'segment_free', 'segment_unmap'];
const ACTIONS = ['alloc', 'free_requested', 'free_completed', ...SEGMENTS, 'oom', 'snapshot'];

const range = (step: number, first_seq: number, last_seq: number): StepRange => ({
  ...{ step, occurrence: 1, first_seq, last_seq, start_us: first_seq * 1000 - 500, end_us: last_seq * 1000 },
  partial: null,
});

describe('figures of steps', () => {
  let store: Store;
  afterEach(() => store.close());

  it('equal sums entry by entry, however coarse the rows are', async () => {
    store = await emptyStore();
    const entry = fc.record({
      action: fc.constantFrom(...ACTIONS),
      size: fc.integer({ min: 1, max: 10_000 }),
      active: fc.integer({ min: 0, max: 1000 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(entry, { minLength: 1, maxLength: 900 }),
        fc.constantFrom(1, 2, 64, 1024),
        fc.uniqueArray(fc.nat(899), { maxLength: 14 }),
        async (entries, width, bounds) => {
          for (const table of ['trace_entry', 'snapshot_device', 'derived_bucket'])
            await store.run(`DELETE FROM ${table}`);
          const edges = bounds.filter((seq) => seq < entries.length).sort((a, b) => a - b);
          // Between every other pair of edges, so that there are gaps.
          const steps: StepRange[] = [];
          for (let i = 0; i + 1 < edges.length; i += 2) steps.push(range(i, edges[i]!, edges[i + 1]!));
          await addTrace(store, 0, entries);
          const active = entries.map((item) => item.active);
          await addBuckets(store, 0, rowsOf(active, width, stepCuts(steps)));
          const figures = await stepFigures(store, SNAPSHOT, 0, steps);
          expect(figures.map((step) => step.step)).toEqual(steps.map((step) => step.step));
          figures.forEach((step) => {
            const mine = entries.slice(step.first_seq, step.last_seq + 1);
            const of = (...actions: string[]) => mine.filter((item) => actions.includes(item.action));
            const bytes = (items: readonly { size: number }[]) => items.reduce((sum, item) => sum + item.size, 0);
            const states = mine.map((item) => item.active);
            const peak = Math.max(...states);
            const taken = of('segment_alloc', 'segment_map');
            const given = of('segment_free', 'segment_unmap');
            expect(step).toMatchObject({
              ...{ peak_active_bytes: peak, peak_reserved_bytes: peak },
              ...{ end_active_bytes: states.at(-1), end_reserved_bytes: states.at(-1) },
              start_active_bytes: step.first_seq > 1 ? entries[step.first_seq - 1]!.active : null,
              ...{ allocs: of('alloc').length, frees: of('free_completed').length },
              allocated_requested_bytes: bytes(of('alloc')),
              ...{ segment_allocs: taken.length, segment_alloc_bytes: bytes(taken) },
              ...{ segment_frees: given.length, segment_free_bytes: bytes(given) },
              duration_us: (step.last_seq - step.first_seq) * 1000 + 500,
            });
            const first = step.first_seq + states.indexOf(peak);
            expect(first).toBeGreaterThanOrEqual(step.peak_first_seq);
            expect(first).toBeLessThanOrEqual(step.peak_last_seq);
            if (width === 1) expect(step.peak_first_seq).toBe(step.peak_last_seq);
          });
        },
      ),
      { numRuns: 60, seed: SEED },
    );
  });

  it('of no steps are none', async () => {
    store = await emptyStore();
    expect(await stepFigures(store, SNAPSHOT, 0, [])).toEqual([]);
  });
});

/** Rows as the specification of `derived_bucket` has them: runs of `width` entries, cut after each of `cuts`. */
function rowsOf(active: readonly number[], width: number, cuts: readonly number[]): Bucket[] {
  const ends = new Set(cuts);
  const rows: Bucket[] = [];
  let first = 0;
  active.forEach((_, seq) => {
    if ((seq + 1) % width !== 0 && !ends.has(seq) && seq !== active.length - 1) return;
    const states = active.slice(first, seq + 1);
    rows.push({ first_seq: first, last_seq: seq, active: [Math.min(...states), Math.max(...states)] });
    first = seq + 1;
  });
  return rows;
}

describe('growth', () => {
  /** Steps that end with so many MiB active. */
  const ending = (...mib: number[]): TimelineStep[] =>
    mib.map((value, i) => ({
      ...range(i + 1, i * 10, i * 10 + 9),
      ...{ start_active_bytes: null, end_active_bytes: value * MIB, end_reserved_bytes: 0, duration_us: null },
      ...{ peak_active_bytes: 0, peak_first_seq: 0, peak_last_seq: 0, peak_reserved_bytes: 0 },
      ...{ allocs: 0, frees: 0, allocated_requested_bytes: 0, segment_allocs: 0, segment_alloc_bytes: 0 },
      ...{ segment_frees: 0, segment_free_bytes: 0 },
    }));
  const growthOf = (...mib: number[]) => {
    const steps = ending(...mib);
    return stepGrowth(steps, steps[0]);
  };

  it('is the median difference after the warm-up, with its spread', () => {
    expect(growthOf(0, 1000, 1012, 1024, 1039, 1050)).toEqual({
      ...{ trend: 'rising', n: 4, first_step: 2, last_step: 6, total_bytes: 50 * MIB },
      ...{ median_bytes_per_step: 12 * MIB, min_bytes_per_step: 11 * MIB, max_bytes_per_step: 15 * MIB },
      ...{ lowest_end_bytes: 1000 * MIB, highest_end_bytes: 1050 * MIB },
    });
  });

  it.each([
    // Even a thousandth of a thousandth a step, if it never pauses.
    ['rising', [0, 50_000, 50_000.5, 50_001, 50_001.5]],
    ['level', [0, 50_000, 50_000.5, 50_000.25, 50_001]],
    // The second half adds nothing.
    ['plateau', [0, 100, 200, 300, 300, 300, 300]],
    ['mixed', [0, 300, 300, 300, 300, 400, 500]],
    ['mixed', [0, 300, 200, 300, 200, 300]],
    ['mixed', [0, 500, 400, 300, 300, 300]],
  ])('is %s: %o', (trend, ends) => {
    expect(growthOf(...ends)?.trend).toBe(trend);
  });

  it('is none where steps end alike, and no trend with fewer than three differences', () => {
    expect(growthOf(0, 300, 300)).toMatchObject({ trend: 'level', n: 1, total_bytes: 0 });
    expect(growthOf(0, 300, 310)).toMatchObject({ trend: null, n: 1, total_bytes: 10 * MIB });
    expect(growthOf(0, 300, 310, 320)).toMatchObject({ trend: null, n: 2 });
    for (const ends of [[0, 300], []]) expect(growthOf(...ends)).toBeNull();
  });

  it('leaves partial steps out, and no warm-up where the first step is not shown', () => {
    const steps = ending(1, 300, 310, 320, 330, 999);
    const cut = steps.map((step, i): TimelineStep => (i === 5 ? { ...step, partial: 'end' } : step));
    expect(stepGrowth(cut, cut[0])).toMatchObject({ n: 3, max_bytes_per_step: 10 * MIB, last_step: 5 });
    expect(stepGrowth(cut.slice(1), cut[0])).toMatchObject({ n: 3, first_step: 2 });
    const late = steps.map((step, i): TimelineStep => (i === 0 ? { ...step, partial: 'start' } : step)).slice(0, 5);
    expect(stepGrowth(late, late[0])).toMatchObject({ n: 3, first_step: 2 });
  });
});
