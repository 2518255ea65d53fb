/** `mbforensics residual`: what was measured less what theory says, for runs that have both. */
import { MbfError } from '../../model/errors.js';
import type { DeviceResidual, LineResidual, ResidualResult } from '../../model/residual-results.js';
import type { Component } from '../../model/vocabulary.js';
import type { Store } from '../../store/store.js';
import { type RunOfRanks, readRunFigures } from '../attribution/blocks/run-figures.js';
import { attributeSnapshot } from '../attribution/components-at.js';
import type { CompiledRules } from '../attribution/match/compile-rules.js';
import { readLiveBlocks } from '../attribution/views/describe-attribution.js';
import { estimateRun, type StagesOfRun } from '../estimate/estimate-run.js';
import { type Moment, momentText } from '../history/moment.js';
import { stateAt } from '../history/state-at.js';
import { listSnapshots } from '../names/snapshots.js';
import { compareStage, outside } from './compare-stage.js';

export interface ResidualQuestion {
  readonly moment: Moment;
  readonly rules: CompiledRules;
  /** Only this snapshot. */
  readonly handle?: string | undefined;
}

/** States that exist only once the optimizer has made its first step. */
const MOMENTS: ReadonlySet<string> = new Set(['exp_avg', 'exp_avg_sq', 'moments', 'momentum', 'state', 'by_size']);

export async function describeResidual(
  store: Store,
  runId: number,
  run: string,
  question: ResidualQuestion,
): Promise<ResidualResult> {
  const { inputs, estimate, refused } = await estimateRun(store, runId);
  const none: ResidualResult = {
    schema: 'mbforensics/residual@1',
    run,
    no_estimate: refused ?? `the run does not tell ${inputs.missing.join(', ')}`,
    devices: [],
    left_out: [],
    lines: [],
    assumptions: [],
    not_modelled: [],
  };
  if (estimate === null) return none;
  const ranks = await readRunFigures(store, runId);
  const devices: DeviceResidual[] = [];
  const leftOut: ResidualResult['left_out'][number][] = [];
  let missing: MbfError | undefined;
  for (const row of await listSnapshots(store, { runId })) {
    if (question.handle !== undefined && row.handle !== question.handle) continue;
    const id = { snapshot_id: row.snapshot_id };
    for (const { device, segments, events } of await store.all('snapshot.devices', id)) {
      if (segments === 0 && events === null) continue;
      try {
        const found = await compareDevice(store, row, device, estimate, ranks, question);
        if (found !== null) devices.push(found);
        else leftOut.push({ path: row.display_path, device, reason: 'the pipeline stage of its rank is not known' });
      } catch (error) {
        // One device of several runs out of memory; the others have no such moment, and still an answer.
        if (!(error instanceof MbfError && error.code === 'MBF1002')) throw error;
        missing = error;
        leftOut.push({ path: row.display_path, device, reason: error.message });
      }
    }
  }
  if (devices.length === 0 && missing !== undefined) throw missing;
  const surprise = ({ components }: DeviceResidual): number => Math.abs(components[0]?.surprise_bytes ?? 0);
  return {
    ...none,
    no_estimate: null,
    left_out: leftOut,
    devices: devices.sort((a, b) => surprise(b) - surprise(a)),
    lines: await compareLines(store, runId, estimate, ranks),
    assumptions: estimate.assumptions,
    not_modelled: estimate.not_modelled,
  };
}

/** Throws MBF1002 where the device has no such moment; null where the snapshot cannot be put to a stage: without the rank's place, only a single stage is sure. */
async function compareDevice(
  store: Store,
  row: {
    readonly snapshot_id: number;
    readonly display_path: string;
    readonly handle: string;
    readonly rank: number | null;
  },
  device: number,
  estimate: StagesOfRun,
  ranks: RunOfRanks,
  { moment, rules }: ResidualQuestion,
): Promise<DeviceResidual | null> {
  const place = ranks.stageOf(row.rank);
  const stage = estimate.stages[place ?? (estimate.stages.length === 1 ? 0 : -1)];
  if (stage === undefined) return null;
  const snapshot = { snapshotId: row.snapshot_id, device };
  const at = await stateAt(store, row.snapshot_id, device, moment);
  const of = await attributeSnapshot(store, row.snapshot_id, device, rules);
  const { blocks } = await readLiveBlocks(store, snapshot, of, at);
  const sums = new Map<Component, number>();
  let momentBytes = 0;
  let heldBytes = 0;
  for (const { label, bytes } of blocks) {
    sums.set(label.component, (sums.get(label.component) ?? 0) + bytes);
    if (label.component === 'optimizer_state' && MOMENTS.has(label.sub_component)) momentBytes += bytes;
    if (label.sub_component === 'held_across_steps') heldBytes += bytes;
  }
  const phase = at.seq === null ? 'unknown' : of.phases.phaseAt(at.seq);
  const seen = new Set(of.table.labels.map(({ component }) => component));
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
    seq: at.seq,
    phase,
    estimate_moment: compared.moment,
    before_first_step: compared.beforeFirstStep,
    measured_bytes: blocks.reduce((sum, { bytes }) => sum + bytes, 0),
    estimated_bytes: compared.estimatedBytes,
    components: compared.components,
    unknown_bytes: (sums.get('before_recording') ?? 0) + (sums.get('unattributed') ?? 0),
  };
}

/** Peaks and residents that ranks printed, against the totals of their stage. A line of the first iteration was printed before the moments existed. */
async function compareLines(
  store: Store,
  runId: number,
  { stages }: StagesOfRun,
  ranks: RunOfRanks,
): Promise<LineResidual[]> {
  const rows = await store.all('log.memory_ranks', { run_id: runId, rank: null });
  const newest = rows.reduce((latest, { attempt }) => Math.max(latest, attempt), 0);
  return rows.flatMap((row): LineResidual[] => {
    const { metric } = row;
    if (row.attempt !== newest || row.max_bytes === null) return [];
    if (metric !== 'max_allocated' && metric !== 'allocated') return [];
    const place = ranks.stageOf(row.rank);
    const stage = stages[place ?? (stages.length === 1 ? 0 : -1)];
    if (stage === undefined) return [];
    // Of the first step alone: after it the moments exist, and after a checkpoint they are loaded.
    const isFirst = row.last_iteration === 1;
    const measured = metric === 'max_allocated' ? row.max_bytes : (row.last_bytes ?? row.max_bytes);
    const doubt = (bytes: number): number => bytes / Math.max(1, stage.allocated_bytes);
    const estimated =
      metric === 'allocated'
        ? stage.resident_bytes
        : isFirst
          ? stage.first_step_allocated_bytes
          : stage.allocated_bytes;
    const low = estimated * doubt(stage.allocated_low_bytes);
    const high = estimated * doubt(stage.allocated_high_bytes);
    return [
      {
        rank: row.rank,
        stage: place,
        metric,
        measured_bytes: measured,
        estimated_bytes: estimated,
        low_bytes: low,
        high_bytes: high,
        residual_bytes: measured - estimated,
        surprise_bytes: outside(measured, low, high),
        file: row.display_path,
        line: Number(row.line),
        reading:
          metric === 'max_allocated' && isFirst
            ? 'of the first iteration: compared with the step in which the moments are made'
            : null,
      },
    ];
  });
}
