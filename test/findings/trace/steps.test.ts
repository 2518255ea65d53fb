/**
 * Steps from handmade annotations: what recordings leave out, nest, repeat, or put on the wrong device (`steps.yaml`).
 */
import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readSteps, stepBoundaries } from '../../../src/derive/trace/steps.js';
import { findSteps, marksStep, type TraceSpan } from '../../../src/ingest/derive/steps.js';
import type { Store } from '../../../src/store/store.js';
import { SEED } from '../../support/level.js';
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
const untimed = (count: number): TraceEntry[] => entries(count).map((entry) => ({ ...entry, time: null }));

const ADAM = 'Optimizer.step#AdamW.step';
const named = (name: string): string =>
  /^\d+$/.test(name) ? `ProfilerStep#${name}` : /^[A-Z]\w+$/.test(name) ? `Optimizer.step#${name}.step` : name;

/** The notation of `steps.yaml`; in the order of time. */
function notesOf(text: string, device = 0): Note[] {
  const notes = text.split(', ').flatMap((range) => {
    const [, name = '', start = '', end = ''] = /^(.*)@(-?\d*)~(-?\d*)$/.exec(range)!;
    const note = (stage: Note['stage'], time: string): Note[] =>
      time === '' ? [] : [{ stage, name: named(name), time: Number(time), device }];
    return [...note('START', start), ...note('END', end)];
  });
  return notes.sort((a, b) => a.time - b.time);
}

/** The trace as the steps are cut to it, by a search through all its entries. */
function spanOf(trace: readonly TraceEntry[], beganEmpty: boolean, device: number): TraceSpan {
  const times = trace.map(({ time }, seq) => (time === undefined ? seq * 1000 : (time ?? Number.NaN)));
  const known = times.filter((time) => !Number.isNaN(time));
  return {
    ...{ device, entries: trace.length, firstTimeUs: known.length === 0 ? null : Math.min(...known), beganEmpty },
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
  for (const table of ['trace_entry', 'snapshot_device', 'annotation', 'text_value'])
    await store.run(`DELETE FROM ${table}`);
  await addTrace(store, 0, trace, cold ? 0 : 1);
  await addAnnotations(store, notes);
  await deriveTraces(store);
  return store;
}

/** `STEP:FIRST-LAST`, with the end at which it is partial. */
const brief = ({ steps }: Pick<ReturnType<typeof stepsOf>, 'steps'>): string =>
  steps
    .map(({ step, first_seq, last_seq, partial }) => `${step}:${first_seq}-${last_seq}${partial ? ` ${partial}` : ''}`)
    .join(', ');

interface Case {
  readonly is: string;
  readonly notes: string;
  readonly steps: string;
  readonly entries?: number;
  readonly untimed?: boolean;
  readonly warm?: boolean;
  readonly about?: Partial<ReturnType<typeof stepsOf>>;
}
const CASES = parse(readFileSync(new URL('steps.yaml', import.meta.url), 'utf8')) as Case[];

it.each(CASES)('steps are $is', ({ notes, entries: count = 100, untimed: noTimes, warm, steps, about = {} }) => {
  const actual = stepsOf(notesOf(notes), (noTimes ? untimed : entries)(count), !warm);
  expect(brief(actual)).toBe(steps);
  expect(actual).toMatchObject(about);
});

describe('steps', () => {
  it('have the times of their annotations, and an occurrence where a number comes again after a restart', () => {
    const { steps } = stepsOf(notesOf('1@0~9000, 2@9000~19000, 1@30000~39000'));
    expect(steps.map(({ step, occurrence, start_us, end_us }) => [step, occurrence, start_us, end_us])).toEqual([
      [1, 1, 0, 9_000],
      [2, 1, 9_000, 19_000],
      [1, 2, 30_000, 39_000],
    ]);
    expect(brief({ steps })).toBe('1:1-9, 2:10-19, 1:31-39');
  });

  it('hold for a device no annotation names, and for a thread that sets its device within one', () => {
    const switched = [...notesOf('1@0~', 0), ...notesOf('1@~9000, 2@9000~19000', 3)];
    const ofDevice = stepsOf(switched, entries(100), true, 3);
    expect([brief(ofDevice), ofDevice.annotationsOfDevice]).toEqual(['1:1-9, 2:10-19', null]);
    // Two devices stepped by one process: their steps must not be counted twice for a third.
    const both = [...notesOf('1@0~9000', 0), ...notesOf('1@1~9001', 1)].sort((a, b) => a.time - b.time);
    const third = stepsOf(both, entries(100), true, 5);
    expect([brief(third), third.annotationsOfDevice]).toEqual(['1:1-9', 0]);
  });
});

it('the place of an annotation is the last entry at or before its time, as a search finds it', async () => {
  const within = await emptyStore();
  store = within;
  await fc.assert(
    fc.asyncProperty(
      // Long enough for several chunks, with ties and with times that go back.
      fc.array(fc.integer({ min: -3, max: 6 }), { minLength: 1, maxLength: 1200 }),
      fc.array(fc.integer({ min: -50, max: 3000 }), { minLength: 1, maxLength: 20 }),
      async (jumps, times) => {
        for (const table of ['trace_entry', 'snapshot_device', 'annotation', 'text_value'])
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
        const question = { snapshot_id: SNAPSHOT, device: 0, steps: false, contains: 'RAN' };
        const rows = await within.all('timeline.annotations', question);
        expect(rows).toHaveLength(times.length);
        for (const row of rows) {
          const expected = trace.findLastIndex((entry) => entry.time <= row.time_us);
          expect(row.last_seq).toBe(expected < 0 ? null : expected);
        }
      },
    ),
    { numRuns: 60, seed: SEED },
  );
});

describe('steps in the store', () => {
  it('are those that were found, with what is known about all of them', async () => {
    const notes = notesOf('1@0~5000, 2@5100~5900, 3@5900~8000, 4@9000~');
    const within = await storedSteps(notes);
    expect(await readSteps(within, SNAPSHOT, 0)).toEqual(stepsOf(notes));
    expect(await readSteps(within, SNAPSHOT, 0)).toMatchObject({ origin: 'profiler_step', withoutEntries: 1 });
    const none = { origin: null, steps: [] };
    expect(await readSteps(await storedSteps(notes, untimed(5)), SNAPSHOT, 0)).toMatchObject(none);
    expect(await readSteps(await storedSteps(notesOf('other@0~')), SNAPSHOT, 0)).toMatchObject({ origin: null });
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
          const notes = times
            .sort((a, b) => a - b)
            .map(
              (at, i): Note => ({ stage: i % 2 === 0 ? 'START' : 'END', name: named(String(i - (i % 2))), time: at }),
            );
          const within = await storedSteps(notes, trace, cold);
          const { steps, origin } = stepsOf(notes, trace, cold);
          expect(await readSteps(within, SNAPSHOT, 0)).toMatchObject({ steps, origin });
        },
      ),
      { numRuns: 15, seed: SEED },
    );
  });

  const OPTIMIZER = 'AdamW@9000~10000, AdamW@29000~30000';
  it.each([
    ['the ends of the optimizer', OPTIMIZER, ADAM, [10_000, 30_000]],
    // Its starts, and its last end.
    ['those of the profiler before', `${OPTIMIZER}, 1@1000~20000, 2@21000~40000`, 'ProfilerStep#N', [1e3, 21e3, 40e3]],
    ['counted from before the first entry', '1@-9000~-5000, 2@-5000~3000', 'ProfilerStep#N', [-9e3, -5e3, 3e3]],
  ])('have boundaries: %s', async (_, notes, source, times) => {
    const boundaries = await stepBoundaries(await storedSteps(notesOf(notes)), SNAPSHOT, 0);
    expect(boundaries).toEqual({ times: Float64Array.from(times), source });
  });

  it('have no boundaries where nothing marks a step', async () => {
    expect(await stepBoundaries(await storedSteps(notesOf('## forward ##@1000~')), SNAPSHOT, 0)).toBeUndefined();
  });
});
