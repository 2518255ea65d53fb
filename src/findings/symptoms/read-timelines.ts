/** The part of a run's exports about its steps that symptoms need. */

import { demandStepRange, type SteadyWindow, steadyWindow, stepWindows } from '../../derive/nsys/step-windows.js';
import type { RankLayout } from '../../derive/run/rank-layout.js';
import { threshold } from '../../knowledge/thresholds/threshold.js';
import { pushAll } from '../../model/lists.js';
import type { NsysStepBasis, NsysStepCandidate } from '../../model/results/nsys.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';
import type { KernelKind, Timeline, Waits } from './evidence.js';

const SLACK_NS = threshold('symptoms_timelines.slack_ns');
const MOST_LAUNCH_GAP_NS = threshold('symptoms_timelines.most_launch_gap_ns');

/** Transformer Engine, Apex and torch; names are short ones or complete ones. */
const NORM = '(?i)layer_?norm|rms_?norm|\\bln_(fwd|bwd)';
const COLLECTIVE = '(?i)^_?(nccl|rccl).*(all_?reduce|all_?gather|reduce_?scatter)';
/**
 * Transformer Engine's kernels of tensor parallel overlap. NCCL's own have to wait for the product they gather or
 * reduce.
 */
const USER_BUFFERS = '(?i)userbuffers|^ub_';
const GEMM = '(?i)gemm|nvjet|xmma|cublas';

const NO_KERNELS: KernelKind = { total_ns: 0, median_ns: 0 };
const NO_WAITS: Waits = { met: 0, waited: 0, waited_ns: 0 };

interface OnDevice {
  readonly pid: number;
  readonly device: number;
}

/** `stepRange`: see {@link stepWindows}. */
export async function readTimelines(
  store: Store,
  runId: number,
  layout: RankLayout | null,
  stepRange?: string,
): Promise<Timeline[]> {
  const timelines: Timeline[] = [];
  const steppedReports: { steps_by: NsysStepBasis | null; step_candidates: readonly NsysStepCandidate[] }[] = [];
  for (const report of await store.all('nsys.reports', { run_id: runId })) {
    const { source_id } = report;
    const counts = await store.one('nsys.counts', { source_id });
    if (counts?.kernels == null || counts.kernels === 0) continue;
    const { steps, by, candidates } = await stepWindows(store, source_id, stepRange);
    steppedReports.push({ steps_by: by, step_candidates: candidates });
    const window = steadyWindow(steps) ?? {
      fromNs: counts.first_work_ns ?? 0,
      toNs: counts.last_work_ns ?? 0,
      steps: 0,
    };
    const processes = await store.all('nsys.processes', { source_id });
    const only = new Set(processes.flatMap(({ rank }) => (rank === null ? [] : [rank])));
    pushAll(
      timelines,
      await devicesOf(store, source_id, window, (pid) => {
        const processRank = processes.find((process) => process.pid === pid)?.rank ?? report.rank;
        const rank = processRank ?? (only.size === 1 ? [...only][0]! : null);
        return { path: report.display_path, rank, stage: rank === null ? null : (layout?.position(rank)?.pp ?? null) };
      }),
    );
  }
  demandStepRange(steppedReports, stepRange);
  return timelines;
}

async function devicesOf(
  store: Store,
  source_id: number,
  { fromNs: from_ns, toNs: to_ns, steps }: SteadyWindow,
  who: (pid: number) => Pick<Timeline, 'path' | 'rank' | 'stage'>,
): Promise<Timeline[]> {
  const span = { source_id, from_ns, to_ns };
  const devices = await store.all('nsys.busy_times', { ...span, steps: '[]' });
  const kinds = await store.all('symptom.kernel_kinds', span);
  const gaps = await store.all('symptom.launch_gaps', { ...span, most_ns: MOST_LAUNCH_GAP_NS });
  const norms = await waits(store, span, NORM, COLLECTIVE);
  const overlaps = await waits(store, span, USER_BUFFERS, GEMM);
  // A device of another part of the capture does not work in this window.
  const working = devices.filter(({ idle_ns, window_ns }) => idle_ns < window_ns);
  return working.map((times) => {
    const on: OnDevice = { pid: times.pid ?? -1, device: times.device ?? -1 };
    const kernels = kinds.filter(isOn(on));
    const gap = gaps.find(isOn(on));
    return {
      ...who(on.pid),
      steps,
      window_ns: times.window_ns,
      compute_ns: times.compute_ns,
      idle_ns: times.idle_ns,
      collectives: { busy_ns: times.collectives_ns, exposed_ns: times.exposed_collectives_ns },
      sends: { busy_ns: times.sends_ns, exposed_ns: times.exposed_sends_ns },
      other: { busy_ns: times.other_ns, exposed_ns: times.exposed_other_ns },
      launch_gaps: { count: gap?.gaps ?? 0, ns: gap?.gap_ns ?? 0 },
      gemm: kindOf(kernels, 'gemm'),
      collective_kernels: kindOf(kernels, 'collective'),
      all_kernels_ns: kernels
        .filter(({ kind }) => kind !== 'collective' && kind !== 'send_receive')
        .reduce((sum, { total_ns }) => sum + total_ns, 0),
      norm_waits: norms.find(isOn(on)) ?? NO_WAITS,
      overlap_waits: overlaps.find(isOn(on)) ?? NO_WAITS,
    };
  });
}

const isOn =
  ({ pid, device }: OnDevice) =>
  (row: OnDevice): boolean =>
    row.pid === pid && row.device === device;

function kindOf(kernels: readonly QueryRow<'symptom.kernel_kinds'>[], wanted: string): KernelKind {
  return kernels.find(({ kind }) => kind === wanted) ?? NO_KERNELS;
}

async function waits(
  store: Store,
  span: { readonly source_id: number; readonly from_ns: number; readonly to_ns: number },
  waiting: string,
  running: string,
): Promise<QueryRow<'symptom.waiting_kernels'>[]> {
  return store.all('symptom.waiting_kernels', { ...span, waiting, running, slack_ns: SLACK_NS });
}
