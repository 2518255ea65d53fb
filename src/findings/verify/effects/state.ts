/**
 * Optimizer state and gradients: bytes for each parameter in the run after, against what the settings of either side
 * would make.
 */

import type { VerifyEvidence } from '../../../model/results/verify.js';
import { formatBytes } from '../../../model/units.js';
import { componentBytes, pairOfPeaks, residentBytes } from '../figures.js';
import type { Side } from '../side.js';
import { type EffectInput, type EffectOf, effect } from './effect.js';
import { ownRecord } from './printed.js';
import { type StateSize, stateSize } from './state-size.js';

/** Two settings whose bytes are closer than this cannot be distinguished. */
const DISTINGUISHABLE = 0.08;
/** So close to what a setting would make is it. */
const NEAR = 0.25;

const ASK =
  'a memory snapshot of the run after that was dumped after a step: bytes of optimizer state and gradients against those of parameters';

export const optimizerEffect: EffectOf = (input) =>
  stateEffect(input, 'optimizer', 'optimizer_state', 'optimizer state');
export const gradientEffect: EffectOf = (input) => stateEffect(input, 'gradient', 'gradient', 'gradients');

function stateEffect(
  { change, family, alone, before, after }: EffectInput,
  part: 'optimizer' | 'gradient',
  component: 'optimizer_state' | 'gradient',
  words: string,
): ReturnType<EffectOf> {
  const record = ownRecord(change.key, change.to, after);
  if (record.is === 'no')
    return effect('inactive', `${record.text}, not ${change.to ?? 'None'}`, record.source, {
      needs: 'set it where the framework takes it from: a precision recipe or an override may win',
    });
  const now = stateSize(after, new Map(family.map(({ key, to }) => [key, to])));
  const was = stateSize(after, new Map(family.map(({ key, from }) => [key, from])));
  const evidence: VerifyEvidence[] = [{ text: record.text, source: record.source }];
  const unsure = (text: string): ReturnType<EffectOf> =>
    effect('untested', `${record.text}; ${text}`, record.source, { evidence, needs: ASK });
  if (now === null || was === null) return unsure(`what ${words} it makes is not known`);
  if (Math.abs(now[part] - was[part]) <= DISTINGUISHABLE * was[part])
    return unsure(`it makes no ${words} of another size here`);
  const measured = perParameter(before, after, component, now);
  if (measured !== null && measured.bytes > 0) {
    evidence.push({ text: measured.text, source: measured.source });
    return judged(
      measured.bytes,
      { now: now[part], was: was[part] },
      `${words}: ${measured.text}`,
      measured.source,
      evidence,
    );
  }
  return byResident({ before, after, alone, now, was, words, evidence }) ?? unsure('nothing shows what it made');
}

function judged(
  bytes: number,
  { now, was }: { readonly now: number; readonly was: number },
  text: string,
  source: string,
  evidence: readonly VerifyEvidence[],
): ReturnType<EffectOf> {
  const words = `${text}; with it ${short(now)} are expected, without it ${short(was)}`;
  const [toNow, toWas] = [distance(bytes, now), distance(bytes, was)];
  if (toNow < toWas && toNow <= Math.log(1 + NEAR)) return effect('active', words, source, { evidence });
  if (toWas < toNow && toWas <= Math.log(1 + NEAR)) return effect('inactive', words, source, { evidence, needs: ASK });
  const between = bytes > Math.min(now, was) && bytes < Math.max(now, was);
  return effect(between ? 'partly' : 'untested', words, source, { evidence, needs: ASK });
}

const distance = (a: number, b: number): number => Math.abs(Math.log(Math.max(a, 1e-9) / Math.max(b, 1e-9)));
const short = (value: number): string => `${Number(value.toPrecision(3))} B`;

function perParameter(
  before: Side,
  after: Side,
  component: 'optimizer_state' | 'gradient',
  size: StateSize,
): { readonly bytes: number; readonly text: string; readonly source: string } | null {
  const peak = pairOfPeaks(before, after)?.after ?? after.measurement.peaks[0];
  if (peak === undefined) return null;
  const parameters = componentBytes(peak, ['parameter']);
  if (parameters === 0) return null;
  const stateBytes = componentBytes(peak, [component]);
  const bytes = (stateBytes / parameters) * size.parameter;
  return {
    bytes,
    text: `${formatBytes(stateBytes)} beside ${formatBytes(parameters)} of parameters, ${short(bytes)} a parameter`,
    source: peak.handle,
  };
}

/** Without a snapshot: what stays allocated after a step. It proves something only if nothing else changed. */
function byResident({
  before,
  after,
  alone,
  now,
  was,
  words,
  evidence,
}: {
  readonly before: Side;
  readonly after: Side;
  readonly alone: boolean;
  readonly now: StateSize;
  readonly was: StateSize;
  readonly words: string;
  readonly evidence: readonly VerifyEvidence[];
}): ReturnType<EffectOf> | undefined {
  const pair = residentBytes(before, after);
  if (pair === null || !alone) return undefined;
  const sum = ({ parameter, gradient, optimizer }: StateSize): number => parameter + gradient + optimizer;
  const expected = pair.before * (1 - sum(now) / sum(was));
  const saved = pair.before - pair.after;
  const text = `${pair.of} ${formatBytes(pair.before)} → ${formatBytes(pair.after)}; ${formatBytes(Math.round(pair.before - expected))} are expected with smaller ${words}`;
  const part = expected === 0 ? 0 : saved / expected;
  const outcome = part >= 0.5 ? 'active' : part <= 0.1 ? 'inactive' : 'partly';
  return effect(outcome, text, pair.source, {
    evidence: [...evidence, { text, source: pair.source }],
    ...(outcome === 'active' ? {} : { needs: ASK }),
  });
}
