/** Steps from handmade annotations: what recordings leave out, nest, repeat, or put on the wrong device. */
import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { readSteps, stepBoundaries } from '../../../src/findings/trace/steps.js';
import type { Store } from '../../../src/store/store.js';
import { addAnnotations, addTrace, emptyStore, type Note, SNAPSHOT, type TraceEntry } from './trace-store.js';

let store: Store;
afterEach(() => store.close());

/** Entries at 0, 1,000, 2,000 … µs. */
const entries = (count: number): TraceEntry[] => Array.from({ length: count }, () => ({ action: 'alloc' }));
const start = (name: string | number, time: number, device = 0): Note => ({
  stage: 'START',
  name: named(name),
  time,
  device,
});
const end = (name: string | number, time: number, device = 0): Note => ({
  stage: 'END',
  name: named(name),
  time,
  device,
});
const named = (name: string | number): string => (typeof name === 'number' ? `ProfilerStep#${name}` : name);
const ADAM = 'Optimizer.step#AdamW.step';

async function stepsOf(notes: readonly Note[], trace: readonly TraceEntry[] = entries(100), cold = true, device = 0) {
  store = await emptyStore();
  // The store's other devices share the annotations.
  await addTrace(store, device, trace, cold ? 0 : 1);
  await addAnnotations(store, notes);
  return readSteps(store, SNAPSHOT, device);
}

const brief = (steps: Awaited<ReturnType<typeof readSteps>>) =>
  steps.steps.map((step) => [step.step, step.first_seq, step.last_seq, step.partial]);

describe('steps of the torch profiler', () => {
  it('are the entries after their start, up to the last at or before their end', async () => {
    const steps = await stepsOf([start(5, 9_500), end(5, 20_000), start(6, 20_000), end(6, 30_999)]);
    expect(steps.origin).toBe('profiler_step');
    expect(steps.steps).toEqual([
      { step: 5, occurrence: 1, first_seq: 10, last_seq: 20, start_us: 9_500, end_us: 20_000, partial: null },
      { step: 6, occurrence: 1, first_seq: 21, last_seq: 30, start_us: 20_000, end_us: 30_999, partial: null },
    ]);
  });

  it('take a missing partner from the step next to them, or are partial at the ends of the recording', async () => {
    const steps = await stepsOf([
      end(1, 10_500),
      start(2, 10_600),
      start(3, 20_500),
      end(3, 30_500),
      end(4, 40_500),
      start(5, 40_600),
    ]);
    expect(brief(steps)).toEqual([
      [1, 0, 10, 'start'],
      [2, 11, 20, null],
      [3, 21, 30, null],
      [4, 31, 40, null],
      [5, 41, 99, 'end'],
    ]);
  });

  it('are partial at the start where the trace lost what came before its first entry', async () => {
    const notes = [start(7, -5_000), end(7, 10_000), start(8, 10_000), end(8, 20_000)];
    expect(brief(await stepsOf(notes, entries(50), false))).toEqual([
      [7, 0, 10, 'start'],
      [8, 11, 20, null],
    ]);
    await store.close();
    // A trace that began with an empty allocator lost nothing.
    expect(brief(await stepsOf(notes, entries(50), true))[0]).toEqual([7, 0, 10, null]);
  });

  it('count once where ranges of the same step lie in each other', async () => {
    const steps = await stepsOf([
      start(1, 1_000),
      start(1, 1_100),
      end(1, 8_900),
      end(1, 9_000),
      start(2, 9_000),
      end(2, 12_000),
    ]);
    expect(brief(steps)).toEqual([
      [1, 2, 9, null],
      [2, 10, 12, null],
    ]);
  });

  it('tell a number that comes again after a restart from the first', async () => {
    const notes = [start(1, 0), end(1, 9_000), start(2, 9_000), end(2, 19_000), start(1, 30_000), end(1, 39_000)];
    const steps = await stepsOf(notes);
    expect(steps.steps.map((step) => [step.step, step.occurrence, step.first_seq, step.last_seq])).toEqual([
      [1, 1, 1, 9],
      [2, 1, 10, 19],
      [1, 2, 31, 39],
    ]);
  });

  it('hold for a device no annotation names, and for a thread that sets its device within one', async () => {
    const notes = [start(1, 0, 0), end(1, 9_000, 3), start(2, 9_000, 3), end(2, 19_000, 3)];
    const ownValues = await stepsOf(notes, entries(100), true, 3);
    expect(brief(ownValues)).toEqual([
      [1, 1, 9, null],
      [2, 10, 19, null],
    ]);
    expect(ownValues.annotationsOfDevice).toBeNull();
    await store.close();
    // Two devices stepped by one process: their steps must not be counted twice for a third.
    const both = [0, 1].flatMap((device) => [start(1, device, device), end(1, 9_000 + device, device)]);
    const second = await stepsOf(
      both.sort((a, b) => a.time - b.time),
      entries(100),
      true,
      5,
    );
    expect(brief(second)).toEqual([[1, 1, 9, null]]);
    expect(second.annotationsOfDevice).toBe(0);
  });

  it('without an entry are counted and left out', async () => {
    const steps = await stepsOf([
      ...[start(1, 0), end(1, 5_000)],
      ...[start(2, 5_100), end(2, 5_900)],
      ...[start(3, 5_900), end(3, 8_000)],
    ]);
    expect(steps.steps.map((step) => step.step)).toEqual([1, 3]);
    expect(steps.withoutEntries).toBe(1);
  });

  it('go before optimizer steps, and lookalikes are none', async () => {
    const names = ['ProfilerStep#', 'ProfilerStep#x', 'my ProfilerStep#3', 'Optimizer.zero_grad#AdamW.zero_grad'];
    const decoys = names.flatMap((name) => [start(name, 100), end(name, 200)]);
    expect(await stepsOf(decoys)).toMatchObject({ origin: null, steps: [] });
    await store.close();
    const steps = await stepsOf([start(1, 0), start(ADAM, 3_000), end(ADAM, 4_000), end(1, 5_000)]);
    expect(steps.origin).toBe('profiler_step');
    expect(brief(steps)).toEqual([[1, 1, 5, null]]);
  });

  it('are unknown where entries have no times, or there is no trace', async () => {
    const notes = [start(1, 0), end(1, 5_000)];
    const untimed = await stepsOf(
      notes,
      entries(5).map((entry) => ({ ...entry, time: null })),
    );
    expect(untimed).toMatchObject({ origin: null, steps: [] });
    expect(await readSteps(store, SNAPSHOT, 9)).toMatchObject({ origin: null, steps: [] });
  });
});

describe('steps from the optimizer', () => {
  const optimizer = (from: number, to: number, name = ADAM): Note[] => [start(name, from), end(name, to)];

  it('end where its steps end; the first and the last are partial', async () => {
    const steps = await stepsOf([
      ...optimizer(9_000, 10_000),
      ...optimizer(19_000, 20_000),
      ...optimizer(29_000, 30_500),
    ]);
    expect(steps.origin).toBe('optimizer_step');
    expect(steps.annotations).toEqual([ADAM]);
    expect(brief(steps)).toEqual([
      [1, 0, 10, 'start'],
      [2, 11, 20, null],
      [3, 21, 30, null],
      [4, 31, 99, 'end'],
    ]);
  });

  it('are one for a chain of optimizers', async () => {
    const muon = 'Optimizer.step#Muon.step';
    const notes = [10_000, 20_000, 30_000, 40_000].flatMap((time) => [
      ...optimizer(time - 500, time - 300),
      ...optimizer(time - 250, time, muon),
    ]);
    const steps = await stepsOf(notes, entries(41));
    expect(brief(steps)).toEqual([
      [1, 0, 10, 'start'],
      [2, 11, 20, null],
      [3, 21, 30, null],
      [4, 31, 40, null],
    ]);
    expect(steps.annotations).toEqual([ADAM, muon]);
  });

  it('count an optimizer inside another once, and none that never ended', async () => {
    const steps = await stepsOf([
      start('Optimizer.step#Outer.step', 9_000),
      ...optimizer(9_100, 9_900),
      end('Optimizer.step#Outer.step', 10_000),
      ...optimizer(19_000, 20_000),
      start(ADAM, 29_000),
    ]);
    expect(brief(steps)).toEqual([
      [1, 0, 10, 'start'],
      [2, 11, 20, null],
      [3, 21, 99, 'end'],
    ]);
  });

  it('keep their number where the trace begins after the first of them', async () => {
    const steps = await stepsOf(
      [...optimizer(-9_000, -8_000), ...optimizer(-2_000, -1_000), ...optimizer(9_000, 10_000)],
      entries(11),
      false,
    );
    expect(brief(steps)).toEqual([[3, 0, 10, 'start']]);
  });
});

describe('places of annotations', () => {
  it('are the last entry at or before their time, as a search through all entries finds it', async () => {
    store = await emptyStore();
    await fc.assert(
      fc.asyncProperty(
        // Long enough for several chunks, with ties and with times that go back.
        fc.array(fc.integer({ min: -3, max: 6 }), { minLength: 1, maxLength: 1200 }),
        fc.array(fc.integer({ min: -50, max: 3000 }), { minLength: 1, maxLength: 20 }),
        async (jumps, times) => {
          for (const table of ['event', 'snapshot_device', 'annotation', 'text_value'])
            await store.run(`DELETE FROM ${table}`);
          let time = 0;
          const trace = jumps.map((jump) => {
            time += jump;
            return { action: 'alloc', time };
          });
          await addTrace(store, 0, trace);
          await addAnnotations(
            store,
            times.map((at) => ({ stage: 'START', name: 'range', time: at })),
          );
          const rows = await store.all('timeline.annotations', {
            snapshot_id: SNAPSHOT,
            device: 0,
            steps: false,
            contains: 'RAN',
          });
          expect(rows).toHaveLength(times.length);
          for (const row of rows) {
            const expected = trace.findLastIndex((entry) => entry.time <= row.time_us);
            expect(row.last_seq).toBe(expected < 0 ? null : expected);
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('boundaries of steps', () => {
  it('are the starts of the profiler and its last end, else the ends of the optimizer', async () => {
    const optimizer = [start(ADAM, 9_000), end(ADAM, 10_000), start(ADAM, 29_000), end(ADAM, 30_000)];
    await stepsOf(optimizer);
    expect(await stepBoundaries(store, SNAPSHOT, 0)).toEqual({ times: Float64Array.of(10_000, 30_000), source: ADAM });
    store.close();
    await stepsOf([...optimizer, start(1, 1_000), end(1, 20_000), start(2, 21_000), end(2, 40_000)]);
    expect(await stepBoundaries(store, SNAPSHOT, 0)).toEqual({
      times: Float64Array.of(1_000, 21_000, 40_000),
      source: 'ProfilerStep#N',
    });
    store.close();
    await stepsOf([start('## forward ##', 1_000)]);
    expect(await stepBoundaries(store, SNAPSHOT, 0)).toBeUndefined();
  });
});
