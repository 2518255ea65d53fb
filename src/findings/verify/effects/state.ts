/**
 * Optimizer state and gradients: bytes for each parameter in the run after, against what the settings of either side
 * would make.
 */

import type { EffectOutcome } from '../../../model/results/verify.js';
import type { Text } from '../../../model/statement.js';
import { componentBytes, pairOfPeaks, residentBytes } from '../figures.js';
import type { Side } from '../side.js';
import type { VerifyEvidence } from '../unworded.js';
import { textOf } from '../values.js';
import { type EffectInput, type EffectOf, effect, evidenceOf } from './effect.js';
import { ownRecord } from './printed.js';
import { type StateSize, stateSize } from './state-size.js';

/** Two settings whose bytes are closer than this cannot be distinguished. */
const DISTINGUISHABLE = 0.08;
/** So close to what a setting would make is it. */
const NEAR = 0.25;

export const optimizerEffect: EffectOf = (input) =>
  stateEffect(input, 'optimizer', 'optimizer_state', textOf('optimizer_state'));
export const gradientEffect: EffectOf = (input) => stateEffect(input, 'gradient', 'gradient', textOf('gradients'));

function stateEffect(
  { change, family, alone, before, after }: EffectInput,
  part: 'optimizer' | 'gradient',
  component: 'optimizer_state' | 'gradient',
  words: Text,
): ReturnType<EffectOf> {
  const record = ownRecord(change.key, change.to, after);
  if (record.is === 'no') return effect('inactive', 'state_differs', record.figures, record.source);
  const now = stateSize(after, new Map(family.map(({ key, to }) => [key, to])));
  const was = stateSize(after, new Map(family.map(({ key, from }) => [key, from])));
  const evidence: VerifyEvidence[] = [{ text: record.text, source: record.source }];
  const unsure = (code: string): ReturnType<EffectOf> =>
    effect('untested', code, { ...record.figures, words }, record.source, { evidence });
  if (now === null || was === null) return unsure('state_unknown');
  if (Math.abs(now[part] - was[part]) <= DISTINGUISHABLE * was[part]) return unsure('state_alike');
  const measured = perParameter(before, after, component, now);
  if (measured === null || measured.bytes <= 0)
    return (alone ? byResident(before, after, { now, was, words, evidence }) : null) ?? unsure('state_unseen');
  evidence.push({ text: measured.text, source: measured.source });
  const { bytes, text, source } = measured;
  const figures = { words, text, now: short(now[part]), was: short(was[part]) };
  return effect(outcomeOf(bytes, now[part], was[part]), 'state_measured', figures, source, { evidence });
}

function outcomeOf(bytes: number, now: number, was: number): EffectOutcome {
  const [toNow, toWas] = [distance(bytes, now), distance(bytes, was)];
  if (toNow < toWas && toNow <= Math.log(1 + NEAR)) return 'active';
  if (toWas < toNow && toWas <= Math.log(1 + NEAR)) return 'inactive';
  return bytes > Math.min(now, was) && bytes < Math.max(now, was) ? 'partly' : 'untested';
}

const distance = (a: number, b: number): number => Math.abs(Math.log(Math.max(a, 1e-9) / Math.max(b, 1e-9)));
const short = (value: number): string => `${Number(value.toPrecision(3))} B`;

function perParameter(before: Side, after: Side, component: 'optimizer_state' | 'gradient', size: StateSize) {
  const peak = pairOfPeaks(before, after)?.after ?? after.measurement.peaks[0];
  if (peak === undefined) return null;
  const parameters = componentBytes(peak, ['parameter']);
  if (parameters === 0) return null;
  const stateBytes = componentBytes(peak, [component]);
  const bytes = (stateBytes / parameters) * size.parameter;
  const text = textOf('state_size', { state_bytes: stateBytes, parameter_bytes: parameters, each: short(bytes) });
  return { bytes, text, source: peak.handle };
}

/** Without a snapshot: what stays allocated after a step. It proves something only if nothing else changed. */
function byResident(
  before: Side,
  after: Side,
  { now, was, words, evidence }: Record<'now' | 'was', StateSize> & { words: Text; evidence: VerifyEvidence[] },
): ReturnType<EffectOf> | null {
  const pair = residentBytes(before, after);
  if (pair === null) return null;
  const sum = ({ parameter, gradient, optimizer }: StateSize): number => parameter + gradient + optimizer;
  const expected = pair.before * (1 - sum(now) / sum(was));
  const part = expected === 0 ? 0 : (pair.before - pair.after) / expected;
  const figures = {
    ...{ of: pair.of, a_bytes: pair.before, b_bytes: pair.after, words },
    expected_bytes: Math.round(pair.before - expected),
  };
  return effect(part >= 0.5 ? 'active' : part <= 0.1 ? 'inactive' : 'partly', 'resident', figures, pair.source, {
    evidence: [...evidence, evidenceOf('resident', figures, pair.source)],
  });
}
