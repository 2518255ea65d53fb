/** Whole timelines of ingested snapshots, where rows summarise several entries. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PyText, type PyValue } from '../../../samples/generate/write/pickle-writer.js';
import { describeTimelines, type TimelineOptions } from '../../../src/findings/timeline/timeline.js';
import type { TimelineTrace } from '../../../src/model/results/timeline.js';
import { MIB } from '../../../src/model/units.js';
import { scratchDirectory } from '../../store/scratch.js';
import { ingested } from '../../support/new-store.js';
import { BASE, smallSnapshot } from '../../support/small-snapshot.js';

const T0 = 1_700_000_000_000_000;
const COUNT = 139_998;
/** Odd, so that steps never end where rows of four entries do. */
const PER_STEP = 10_001;
const STEPS = Math.floor(COUNT / PER_STEP);

const note = (stage: string, step: number, seq: number): PyValue =>
  new Map<string, PyValue>([
    ['stage', new PyText(stage)],
    ['name', new PyText(`ProfilerStep#${step}`)],
    ['device', 0],
    // Entry n has time n; the step holds the entries after its start.
    ['time_us', T0 + seq],
  ]);

describe('timelines of long traces', () => {
  it('have exact steps, whether rows hold one entry or several', async () => {
    const directory = scratchDirectory();
    const path = join(directory, 'snapshot_0.pickle');
    // alloc, free_requested, free_completed in turn, of a size that tells the entry.
    const sizeOf = (seq: number): number => (2 + (Math.floor(seq / 3) % 500)) * MIB;
    writeFileSync(
      path,
      smallSnapshot({
        segments: [[{ size: 1024 * MIB, state: 'inactive' }]],
        entries: Array.from({ length: COUNT }, (_, seq) => ({
          action: ['alloc', 'free_requested', 'free_completed'][seq % 3]!,
          addr: BASE,
          size: sizeOf(seq),
        })),
        top: {
          external_annotations: Array.from({ length: STEPS }, (_, n) => [
            note('START', n, n * PER_STEP - 1),
            note('END', n, (n + 1) * PER_STEP - 1),
          ]).flat(),
        },
      }),
    );
    const { store } = await ingested(join(directory, 'store.duckdb'), [path]);
    const traceOf = async (zoom: TimelineOptions['zoom']): Promise<TimelineTrace> => {
      const result = await describeTimelines(store, {}, { columns: 100, by: 'index', zoom });
      return result.snapshots[0]!.devices[0]!.trace!;
    };
    try {
      const complete = await traceOf({ from: undefined, to: undefined });
      expect(complete).toMatchObject({ entries: COUNT, entries_per_row: 4, basis: 'actual', column_count: 100 });
      expect(complete.steps.rows).toHaveLength(STEPS);
      const active = (seq: number): number => (seq % 3 === 2 ? 0 : sizeOf(seq));
      complete.steps.rows.forEach((step, n) => {
        const first = n * PER_STEP;
        const last = first + PER_STEP - 1;
        const states = Array.from({ length: PER_STEP }, (_, i) => active(first + i));
        const peak = Math.max(...states);
        const before = n === 0 ? null : active(first - 1);
        expect(step).toMatchObject({
          ...{ first_seq: first, last_seq: last, peak_active_bytes: peak, end_active_bytes: states.at(-1) },
          start_active_bytes: before,
        });
        const at = first + states.indexOf(peak);
        expect(at).toBeGreaterThanOrEqual(step.peak_first_seq);
        expect(at).toBeLessThanOrEqual(step.peak_last_seq);
        expect(step.peak_last_seq - step.peak_first_seq).toBeLessThan(4);
      });
      expect(complete.marks.peak_active.bytes).toBe(501 * MIB);
      expect(Math.max(...complete.columns.map((column) => column.active_max_bytes))).toBe(501 * MIB);

      // Zoomed, a row is an entry, and the same steps have the same figures to the entry.
      const zoomed = await traceOf({ from: { kind: 'step', step: 3 }, to: { kind: 'step', step: 5 } });
      expect(zoomed).toMatchObject({ entries_per_row: 1, zoomed: true });
      zoomed.steps.rows.forEach((step, i) => {
        const coarse = complete.steps.rows[3 + i]!;
        expect(step.peak_first_seq).toBe(step.peak_last_seq);
        expect(step.peak_first_seq).toBeGreaterThanOrEqual(coarse.peak_first_seq);
        expect(step.peak_first_seq).toBeLessThanOrEqual(coarse.peak_last_seq);
        const { peak_first_seq: _, peak_last_seq: __, start_active_bytes: ___, ...figures } = step;
        expect(coarse).toMatchObject(figures);
      });
      expect(zoomed.steps.rows).toHaveLength(3);
    } finally {
      await store.close();
    }
  });
});
