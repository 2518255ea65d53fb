/**
 * Activations in host memory: summary lines of the offloader, its frames, and what activations still need on the
 * device.
 */

import { isOn } from '../../../derive/settings/values.js';
import type { VerifyEvidence } from '../../../model/results/verify.js';
import { formatBytes } from '../../../model/units.js';
import { type EffectInput, type EffectOf, effect, knownRanks, rankNumber, ranksText } from './effect.js';
import { ownRecord } from './printed.js';
import { byFigures } from './recompute.js';

export const activationOffloadEffect: EffectOf = ({ change, family, alone, before, after }: EffectInput) => {
  const record = ownRecord(change.key, change.to, after);
  if (record.is === 'no') return effect('inactive', `${record.text}, not ${change.to ?? 'None'}`, record.source);
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
    const source = `${total.file} line ${total.line}`;
    const text = `the offload summary reports ${formatBytes(total.value)} in host memory`;
    return effect(total.value > 0 !== isOff ? 'active' : 'inactive', text, source, { evidence });
  }
  const withForward = after.snapshots.filter(({ program }) => program.hasTrace && program.forwardRequests > 0);
  if (withForward.length > 0) {
    const uses = (one: (typeof withForward)[number]): boolean =>
      one.program.offload.has('fine_grained') || one.program.offload.has('layers');
    const active = withForward.filter((one) => uses(one) !== isOff).map(({ rank }) => rankNumber(rank));
    const inactive = withForward.filter((one) => uses(one) === isOff).map(({ rank }) => rankNumber(rank));
    const outcome = inactive.length === 0 ? 'active' : active.length === 0 ? 'inactive' : 'partly';
    const known = knownRanks(outcome === 'active' ? active : inactive);
    const words =
      (outcome === 'active') !== isOff ? 'frames of offload in the stacks' : 'no frame of offload in the stacks';
    return effect(outcome, `${words}${known.length === 0 ? '' : ` of ${ranksText(known)}`}`, withForward[0]!.handle, {
      ranks: { active: knownRanks(active), inactive: knownRanks(inactive) },
      evidence,
    });
  }
  if (figures !== null && alone && Math.abs(figures.share) >= 0.05)
    return effect(figures.share < 0 !== isOff ? 'active' : 'inactive', figures.text, figures.source, { evidence });
  return effect('untested', `${record.text}; no summary of offload and no stack shows it`, record.source, {
    evidence,
    needs: 'a memory snapshot of the run after with Python stacks, or the offloader’s summary lines',
  });
};
