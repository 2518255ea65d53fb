/** The first screen of runs that did not die of memory, of caught OOMs and of earlier launches: logs by kind. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/findings/flows/diagnose.js';
import type { DiagnoseResult } from '../../../src/model/results/common.js';
import { wordDiagnosis } from '../../../src/report/verdict/word-verdict.js';
import type { Store } from '../../../src/store/store.js';
import type { LogRow } from '../../support/launches/log-row.js';
import { FINISHED, iteration, range, readComposed, STARTS, STEPS } from '../../support/launches/pieces.js';
import { newStore } from '../../support/new-store.js';
import { diagnoseMarkdown, expectScreen } from '../../support/screen.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { openTextRuns, type Row, RUN } from '../../support/text-run.js';

const OOM =
  'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 79.11 GiB of which 512.00 MiB is free. Including non-PyTorch memory, this process has 78.50 GiB memory in use. Of the allocated memory 66.10 GiB is allocated by PyTorch, and 8.20 GiB is reserved by PyTorch but unallocated.';
const RAISED = [
  'Traceback (most recent call last):',
  '  File "/opt/run/train.py", line 240, in main',
  '    step()',
  OOM,
];
const CHILD_FAILED = 'torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ';

const MIB_PER_GIB = 1024;
/** Megatron's line of a rank, GiB. `allocated` rises with `perStep` MiB an iteration. */
const memory = (rank: number, i: number, allocated: number, perStep = 0): string => {
  const mb = (gib: number): string => (gib * MIB_PER_GIB + perStep * i).toFixed(1);
  return `[Rank ${rank}] (after ${i} iterations) memory (MB) | allocated: ${mb(allocated)} | max allocated: ${mb(allocated + 20)} | reserved: ${mb(allocated + 25)} | max reserved: ${mb(allocated + 25)}`;
};
const titan = (i: number, gib: string, percent: string): string =>
  `[rank0]:[titan] 2026-02-03 04:05:${String(i).padStart(2, '0')},600 - root - INFO - step: ${i}  loss: 11.1234  grad_norm: 1.5  memory: ${gib}GiB(${percent}%)  tps: 2,345  tflops: 332.11  mfu: 33.73%`;
const steps = (from: number, to: number): string[] => range(from, to).map((i) => iteration(i));
const launch = (...lines: readonly string[]): string[] => [...STARTS.megatron, ...lines];

interface Case {
  readonly lines: readonly string[];
  readonly headline: RegExp;
  readonly shows: readonly RegExp[];
  readonly hides?: readonly RegExp[];
  readonly document: object;
}

const NO_CAPTURE = /capture|show captures/;

const CASES: Readonly<Record<string, Case>> = {
  'cut, with the share of the device printed': {
    lines: [
      titan(1, '87.87', '62.89'),
      ...range(2, 3).map((i) => titan(i, '116.16', '83.14')),
      titan(4, '116.41', '83.32'),
      titan(5, '116.41', '83.32'),
    ],
    headline: /^NO FAILURE FOUND · run by-hand$/,
    shows: [
      /^STATE {4}running, or cut after iteration 5 no line reports a failure or the end$/m,
      /^MEMORY {3}peak reserved 116\.41 GiB, 83\.3 % of the device as printed, on rank 0; headroom about 23\.30 GiB$/m,
      /^GROWTH {3}peak reserved of rank 0 rose at iterations 2 and 4, by 28\.54 GiB in all$/m,
      /^STEP {5}about 1,000\.0 ms/m,
    ],
    hides: [NO_CAPTURE, /per iteration/],
    document: {
      state: 'running_or_cut',
      last_iteration: 5,
      peak: { share_by: 'printed' },
      growth: { full_at_iteration: null },
    },
  },
  'growing, on one of two ranks': {
    lines: launch(...range(1, 20).flatMap((i) => [iteration(i), memory(0, i, 30), memory(1, i, 30, 205)])),
    headline: /^NO FAILURE FOUND/,
    shows: [
      /peak reserved 59\.00 GiB, on rank 1, the fullest of 2 \(least 55\.00 GiB\)/,
      /allocated memory of rank 1 grows by 205\.00 MiB per iteration: it rose 19 times, last at\s+iteration 20/,
      /^STEP {5}4,210\.5 ms, median of iterations 2 to 20$/m,
    ],
    hides: [/device is full/],
    document: { growth: { metric: 'allocated', rank: 1, rises: 19, full_at_iteration: null } },
  },
  'flat memory': {
    lines: launch(...range(1, 20).flatMap((i) => [iteration(i), memory(0, i, 30)])),
    headline: /^NO FAILURE FOUND/,
    shows: [/peak reserved 55\.00 GiB/],
    hides: [/^GROWTH/m],
    document: { growth: null },
  },
  finished: {
    lines: launch(...steps(1, 8), FINISHED.megatron),
    headline: /^FINISHED · run by-hand$/,
    shows: [/^STATE {4}finished normally after iteration 8 of 5,000$/m],
    hides: [/VERDICT/, NO_CAPTURE],
    document: { state: 'finished', last_iteration: 8, target_iteration: 5000 },
  },
  'finished, with the end in front of its iterations': {
    lines: [FINISHED.nemo, 'a warning', ...range(1, 20).map((i) => STEPS.nemo(i).replace('/999', '/19'))],
    headline: /^FINISHED · run by-hand$/,
    shows: [/^STATE {4}finished normally after iteration 20 of 20$/m],
    hides: [/OTHERS/, /launch/],
    document: { state: 'finished', last_iteration: 20, target_iteration: 20 },
  },
  'an end in front of iterations that stop before the last': {
    lines: [FINISHED.nemo, 'a warning', ...range(1, 7).map((i) => STEPS.nemo(i))],
    headline: /^NO FAILURE FOUND/,
    shows: [/running, or cut after iteration 7 of 1,000/],
    document: { state: 'running_or_cut' },
  },
  'OOMs caught and logged, still running': {
    lines: launch(
      ...steps(1, 4),
      `WARNING skipping the batch: ${OOM}`,
      ...steps(5, 8),
      `WARNING skipping the batch: ${OOM}`,
      ...steps(9, 12),
    ),
    headline: /^2 OOMS CAUGHT · run by-hand · device 0$/,
    shows: [/^VERDICT /m, /2 out-of-memory errors were caught: the run went on to iteration 12 of 5,000$/m, /^FIX /m],
    document: { state: 'running_or_cut', last_iteration: 12 },
  },
  'an OOM caught, finished': {
    lines: launch(...steps(1, 4), ...RAISED, ...steps(5, 8), FINISHED.megatron),
    headline: /^OOM CAUGHT/,
    shows: [/1 out-of-memory error was caught: the run went on to iteration 8 of 5,000, and finished/],
    document: { state: 'finished' },
  },
  'an OOM caught, and one that ended the launch': {
    lines: launch(...steps(1, 4), `WARNING skipping the batch: ${OOM}`, ...steps(5, 8), ...RAISED, CHILD_FAILED),
    headline: /^OOM · /,
    shows: [/1 earlier out-of-memory error was caught; a later one ended the run/],
    hides: [/^STEP/m],
    document: { state: 'oom' },
  },
  'a traceback in front of buffered output': {
    lines: launch(...RAISED, ...steps(1, 8)),
    headline: /^OOM · /,
    shows: [/the log goes on to iteration 8 of 5,000 behind this error: caught, or standard output was buffered/],
    document: { state: 'oom' },
  },
  'an OOM that ended the launch, reported by its launcher': {
    lines: launch(...steps(1, 4), ...RAISED, CHILD_FAILED),
    headline: /^OOM · /,
    shows: [],
    hides: [/caught/, /^STEP/m],
    document: { state: 'oom' },
  },
  'launches that ran out of memory alike, then one that finished': {
    lines: [
      ...range(1, 3).flatMap(() => launch(...steps(1, 2), ...RAISED)),
      ...launch(...steps(1, 2)),
      ...launch(...steps(1, 2)),
      ...launch(...steps(1, 9), FINISHED.megatron),
    ],
    headline: /^OOM IN LAUNCHES 1 TO 3 · launch 6 of 6 finished · run by-hand$/,
    shows: [
      /^STATE {4}finished normally/m,
      /^OTHERS {3}launches 1 to 3 ran out of memory, each with the same figures: 1\.50 GiB requested,/m,
      /other launches: 4 to 5: end unknown/,
    ],
    document: { state: 'finished' },
  },
  'launches that ran out of memory at different requests, then one that runs': {
    lines: [
      ...launch(...steps(1, 2), ...RAISED),
      ...launch(...steps(1, 2), ...RAISED.slice(0, -1), OOM.replace('1.50', '2.25')),
      ...launch(...steps(1, 9), FINISHED.megatron),
    ],
    headline: /^OOM IN LAUNCHES 1 TO 2 · launch 3 of 3 finished/,
    shows: [/launches 1 to 2 ran out of memory: launch 1: 1\.50 GiB requested/, /launch 2:\s+2\.25 GiB requested/],
    document: { state: 'finished' },
  },
};

/** What an iteration line prints besides is stored as figures of their own. */
function withOthers(row: LogRow): Row[] {
  if (row.row !== 'iteration') return [row];
  const { line, attempt, rank, iteration: i, others = [] } = row;
  const figures = others.flatMap(({ name, value }): Row[] => [
    { row: 'value', name: `iteration.${name}`, value, unit: null, line, attempt, rank, iteration: i },
  ]);
  return [row, ...figures];
}

let store: Store;
beforeAll(async () => {
  const runs = Object.values(CASES).map(({ lines }) => {
    const { rows, incidents, attempts } = readComposed(lines);
    return [{ path: 'train.log', rows: rows.flatMap(withOthers), incidents, attempts }];
  });
  store = await openTextRuns(join(temporaryDirectory(), 'states.duckdb'), runs);
});
afterAll(() => store.close());

async function answer(name: string, capacityBytes?: number): Promise<DiagnoseResult> {
  return wordDiagnosis(await diagnose(store, Object.keys(CASES).indexOf(name) + 1, RUN, { capacityBytes }));
}

describe('the first screen', () => {
  it.each(Object.entries(CASES))('%s', async (name, { headline, shows, hides = [], document }) => {
    const result = await answer(name);
    const text = expectScreen({ ...result, run: RUN });
    expect(text.split('\n')[0]).toMatch(headline);
    for (const pattern of shows) expect(text.replaceAll(/\n {9}/g, ' ')).toMatch(new RegExp(pattern.source, 'm'));
    for (const pattern of hides) expect(text).not.toMatch(pattern);
    expect(text).not.toContain('rank unknown');
    expect(result.run_state).toMatchObject(document);
    expect(diagnoseMarkdown(result)).not.toMatch(/\*\*(?:State|Verdict): undecided/);
  });

  it('names the iteration at which growing memory fills the device', async () => {
    const total = 79 * MIB_PER_GIB * 1024 * 1024;
    const { run_state: run } = await answer('growing, on one of two ranks', total);
    // 50 GiB + 205 MiB × iteration.
    expect(run?.growth?.full_at_iteration).toBe(Math.ceil((29 * MIB_PER_GIB) / 205));
    expect(run?.peak).toMatchObject({ share_by: 'total', total_bytes: total });
    expect(expectScreen(await answer('growing, on one of two ranks', total))).toMatch(/full by\s+iteration 145/);
  });
});

describe('an OOM entry of a trace', () => {
  // Device 0: OOMs at 20 and 60; device 1: at 90, in a step that does not end.
  const caughtWith = async (steps: readonly (readonly [device: number, from: number, partial: string | null])[]) => {
    const made = await newStore(join(temporaryDirectory(), 'caught.duckdb'));
    const of = (device: number, seq: number) => ({
      snapshot_id: 1,
      device,
      seq,
      requested_bytes: 1,
      device_free_bytes: 0,
    });
    await made.insertRows('trace_oom', [of(0, 20), of(0, 60), of(1, 90)]);
    await made.insertRows(
      'trace_step',
      steps.map(([device, from, partial], ordinal) => ({
        ...{ snapshot_id: 1, device, ordinal, step: ordinal, start_us: 0, end_us: 1 },
        ...{ first_seq: from, last_seq: from + 9, occurrence: 0, partial },
      })),
    );
    const rows = await Promise.all([0, 1].map((device) => made.all('verdict.caught', { snapshot_id: 1, device })));
    await made.close();
    return rows;
  };

  it('is caught where whole steps follow it', async () => {
    const steps = [
      [0, 10, null],
      [0, 30, null],
      [0, 70, null],
      [0, 80, null],
      [1, 85, 'end'],
    ] as const;
    expect(await caughtWith(steps)).toEqual([[{ ooms: 2, steps_after: 2, includes_last: true }], []]);
  });

  it('is not where only part of a step does, or none', async () => {
    const steps = [
      [0, 10, null],
      [0, 30, null],
      [0, 70, 'end'],
      [1, 95, 'both'],
    ] as const;
    expect(await caughtWith(steps)).toEqual([[{ ooms: 1, steps_after: 1, includes_last: false }], []]);
  });
});
