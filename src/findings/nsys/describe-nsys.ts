/** `mbforensics nsys`: every export of a run. */

import { rangeStacks } from '../../derive/nsys/range-stacks.js';
import { demandStepRange } from '../../derive/nsys/step-windows.js';
import { groupBy } from '../../model/group-by.js';
import type { NsysMemoryCurve, NsysRangeWork } from '../../model/results/nsys.js';
import type { Store } from '../../store/store.js';
import { type ComparedRun, compareReports, kernelsPerStep } from './compare-reports.js';
import { readReport } from './read-report.js';
import type { NsysReport, NsysResult } from './unworded.js';

export interface NsysQuestions {
  /** Show the NVTX ranges open at this time: ns of the report's clock. */
  readonly atNs?: number | undefined;
  /** Show the kernels and copies launched inside ranges whose text contains this. */
  readonly range?: string | undefined;
  /** Show memory over time, in so many slices. */
  readonly slices?: number | undefined;
  /** The NVTX range, or the candidate, that is the step. */
  readonly stepRange?: string | undefined;
}

const MOST_RANGE_WORK = 100_000;

export async function describeNsys(
  store: Store,
  runId: number,
  run: string,
  { atNs, range, slices, stepRange }: NsysQuestions = {},
): Promise<NsysResult> {
  const rows = await store.all('nsys.reports', { run_id: runId });
  const reports: NsysReport[] = [];
  for (const row of rows) reports.push(await readReport(store, runId, row, stepRange));
  demandStepRange(reports, stepRange);
  const ask = async <Answer>(answer: (row: (typeof rows)[number], report: NsysReport) => Promise<Answer>) => {
    const answers: Answer[] = [];
    for (const [i, row] of rows.entries()) answers.push(await answer(row, reports[i]!));
    return answers;
  };
  return {
    schema: 'mbforensics/nsys@1',
    run,
    reports,
    ...(atNs === undefined
      ? {}
      : {
          at: await ask(async ({ source_id, display_path: path }, { processes }) => {
            const ranks = new Map(processes.flatMap(({ pid, rank }) => (rank === null ? [] : [[pid, rank] as const])));
            return { path, time_ns: atNs, stacks: await rangeStacks(store, source_id, atNs, null, ranks) };
          }),
        }),
    ...(range === undefined
      ? {}
      : {
          range_work: await ask(async ({ source_id, display_path: path }) => {
            const work = await store.all('nsys.range_work', { source_id, text: range, most: MOST_RANGE_WORK });
            return {
              path,
              text: range,
              work: work.map((row) => ({ ...row, work: row.work as NsysRangeWork['work'] })),
            };
          }),
        }),
    ...(slices === undefined
      ? {}
      : {
          curves: await ask(async ({ source_id, display_path: path }) => ({
            path,
            series: await memoryCurves(store, source_id, slices),
          })),
        }),
  };
}

async function memoryCurves(store: Store, sourceId: number, slices: number): Promise<NsysMemoryCurve[]> {
  const rows = await store.all('nsys.memory_curve', { source_id: sourceId, columns: slices });
  const curves = groupBy(rows, ({ pid, device, kind }) => `${pid}/${device}/${kind}`);
  return [...curves.values()].map((points) => {
    const { pid, device, kind } = points[0]!;
    return {
      pid,
      device,
      kind,
      times_ns: points.map(({ start_ns }) => start_ns),
      bytes: points.map(({ bytes }) => bytes),
    };
  });
}

/** One side of a comparison. */
export async function readComparedRun(
  store: Store,
  runId: number,
  run: string,
  stepRange?: string,
): Promise<ComparedRun> {
  const { reports } = await describeNsys(store, runId, run, { stepRange });
  return { run, reports, kernels: await kernelsPerStep(store, runId, reports) };
}

export function describeComparison(a: ComparedRun, b: ComparedRun): NsysResult {
  return { schema: 'mbforensics/nsys@1', run: a.run, reports: a.reports, against: compareReports(a, b) };
}
