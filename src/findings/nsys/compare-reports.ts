/** Two runs' exports, step against step: what a change of memory cost in time. */

import { steadyWindow } from '../../derive/nsys/step-windows.js';
import { threshold } from '../../knowledge/thresholds/threshold.js';
import { LOST_EVENTS } from '../../model/nsys-rows.js';
import type { NsysBudget, NsysBudgetDelta, NsysDeviceBudget, NsysKernelDelta } from '../../model/results/nsys.js';
import { sentencesOf, type Text } from '../../model/statement.js';
import type { Store } from '../../store/store.js';
import type { NsysComparison, NsysReport } from './unworded.js';

const sentence = sentencesOf('nsys');

/** One of two runs: read separately, since two runs may be in one store, which a process opens once. */
export interface ComparedRun {
  readonly run: string;
  readonly reports: readonly NsysReport[];
  /** Time and number of launches of each kernel per step and device. */
  readonly kernels: ReadonlyMap<string, { readonly ns: number; readonly count: number }>;
}

const MOST_KERNELS = 20;
const LEAST_STEPS = threshold('nsys.least_compared_steps');

const FIGURES: readonly (readonly [NsysBudgetDelta['figure'], keyof NsysBudget])[] = [
  ['step', 'window_ns'],
  ['compute', 'compute_ns'],
  ['exposed_communication', 'exposed_communication_ns'],
  ['exposed_copy', 'exposed_copy_ns'],
  ['idle', 'idle_ns'],
  ['communication', 'communication_ns'],
  ['copy', 'copy_ns'],
];

export function compareReports(a: ComparedRun, b: ComparedRun): NsysComparison {
  const left = budgetsOf(a);
  const right = budgetsOf(b);
  const pairs = left.flatMap((before, i) => {
    const after = before.rank === null ? right[i] : (right.find(({ rank }) => rank === before.rank) ?? right[i]);
    return after === undefined ? [] : [{ before, after }];
  });
  return {
    a: a.run,
    b: b.run,
    devices: pairs.map(({ before, after }) => ({
      rank: before.rank,
      a_device: before.budget.device,
      b_device: after.budget.device,
      figures: FIGURES.map(([figure, key]) => {
        const a_ns = before.budget.per_step[key];
        const b_ns = after.budget.per_step[key];
        return { figure, a_ns, b_ns, delta_ns: b_ns - a_ns };
      }),
    })),
    kernels: kernelDeltas(a, b),
    memory_calls: memoryCallDeltas(a, b),
    warnings: warnings(a, b),
  };
}

function budgetsOf({ reports }: ComparedRun): { readonly rank: number | null; readonly budget: NsysDeviceBudget }[] {
  return reports.flatMap(({ budgets, processes, rank }) =>
    (budgets ?? []).map((budget) => ({
      rank: processes.find(({ pid }) => pid === budget.pid)?.rank ?? rank,
      budget,
    })),
  );
}

export async function kernelsPerStep(
  store: Store,
  runId: number,
  reports: readonly NsysReport[],
): Promise<ComparedRun['kernels']> {
  const sums = new Map<string, { ns: number; count: number }>();
  const rows = await store.all('nsys.reports', { run_id: runId });
  for (const [i, { source_id }] of rows.entries()) {
    const window = steadyWindow(reports[i]!.steps);
    const kernels = await store.all('nsys.kernels', {
      source_id,
      from_ns: window?.fromNs ?? null,
      to_ns: window?.toNs ?? null,
      most: 100_000,
    });
    const devices = Math.max(1, reports[i]!.budgets?.length ?? 1) * reports.length;
    for (const { name, total_ns, count } of kernels) {
      const known = sums.get(name) ?? { ns: 0, count: 0 };
      const steps = window?.steps ?? 1;
      sums.set(name, { ns: known.ns + total_ns / steps / devices, count: known.count + count / steps / devices });
    }
  }
  return sums;
}

function kernelDeltas({ kernels: left }: ComparedRun, { kernels: right }: ComparedRun): NsysKernelDelta[] {
  const none = { ns: 0, count: 0 };
  return [...new Set([...left.keys(), ...right.keys()])]
    .map((name) => {
      const before = left.get(name) ?? none;
      const after = right.get(name) ?? none;
      return {
        name,
        a_per_step_ns: before.ns,
        b_per_step_ns: after.ns,
        delta_ns: after.ns - before.ns,
        a_per_step: before.count,
        b_per_step: after.count,
      };
    })
    .sort((x, y) => Math.abs(y.delta_ns) - Math.abs(x.delta_ns) || (x.name < y.name ? -1 : 1))
    .slice(0, MOST_KERNELS);
}

function memoryCallDeltas(a: ComparedRun, b: ComparedRun): NsysComparison['memory_calls'] {
  const perStep = ({ reports }: ComparedRun): Map<string, number> => {
    const sums = new Map<string, number>();
    for (const { memory_calls } of reports) {
      for (const { api, per_step } of memory_calls ?? [])
        if (per_step !== null) sums.set(api, (sums.get(api) ?? 0) + per_step);
    }
    return sums;
  };
  const left = perStep(a);
  const right = perStep(b);
  // Where steps are known, a call that is not in the report was not made.
  const missing = ({ reports }: ComparedRun): number | null =>
    reports.some(({ steps, memory_calls }) => memory_calls !== null && steps.length > 1) ? 0 : null;
  return [...new Set([...left.keys(), ...right.keys()])].sort().map((api) => ({
    api,
    a_per_step: left.get(api) ?? missing(a),
    b_per_step: right.get(api) ?? missing(b),
  }));
}

/** Reasons why a difference of times may have another meaning. */
function warnings(a: ComparedRun, b: ComparedRun): Text[] {
  const warnings: Text[] = [];
  const differ = (what: Text, of: (report: NsysReport) => string | null): void => {
    const words = ({ reports }: ComparedRun): string =>
      [...new Set(reports.map((report) => of(report) ?? 'unknown'))].sort().join(', ');
    if (words(a) !== words(b)) warnings.push(sentence('differs', { what, a: words(a), b: words(b) }));
  };
  differ(
    sentence('gpu'),
    ({ gpus }) => [...new Set(gpus.map(({ name }) => name ?? 'unknown'))].sort().join(' + ') || null,
  );
  differ(sentence('nsys_version'), ({ nsys_version }) => nsys_version);
  differ(sentence('captured'), ({ tables }) =>
    [
      'NVTX_EVENTS',
      'CUPTI_ACTIVITY_KIND_KERNEL',
      'CUPTI_ACTIVITY_KIND_GRAPH_TRACE',
      'CUDA_GPU_MEMORY_USAGE_EVENTS',
      'CUPTI_ACTIVITY_KIND_MEMCPY',
    ]
      .filter((name) => name in tables)
      .join(' '),
  );
  differ(sentence('steps_from'), ({ steps_by }) => (steps_by === null ? null : `${steps_by.by} "${steps_by.text}"`));
  for (const { run, reports } of [a, b]) {
    if (reports.length === 0) warnings.push(sentence('no_export', { run }));
    for (const { path, steps, diagnostics } of reports) {
      const count = steps.filter(({ pid }) => pid === steps[0]?.pid).length;
      if (count < LEAST_STEPS)
        warnings.push(
          sentence('of_report', {
            run,
            path,
            text: sentence(count === 0 ? 'no_steps' : 'few_steps', { steps: count }),
          }),
        );
      const lost = diagnostics.find(({ text }) => LOST_EVENTS.test(text));
      if (lost !== undefined) warnings.push(sentence('events_missing', { run, path, text: lost.text }));
    }
  }
  return warnings;
}
