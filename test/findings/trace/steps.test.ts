/** Steps from handmade annotations: what recordings leave out, nest, repeat, or put on the wrong device. */
import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { readSteps, stepBoundaries } from '../../../src/findings/trace/steps.js';
import { findSteps, marksStep, type TraceSpan } from '../../../src/ingest/derive/steps.js';
import type { Store } from '../../../src/store/store.js';
import {
  addAnnotations,
  addTrace,
  deriveTraces,
  emptyStore,
  type Note,
  SNAPSHOT,
  type TraceEntry,
} from './trace-store.js';

let store: Store | undefined;
afterEach(async () => {
  await store?.close();
  store = undefined;
});

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

/** The trace as the steps are cut to it, by a search through all its entries. */
function spanOf(trace: readonly TraceEntry[], beganEmpty: boolean, device: number): TraceSpan {
  const times = trace.map(({ time }, seq) => (time === undefined ? seq * 1000 : (time ?? Number.NaN)));
  const known = times.filter((time) => !Number.isNaN(time));
  return {
    device,
    entries: trace.length,
    firstTimeUs: known.length === 0 ? null : Math.min(...known),
    beganEmpty,
    lastSeqs: (at) => Int32Array.from(at, (limit) => times.findLastIndex((time) => time <= limit)),
  };
}

/** The steps with an entry in the trace; `origin` null: there are none to be known. */
function stepsOf(notes: readonly Note[], trace: readonly TraceEntry[] = entries(100), cold = true, device = 0) {
  const annotations = notes
    .map((note, ordinal) => ({ ...note, ordinal, device: note.device ?? 0, time_us: note.time }))
    .filter(({ name }) => marksStep(name));
  const found = findSteps(annotations, spanOf(trace, cold, device));
  if (found === undefined)
    return { origin: null, steps: [], annotations: [], annotationsOfDevice: null, withoutEntries: 0 };
  const { spans, ...about } = found;
  const steps = spans.flatMap(({ range, ...span }) => (range === null ? [] : [{ ...span, ...range }]));
  return { ...about, steps };
}

/** The same in a store, which holds nothing else. */
async function storedSteps(notes: readonly Note[], trace: readonly TraceEntry[] = entries(100), cold = true) {
  store ??= await emptyStore();
  for (const table of ['event', 'snapshot_device', 'annotation', 'text_value']) await store.run(`DELETE FROM ${table}`);
  await addTrace(store, 0, trace, cold ? 0 : 1);
  await addAnnotations(store, notes);
  await deriveTraces(store);
  return store;
}

const brief = ({ steps }: Pick<ReturnType<typeof stepsOf>, 'steps'>) =>
  steps.map((step) => [step.step, step.first_seq, step.last_seq, step.partial]);

describe('steps of the torch profiler', () => {
  it('are the entries after their start, up to the last at or before their end', () => {
    const steps = stepsOf([start(5, 9_500), end(5, 20_000), start(6, 20_000), end(6, 30_999)]);
    expect(steps.origin).toBe('profiler_step');
    expect(steps.steps).toEqual([
      { step: 5, occurrence: 1, first_seq: 10, last_seq: 20, start_us: 9_500, end_us: 20_000, partial: null },
      { step: 6, occurrence: 1, first_seq: 21, last_seq: 30, start_us: 20_000, end_us: 30_999, partial: null },
    ]);
  });

  it('take a missing partner from the step next to them, or are partial at the ends of the recording', () => {
    const steps = stepsOf([
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

  it('are partial at the start where the trace lost what came before its first entry', () => {
    const notes = [start(7, -5_000), end(7, 10_000), start(8, 10_000), end(8, 20_000)];
    expect(brief(stepsOf(notes, entries(50), false))).toEqual([
      [7, 0, 10, 'start'],
      [8, 11, 20, null],
    ]);
    // A trace that began with an empty allocator lost nothing.
    expect(brief(stepsOf(notes, entries(50), true))[0]).toEqual([7, 0, 10, null]);
  });

  it('count once where ranges of the same step lie in each other', () => {
    const steps = stepsOf([
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

  it('tell a number that comes again after a restart from the first', () => {
    const notes = [start(1, 0), end(1, 9_000), start(2, 9_000), end(2, 19_000), start(1, 30_000), end(1, 39_000)];
    const steps = stepsOf(notes);
    expect(steps.steps.map((step) => [step.step, step.occurrence, step.first_seq, step.last_seq])).toEqual([
      [1, 1, 1, 9],
      [2, 1, 10, 19],
      [1, 2, 31, 39],
    ]);
  });

  it('hold for a device no annotation names, and for a thread that sets its device within one', () => {
    const notes = [start(1, 0, 0), end(1, 9_000, 3), start(2, 9_000, 3), end(2, 19_000, 3)];
    const ownValues = stepsOf(notes, entries(100), true, 3);
    expect(brief(ownValues)).toEqual([
      [1, 1, 9, null],
      [2, 10, 19, null],
    ]);
    expect(ownValues.annotationsOfDevice).toBeNull();
    // Two devices stepped by one process: their steps must not be counted twice for a third.
    const both = [0, 1].flatMap((device) => [start(1, device, device), end(1, 9_000 + device, device)]);
    const second = stepsOf(
      both.sort((a, b) => a.time - b.time),
      entries(100),
      true,
      5,
    );
    expect(brief(second)).toEqual([[1, 1, 9, null]]);
    expect(second.annotationsOfDevice).toBe(0);
  });

  it('without an entry are counted and left out', () => {
    const steps = stepsOf([
      ...[start(1, 0), end(1, 5_000)],
      ...[start(2, 5_100), end(2, 5_900)],
      ...[start(3, 5_900), end(3, 8_000)],
    ]);
    expect(steps.steps.map((step) => step.step)).toEqual([1, 3]);
    expect(steps.withoutEntries).toBe(1);
  });

  it('go before optimizer steps, and lookalikes are none', () => {
    const names = ['ProfilerStep#', 'ProfilerStep#x', 'my ProfilerStep#3', 'Optimizer.zero_grad#AdamW.zero_grad'];
    const decoys = names.flatMap((name) => [start(name, 100), end(name, 200)]);
    expect(stepsOf(decoys)).toMatchObject({ origin: null, steps: [] });
    const steps = stepsOf([start(1, 0), start(ADAM, 3_000), end(ADAM, 4_000), end(1, 5_000)]);
    expect(steps.origin).toBe('profiler_step');
    expect(brief(steps)).toEqual([[1, 1, 5, null]]);
  });

  it('are unknown where entries have no times, or there is no trace', () => {
    const notes = [start(1, 0), end(1, 5_000)];
    const untimed = stepsOf(
      notes,
      entries(5).map((entry) => ({ ...entry, time: null })),
    );
    expect(untimed).toMatchObject({ origin: null, steps: [] });
    expect(stepsOf(notes, [])).toMatchObject({ origin: null, steps: [] });
  });
});

describe('steps from the optimizer', () => {
  const optimizer = (from: number, to: number, name = ADAM): Note[] => [start(name, from), end(name, to)];

  it('end where its steps end; the first and the last are partial', () => {
    const steps = stepsOf([...optimizer(9_000, 10_000), ...optimizer(19_000, 20_000), ...optimizer(29_000, 30_500)]);
    expect(steps.origin).toBe('optimizer_step');
    expect(steps.annotations).toEqual([ADAM]);
    expect(brief(steps)).toEqual([
      [1, 0, 10, 'start'],
      [2, 11, 20, null],
      [3, 21, 30, null],
      [4, 31, 99, 'end'],
    ]);
  });

  it('are one for a chain of optimizers', () => {
    const muon = 'Optimizer.step#Muon.step';
    const notes = [10_000, 20_000, 30_000, 40_000].flatMap((time) => [
      ...optimizer(time - 500, time - 300),
      ...optimizer(time - 250, time, muon),
    ]);
    const steps = stepsOf(notes, entries(41));
    expect(brief(steps)).toEqual([
      [1, 0, 10, 'start'],
      [2, 11, 20, null],
      [3, 21, 30, null],
      [4, 31, 40, null],
    ]);
    expect(steps.annotations).toEqual([ADAM, muon]);
  });

  it('count an optimizer inside another once, and none that never ended', () => {
    const steps = stepsOf([
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

  it('keep their number where the trace begins after the first of them', () => {
    const steps = stepsOf(
      [...optimizer(-9_000, -8_000), ...optimizer(-2_000, -1_000), ...optimizer(9_000, 10_000)],
      entries(11),
      false,
    );
    expect(brief(steps)).toEqual([[3, 0, 10, 'start']]);
  });
});

describe('places of annotations', () => {
  it('are the last entry at or before their time, as a search through all entries finds it', async () => {
    const within = await emptyStore();
    store = within;
    await fc.assert(
      fc.asyncProperty(
        // Long enough for several chunks, with ties and with times that go back.
        fc.array(fc.integer({ min: -3, max: 6 }), { minLength: 1, maxLength: 1200 }),
        fc.array(fc.integer({ min: -50, max: 3000 }), { minLength: 1, maxLength: 20 }),
        async (jumps, times) => {
          for (const table of ['event', 'snapshot_device', 'annotation', 'text_value'])
            await within.run(`DELETE FROM ${table}`);
          let time = 0;
          const trace = jumps.map((jump) => {
            time += jump;
            return { action: 'alloc', time };
          });
          await addTrace(within, 0, trace);
          await addAnnotations(
            within,
            times.map((at) => ({ stage: 'START', name: 'range', time: at })),
          );
          const rows = await within.all('timeline.annotations', {
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

describe('steps in the store', () => {
  it('are those that were found, with what is known about all of them', async () => {
    const notes = [
      ...[start(1, 0), end(1, 5_000)],
      ...[start(2, 5_100), end(2, 5_900)],
      ...[start(3, 5_900), end(3, 8_000)],
      start(4, 9_000),
    ];
    const within = await storedSteps(notes);
    expect(await readSteps(within, SNAPSHOT, 0)).toEqual(stepsOf(notes));
    expect(await readSteps(within, SNAPSHOT, 0)).toMatchObject({ origin: 'profiler_step', withoutEntries: 1 });
    const untimed = entries(5).map((entry) => ({ ...entry, time: null }));
    expect(await readSteps(await storedSteps(notes, untimed), SNAPSHOT, 0)).toMatchObject({ origin: null, steps: [] });
    expect(await readSteps(await storedSteps([start('other', 0)]), SNAPSHOT, 0)).toMatchObject({ origin: null });
  });

  it('take the same places in the trace as a search through all its entries', async () => {
    await fc.assert(
      fc.asyncProperty(
        // With ties, with times that go back, and with entries without one.
        fc.array(fc.option(fc.integer({ min: -3, max: 6 }), { freq: 20 }), { minLength: 1, maxLength: 400 }),
        fc.array(fc.integer({ min: -50, max: 1000 }), { minLength: 1, maxLength: 12 }),
        fc.boolean(),
        async (jumps, times, cold) => {
          let time = 0;
          const trace = jumps.map((jump): TraceEntry => {
            time += jump ?? 0;
            return { action: 'alloc', time: jump === null ? null : time };
          });
          const notes = times.sort((a, b) => a - b).map((at, i) => (i % 2 === 0 ? start(i, at) : end(i - 1, at)));
          const within = await storedSteps(notes, trace, cold);
          const { steps, origin } = stepsOf(notes, trace, cold);
          expect(await readSteps(within, SNAPSHOT, 0)).toMatchObject({ steps, origin });
        },
      ),
      { numRuns: 15 },
    );
  });
});

describe('boundaries of steps', () => {
  it('are the starts of the profiler and its last end, else the ends of the optimizer', async () => {
    const boundaries = async (notes: readonly Note[]) => stepBoundaries(await storedSteps(notes), SNAPSHOT, 0);
    const optimizer = [start(ADAM, 9_000), end(ADAM, 10_000), start(ADAM, 29_000), end(ADAM, 30_000)];
    expect(await boundaries(optimizer)).toEqual({ times: Float64Array.of(10_000, 30_000), source: ADAM });
    const profiler = [start(1, 1_000), end(1, 20_000), start(2, 21_000), end(2, 40_000)];
    expect(await boundaries([...optimizer, ...profiler])).toEqual({
      times: Float64Array.of(1_000, 21_000, 40_000),
      source: 'ProfilerStep#N',
    });
    expect(await boundaries([start('## forward ##', 1_000)])).toBeUndefined();
  });

  it('count from before the first entry too', async () => {
    const notes = [start(1, -9_000), end(1, -5_000), start(2, -5_000), end(2, 3_000)];
    expect(await stepBoundaries(await storedSteps(notes), SNAPSHOT, 0)).toMatchObject({
      times: Float64Array.of(-9_000, -5_000, 3_000),
    });
  });
});
