/** `mbforensics nsys`: every export of a run. */
import type { NsysReport, NsysResult } from '../../model/nsys-results.js';
import type { Store } from '../../store/store.js';
import { type ComparedRun, compareReports, kernelsPerStep } from './compare-reports.js';
import { rangeStacks } from './range-stacks.js';
import { readReport } from './read-report.js';

export interface NsysQuestions {
  /** Show the NVTX ranges open at this time: ns of the report's clock. */
  readonly atNs?: number | undefined;
}

export async function describeNsys(
  store: Store,
  runId: number,
  run: string,
  { atNs }: NsysQuestions = {},
): Promise<NsysResult> {
  const rows = await store.all('nsys.reports', { run_id: runId });
  const reports: NsysReport[] = [];
  for (const row of rows) reports.push(await readReport(store, runId, row));
  if (atNs === undefined) return { schema: 'mbforensics/nsys@1', run, reports };
  const at = [];
  for (const [i, { source_id, display_path }] of rows.entries()) {
    const ranks = new Map(
      reports[i]!.processes.flatMap(({ pid, rank }) => (rank === null ? [] : [[pid, rank] as const])),
    );
    at.push({ path: display_path, time_ns: atNs, stacks: await rangeStacks(store, source_id, atNs, null, ranks) });
  }
  return { schema: 'mbforensics/nsys@1', run, reports, at };
}

/** One side of a comparison. */
export async function readComparedRun(store: Store, runId: number, run: string): Promise<ComparedRun> {
  const { reports } = await describeNsys(store, runId, run);
  return { run, reports, kernels: await kernelsPerStep(store, runId, reports) };
}

export function describeComparison(a: ComparedRun, b: ComparedRun): NsysResult {
  return { schema: 'mbforensics/nsys@1', run: a.run, reports: a.reports, against: compareReports(a, b) };
}
