/** `mbforensics estimate residual`: what was measured less the theoretical figure, for runs that have both. */

import type { StageOf } from '../../../derive/attribution/blocks/run-figures.js';
import type { StagesOfRun } from '../../../derive/estimate/estimate-run.js';
import { compareDevice, type DeviceQuestion } from '../../../derive/estimate/residual/compare-device.js';
import { outside } from '../../../derive/estimate/residual/compare-stage.js';
import { readTheory } from '../../../derive/estimate/residual/theory.js';
import { readLogFacts } from '../../../derive/run/log-facts.js';
import { listSnapshots } from '../../../derive/run/names/snapshots.js';
import { MbfError } from '../../../model/errors.js';
import type { DeviceResidual, LineResidual, ResidualResult } from '../../../model/results/residual.js';
import { sentencesOf, type Unworded } from '../../../model/statement.js';
import type { Store } from '../../../store/store.js';

const sentence = sentencesOf('estimate');

type Line = Unworded<LineResidual, 'reading'>;
type Residual = Unworded<ResidualResult, 'reading' | 'reason' | 'no_estimate'>;

export interface ResidualQuestion extends DeviceQuestion {
  /** Only this snapshot. */
  readonly handle?: string | undefined;
}

export async function describeResidual(
  store: Store,
  runId: number,
  run: string,
  question: ResidualQuestion,
): Promise<Residual> {
  const { inputs, estimate, refused, stageOf } = await readTheory(store, runId);
  const none: Residual = {
    schema: 'mbforensics/residual@1',
    run,
    no_estimate: refused ?? sentence('not_set', { keys: inputs.missing }),
    devices: [],
    left_out: [],
    lines: [],
    assumptions: [],
    not_modelled: [],
  };
  if (estimate === null) return none;
  const devices: DeviceResidual[] = [];
  const leftOut: Residual['left_out'][number][] = [];
  let missing: MbfError | undefined;
  for (const row of await listSnapshots(store, { runId })) {
    if (question.handle !== undefined && row.handle !== question.handle) continue;
    const id = { snapshot_id: row.snapshot_id };
    for (const { device, segments, events } of await store.all('snapshot.devices', id)) {
      if (segments === 0 && events === null) continue;
      try {
        const comparison = await compareDevice(store, row, device, estimate, stageOf, question);
        if (comparison !== null) devices.push(comparison);
        else leftOut.push({ path: row.display_path, device, reason: sentence('stage_unknown') });
      } catch (error) {
        // One device of several runs out of memory; the others lack that moment, and still get an answer.
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
    lines: await compareLines(store, runId, estimate, stageOf),
    assumptions: estimate.assumptions,
    not_modelled: estimate.not_modelled,
  };
}

/**
 * Peaks and residents that ranks printed, against the totals of their stage. A line of the first iteration was printed
 * before the moments existed.
 */
async function compareLines(store: Store, runId: number, { stages }: StagesOfRun, stageOf: StageOf): Promise<Line[]> {
  const { judged } = await readLogFacts(store, runId);
  const rows = await store.all('log.memory_ranks', { run_ids: String(runId), attempts: String(judged) });
  return rows.flatMap((row): Line[] => {
    const { metric } = row;
    if (row.max_bytes === null) return [];
    if (metric !== 'max_allocated' && metric !== 'allocated') return [];
    const place = stageOf(row.rank);
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
        reading: metric === 'max_allocated' && isFirst ? sentence('first_iteration') : null,
      },
    ];
  });
}
