/** One device at a moment, against the estimate of its pipeline stage. */

import type { CompiledRules } from '../../../attribution/match/compile-rules.js';
import type { Phase } from '../../../model/log-rows.js';
import type { DeviceResidual } from '../../../model/results/residual.js';
import type { Component } from '../../../model/vocabulary.js';
import type { QueryRow } from '../../../store/query-catalog.js';
import type { Store } from '../../../store/store.js';
import type { StageOf } from '../../attribution/blocks/run-figures.js';
import { useLabels } from '../../attribution/use-labels.js';
import { deviceHistory } from '../../trace/device-history.js';
import { type Moment, momentText } from '../../trace/moment.js';
import { seqOfMoment } from '../../trace/state-at.js';
import type { StagesOfRun } from '../estimate-run.js';
import { compareStage } from './compare-stage.js';

/** When, and by which rules the blocks of that moment are attributed. */
export interface DeviceQuestion {
  readonly moment: Moment;
  readonly rules: CompiledRules;
}

/** States that exist only once the optimizer has made its first step. */
const MOMENTS: ReadonlySet<string> = new Set(['exp_avg', 'exp_avg_sq', 'moments', 'momentum', 'state', 'by_size']);

/**
 * Throws MBF1002 where the device lacks the moment; null where the snapshot cannot be assigned to a stage: without the
 * rank's place, only a single stage is certain.
 */
export async function compareDevice(
  store: Store,
  row: QueryRow<'snapshot.list'>,
  device: number,
  estimate: StagesOfRun,
  stageOf: StageOf,
  { moment, rules }: DeviceQuestion,
): Promise<DeviceResidual | null> {
  const place = stageOf(row.rank);
  const stage = estimate.stages[place ?? (estimate.stages.length === 1 ? 0 : -1)];
  if (stage === undefined) return null;
  const id = { snapshot_id: row.snapshot_id, device };
  const seq = await seqOfMoment(store, await deviceHistory(store, row.snapshot_id, device), moment);
  await useLabels(store, row.snapshot_id, device, rules);
  const parts = await store.all('attribution.parts', { ...id, at_seq: seq });
  const sums = new Map<Component, number>();
  let momentBytes = 0;
  let heldBytes = 0;
  for (const { component, sub_component, bytes } of parts) {
    sums.set(component as Component, (sums.get(component as Component) ?? 0) + bytes);
    if (component === 'optimizer_state' && MOMENTS.has(sub_component)) momentBytes += bytes;
    if (sub_component === 'held_across_steps') heldBytes += bytes;
  }
  const phase = ((await store.one('attribution.phase_at', { ...id, at_seq: seq }))?.phase ?? 'unknown') as Phase;
  const seen = new Set((await store.all('attribution.seen', id)).map(({ component }) => component as Component));
  const compared = compareStage(
    { components: sums, momentBytes, heldBytes, phase, seen, atFailure: moment.kind === 'oom' },
    stage,
    estimate.resolved,
  );
  return {
    path: row.display_path,
    handle: row.handle,
    rank: row.rank,
    stage: place,
    device,
    moment: momentText(moment),
    seq: seq < 0 ? null : seq,
    phase,
    estimate_moment: compared.moment,
    before_first_step: compared.beforeFirstStep,
    measured_bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0),
    estimated_bytes: compared.estimatedBytes,
    components: compared.components,
    unknown_bytes: (sums.get('before_recording') ?? 0) + (sums.get('unattributed') ?? 0),
  };
}
