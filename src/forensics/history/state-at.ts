/** The state of one device's allocator at a moment of its trace. */
import type { AllocatorState } from '../../allocator/allocator-state.js';
import type { AllocatorSettings } from '../../allocator/settings.js';
import { MbfError } from '../../model/errors.js';
import type { Store } from '../../store/store.js';
import { walkDevice } from '../device-walk.js';
import { type Moment, momentText } from './moment.js';

export interface StateAt {
  readonly moment: Moment;
  /** Entry after which the state holds; null = before the first entry, or the device has no trace. */
  readonly seq: number | null;
  readonly timeUs: number | null;
  readonly state: AllocatorState;
  readonly settings: AllocatorSettings;
  /** Whether nothing contradicts the allocator's rules on the way from the dump to the start (a skew of the last few entries aside). */
  readonly holds: boolean;
}

/**
 * The state at `moment`. Without a trace every moment but `oom`, `time` and `step` is the dumped state. Throws MBF1002 where the trace has no such moment.
 */
export async function stateAt(store: Store, snapshotId: number, device: number, moment: Moment): Promise<StateAt> {
  const first = await walkDevice(store, snapshotId, device);
  const last = first.walk.lastSeq;
  let seq: number;
  if (moment.kind === 'peak') seq = first.walk.peak.seq ?? -1;
  else if (moment.kind === 'end') seq = last ?? -1;
  else if (moment.kind === 'seq') seq = moment.seq;
  else if (moment.kind === 'start') seq = -1;
  else throw new MbfError('MBF1002', `no moment ${momentText(moment)}`);
  if (last === null)
    return { moment, seq: null, timeUs: null, state: first.walk.state(), settings: first.settings, holds: first.holds };
  const again = await walkDevice(store, snapshotId, device, [seq]);
  const state = again.walk.captured(seq);
  if (state === undefined) throw new MbfError('MBF1002', `no moment ${momentText(moment)}`);
  return { moment, seq: seq < 0 ? null : seq, timeUs: null, state, settings: first.settings, holds: first.holds };
}
