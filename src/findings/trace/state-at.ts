/** The state of one device's allocator at a moment of its trace: forward from the reconstructed start. */

import type { AllocatorSettings } from '../../allocator/settings.js';
import type { AllocatorState } from '../../allocator/walk/allocator-state.js';
import type { TotalsObserver } from '../../allocator/walk/forward-walk.js';
import { MbfError } from '../../model/errors.js';
import type { Store } from '../../store/store.js';
import { deviceHistory } from './device-history.js';
import { type Moment, momentText } from './moment.js';
import { readSteps } from './steps.js';
import { type DeviceHistory, walkForward } from './walk-history.js';

export interface StateAt {
  readonly moment: Moment;
  /** Entry after which the state holds; null = before the first entry, or without a trace. */
  readonly seq: number | null;
  /** When that entry was written, where entries carry a time. */
  readonly timeUs: number | null;
  readonly state: AllocatorState;
  readonly settings: AllocatorSettings;
  /**
   * Whether nothing contradicts the allocator's rules on the way from the dump to the start (a skew of the last few
   * entries aside).
   */
  readonly holds: boolean;
}

/**
 * The state at `moment`. Without a trace `peak`, `end` and `start` are the dumped state. Throws MBF1002 where the trace
 * lacks the moment.
 */
export async function stateAt(store: Store, snapshotId: number, device: number, moment: Moment): Promise<StateAt> {
  const history = await deviceHistory(store, snapshotId, device);
  const seq = await seqOfMoment(store, history, moment);
  const walk = seq < 0 ? undefined : await walkForward(store, history, seq);
  const id = { snapshot_id: snapshotId, device };
  const entry = seq < 0 ? undefined : await store.one('history.entry', { ...id, seq });
  return {
    moment,
    seq: seq < 0 ? null : seq,
    timeUs: entry?.time_us ?? null,
    state: walk === undefined ? history.start : walk.snapshot(),
    settings: history.settings,
    holds: history.holds,
  };
}

/** The entry after which `moment` is; −1 = before the first. Throws MBF1002 where the trace lacks the moment. */
export async function seqOfMoment(store: Store, history: DeviceHistory, moment: Moment): Promise<number> {
  const { trace } = history;
  const last = trace.events - 1;
  const id = { snapshot_id: trace.snapshotId, device: trace.device };
  const none = (why: string): never => {
    throw new MbfError('MBF1002', `device ${trace.device} has no moment ${momentText(moment)}: ${why}`);
  };
  if (moment.kind === 'start') return -1;
  if (last < 0 && moment.kind !== 'peak' && moment.kind !== 'end') return none('no trace was recorded');
  switch (moment.kind) {
    case 'end':
      return last;
    case 'peak':
      return history.peak.seq ?? -1;
    case 'seq':
      return moment.seq <= last ? moment.seq : none(`its last entry is ${last}`);
    case 'oom': {
      const oom = (await store.all('snapshot.ooms', { snapshot_id: trace.snapshotId }))
        .filter((row) => row.device === trace.device)
        .at(-1);
      return oom === undefined ? none('no entry of it is an OOM') : oom.seq - 1;
    }
    case 'time': {
      const entry = await store.one('history.last_before', { ...id, time_us: moment.timeUs });
      return entry?.seq ?? none('no entry is that old, or entries carry no times');
    }
    case 'step': {
      const { steps } = await readSteps(store, trace.snapshotId, trace.device);
      // A restart may count the same step again; the last run of it is the one that got furthest.
      const step = steps.filter((one) => one.step === moment.step).at(-1);
      if (step !== undefined) return peakBetween(store, history, step.first_seq, step.last_seq);
      const [first, last] = [steps[0], steps.at(-1)];
      return none(
        first === undefined || last === undefined
          ? 'no annotation marks steps'
          : `its steps are ${first.step} to ${last.step}`,
      );
    }
  }
}

/** The first entry of `from` to `to` after which the most actual bytes are active. */
export async function peakBetween(store: Store, history: DeviceHistory, from: number, to: number): Promise<number> {
  let seq = from;
  let most = Number.NEGATIVE_INFINITY;
  const observer: TotalsObserver = {
    after(at, _allocated, active) {
      if (at < from || active <= most) return;
      most = active;
      seq = at;
    },
  };
  await walkForward(store, history, to, observer);
  return seq;
}
