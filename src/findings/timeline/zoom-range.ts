/** `--from` and `--to`: two moments as a range of trace entries. */

import { type Moment, momentText } from '../../derive/trace/moment.js';
import { MbfError } from '../../model/errors.js';
import type { StepRange } from '../../model/results/timeline.js';
import type { Store } from '../../store/store.js';

export interface Zoom {
  readonly from: Moment | undefined;
  readonly to: Moment | undefined;
}

/** What moments of one device are measured against. */
export interface ZoomBasis {
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly steps: readonly StepRange[];
  /** First entry after which the most is active. */
  readonly peakSeq: () => Promise<number>;
}

/**
 * First and last entry of the range. A step stands for all its entries: `from` is its first, `to` its last; of steps
 * with the same number `from` is the first, `to` the last. `oom` is the failed entry itself, a time lies after the last
 * entry at or before it. Throws MBF1002 for a moment that the trace of this device does not have, MBF1001 if `from` is
 * later than `to`.
 */
export async function zoomRange(
  store: Store,
  snapshotId: number,
  device: number,
  zoom: Zoom,
  basis: ZoomBasis,
): Promise<{ readonly firstSeq: number; readonly lastSeq: number }> {
  const seqOf = async (moment: Moment, isFrom: boolean): Promise<number> => {
    const missing = (why: string): MbfError => new MbfError('MBF1002', `no moment ${momentText(moment)}: ${why}`);
    switch (moment.kind) {
      case 'start':
        return basis.firstSeq;
      case 'end':
        return basis.lastSeq;
      case 'peak':
        return basis.peakSeq();
      case 'seq':
        if (moment.seq < basis.firstSeq || moment.seq > basis.lastSeq)
          throw missing(`the trace of device ${device} has entries ${basis.firstSeq} to ${basis.lastSeq}`);
        return moment.seq;
      case 'oom': {
        const points = await store.all('timeline.points', {
          snapshot_id: snapshotId,
          device,
          from_seq: basis.firstSeq,
          to_seq: basis.lastSeq,
        });
        const oom = points.find((point) => point.action === 'oom');
        if (oom === undefined) throw missing(`the trace of device ${device} has no OOM entry`);
        return oom.seq;
      }
      case 'time': {
        const span = await store.one('timeline.span', { snapshot_id: snapshotId, device, time_us: moment.timeUs });
        if (span === undefined || span.first_time_us === null)
          throw missing(`the trace of device ${device} has no times`);
        if (span.seq_at_time === null) {
          if (isFrom) return basis.firstSeq;
          throw missing(`the trace of device ${device} begins at ${span.first_time_us}`);
        }
        return span.seq_at_time;
      }
      case 'step': {
        const found = basis.steps.filter((step) => step.step === moment.step);
        const step = isFrom ? found[0] : found.at(-1);
        if (step === undefined) throw missing(knownSteps(device, basis.steps));
        return isFrom ? step.first_seq : step.last_seq;
      }
    }
  };
  const firstSeq = zoom.from === undefined ? basis.firstSeq : await seqOf(zoom.from, true);
  const lastSeq = zoom.to === undefined ? basis.lastSeq : await seqOf(zoom.to, false);
  if (firstSeq > lastSeq)
    throw new MbfError(
      'MBF1001',
      `--from is entry ${firstSeq} of device ${device}, which is later than --to, entry ${lastSeq}`,
    );
  return { firstSeq, lastSeq };
}

function knownSteps(device: number, steps: readonly StepRange[]): string {
  const first = steps[0];
  const last = steps.at(-1);
  if (first === undefined || last === undefined) return `no annotation marks steps on device ${device}`;
  return `device ${device} has steps ${first.step} to ${last.step}`;
}
