/**
 * Step time and throughput over steady iterations. Time is the gate: how TFLOP/s are counted has changed between
 * versions without any change of speed. Stragglers and throttled devices make a slow run undecided, not bad.
 */

import type { Disturbance, MeasuredSteps, Measurement } from '../../../model/measurement.js';
import type { CompareCheck } from '../../../model/results/compare.js';
import { judgeChange, type Sample, SIGMAS } from '../../measure/noise.js';
import { ASSUMED } from '../../measure/tolerances.js';
import { type CheckInput, judgedCheck, skippedCheck } from './check.js';

/** With fewer steady iterations a median is meaningless. */
const LEAST_STEPS = 3;
/** Standard error of a median over that of a mean, of a normal distribution: √(π/2). */
const MEDIAN_ERROR = 1.2533;
/** Allocator retries slow a run too, but they come of its memory. */
const EXCUSES: ReadonlySet<Disturbance['kind']> = new Set(['straggler', 'throttling', 'other_process']);

export function timeChecks(input: CheckInput): CompareCheck[] {
  const time = check(input, 'step_time', 'ms', 'higher', (steps) => ({
    value: steps.median_ms,
    spread: steps.spread_ms,
  }));
  const flops = check(input, 'throughput', 'TFLOP/s/GPU', 'lower', (steps) =>
    steps.median_tflops === null ? undefined : { value: steps.median_tflops, spread: steps.spread_tflops ?? 0 },
  );
  if (time !== undefined) return flops === undefined ? [time] : [time, { ...flops, gate: false }];
  if (flops !== undefined) return [flops];
  const isTimed = input.golden.some(({ steps }) => steps !== null && steps.count >= LEAST_STEPS);
  const whose = isTimed ? 'the run' : 'a side';
  return [
    skippedCheck('step_time', 'ms', `${whose} has fewer than ${LEAST_STEPS} steady iterations with a time`, isTimed),
  ];
}

function check(
  { golden, current, tolerances }: CheckInput,
  name: string,
  unit: string,
  worse: 'higher' | 'lower',
  figure: (steps: MeasuredSteps) => { readonly value: number; readonly spread: number } | undefined,
): CompareCheck | undefined {
  const sample = ({ steps }: Measurement): Sample[] => {
    if (steps === null || steps.count < LEAST_STEPS) return [];
    const value = figure(steps);
    if (value === undefined) return [];
    return [{ value: value.value, uncertainty: (SIGMAS * MEDIAN_ERROR * value.spread) / Math.sqrt(steps.count) }];
  };
  const [a, b] = [golden.flatMap(sample), current.flatMap(sample)];
  if (a.length === 0 || b.length === 0) return undefined;
  const judged = judgeChange(a, b, tolerances.time, ASSUMED.time, worse);
  const excuse = current.flatMap(({ disturbances }) => disturbances).find(({ kind }) => EXCUSES.has(kind));
  const windows = current.flatMap(({ steps }) => (steps === null ? [] : [`iterations ${steps.from} to ${steps.to}`]));
  const excused = excuse !== undefined && judged.status === 'regression';
  return judgedCheck(name, unit, judged, tolerances.time, {
    gate: true,
    reason: excused
      ? `not to be told from ${excuse.kind}: ${excuse.text}`
      : `median of steady ${windows[0] ?? 'iterations'}`,
    ...(excused ? { status: 'undecided' } : {}),
  });
}
