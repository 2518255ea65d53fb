/**
 * Activations in host memory: summary lines of the offloader, its frames, and what activations still need on the
 * device.
 */

import { isOn } from '../../../derive/settings/values.js';
import type { VerifyEvidence } from '../unworded.js';
import { textOf } from '../values.js';
import { type EffectInput, type EffectOf, effect, knownText, outcomeOn, rankNumber } from './effect.js';
import { ownRecord } from './printed.js';
import { byFigures } from './recompute.js';

export const activationOffloadEffect: EffectOf = ({ change, family, alone, before, after }: EffectInput) => {
  const record = ownRecord(change.key, change.to, after);
  if (record.is === 'no') return effect('inactive', 'differs', record.figures, record.source);
  const switched = family.find(({ key }) => key === 'cpu_offloading' || key === 'fine_grained_activation_offloading');
  const isOff = switched !== undefined && !isOn(switched.to);
  const figures = byFigures(before, after);
  const evidence: VerifyEvidence[] = [
    { text: record.text, source: record.source },
    ...(figures === null ? [] : [figures]),
  ];
  const printed = after.values.filter(({ name }) => name.startsWith('offload.activation['));
  const total = printed.find(({ name }) => name === 'offload.activation[total]') ?? printed[0];
  if (total !== undefined && total.value !== null) {
    const source = textOf('file_line', { file: total.file, line: total.line });
    const isActive = total.value > 0 !== isOff;
    return effect(isActive ? 'active' : 'inactive', 'offloaded', { bytes: total.value }, source, { evidence });
  }
  const withForward = after.snapshots.filter(({ program }) => program.hasTrace && program.forwardRequests > 0);
  if (withForward.length > 0) {
    const uses = (one: (typeof withForward)[number]): boolean =>
      one.program.offload.has('fine_grained') || one.program.offload.has('layers');
    const ranksOf = (is: boolean): number[] =>
      withForward.filter((one) => (uses(one) !== isOff) === is).map(({ rank }) => rankNumber(rank));
    const [active, inactive] = [ranksOf(true), ranksOf(false)];
    const { outcome, ranks } = outcomeOn(active, inactive);
    const shown = {
      seen: (outcome === 'active') !== isOff,
      where: knownText(outcome === 'active' ? active : inactive),
    };
    return effect(outcome, 'offload_frames', shown, withForward[0]!.handle, { ranks, evidence });
  }
  if (figures !== null && alone && Math.abs(figures.share) >= 0.05)
    return effect(figures.share < 0 !== isOff ? 'active' : 'inactive', 'shown', figures, figures.source, {
      evidence,
    });
  return effect('untested', 'offload_unknown', record.figures, record.source, { evidence });
};
