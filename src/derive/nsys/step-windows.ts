/**
 * The windows of training steps, from NVTX ranges. Which ranges are steps is decided in
 * `queries/nsys/step-candidates.sql`.
 */
import { MbfError } from '../../model/errors.js';
import type { NsysStep, NsysStepBasis, NsysStepCandidate } from '../../model/results/nsys.js';
import type { Store } from '../../store/store.js';

export interface StepWindows {
  /** In order of process, then time. */
  readonly steps: readonly NsysStep[];
  readonly by: NsysStepBasis | null;
  /** The chosen one first, then others that are possible, then those that are not steps. */
  readonly candidates: readonly NsysStepCandidate[];
}

/** `stepRange`: the range or candidate that the user names; null where the report has none of this name. */
export async function stepWindows(store: Store, sourceId: number, stepRange?: string): Promise<StepWindows> {
  const rows = await store.all('nsys.step_candidates', { source_id: sourceId, step_range: stepRange ?? null });
  const candidates = rows.map(({ windows, ...row }) => row as NsysStepCandidate);
  const chosen = rows.find(({ status }) => status === 'chosen');
  if (chosen?.windows == null || chosen.method === null) return { steps: [], by: null, candidates };
  const steps = JSON.parse(chosen.windows) as NsysStep[];
  return { steps, by: { by: chosen.method as NsysStepBasis['by'], text: chosen.text }, candidates };
}

/** @throws {MbfError} MBF1001 if no report has a range of this name. */
export function demandStepRange(
  reports: readonly {
    readonly steps_by: NsysStepBasis | null;
    readonly step_candidates: readonly NsysStepCandidate[];
  }[],
  stepRange: string | undefined,
): void {
  if (stepRange === undefined || reports.length === 0 || reports.some(({ steps_by }) => steps_by !== null)) return;
  const texts = new Set(reports.flatMap(({ step_candidates }) => step_candidates.map(({ text }) => text)));
  const list = [...texts].slice(0, 8).map((text) => JSON.stringify(text));
  const repeating = list.length === 0 ? 'no range repeats' : `ranges that repeat: ${list.join(', ')}`;
  throw new MbfError('MBF1001', `--step-range ${JSON.stringify(stepRange)}: no such range; ${repeating}`);
}

export interface SteadyWindow {
  readonly fromNs: number;
  readonly toNs: number;
  /** 0: the window is not made of steps. */
  readonly steps: number;
}

/**
 * The steps except the first, whose warm-up would be taken for thrashing. The processes of a report run in step: one of
 * them determines the window.
 */
export function steadyWindow(steps: readonly NsysStep[]): SteadyWindow | undefined {
  const processSteps = steps.filter(({ pid }) => pid === steps[0]!.pid);
  if (processSteps.length < 2) return undefined;
  return { fromNs: processSteps[1]!.start_ns, toNs: processSteps.at(-1)!.end_ns, steps: processSteps.length - 1 };
}
