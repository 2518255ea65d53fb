/** A recorded device that replays well enough to be asked what-if questions, and the answers as rows. */

import { RESERVATION_FACTOR } from '../../allocator/caching/expandable-segments.js';
import { type Fidelity, judgeReplay } from '../../allocator/fidelity/fidelity.js';
import type { Recording } from '../../allocator/replay/recording.js';
import { type AllocatorSettings, PAGE_BYTES } from '../../allocator/settings.js';
import { OOM } from '../../allocator/trace-action-codes.js';
import type { AllocatorVariant } from '../../allocator/variants.js';
import type { Alternatives } from '../../allocator/what-if/alternatives.js';
import { runOnce, type WhatIfBase } from '../../allocator/what-if/known-runs.js';
import { askWhatIf, leastBudget } from '../../allocator/what-if/sweep.js';
import type { LostFact, WhatIfResult, WhatIfSetting } from '../../model/results/replay.js';
import type { Store } from '../../store/store.js';
import type { ChosenDevice } from '../state/choose-snapshot.js';
import { type RecordedCapacity, readCapacity } from './capacity.js';
import { readRecording, type StoredRecording } from './read-recording.js';
import { RECORDED, type SettingQuestion } from './sweep-questions.js';

export interface ReplayedDevice {
  readonly stored: StoredRecording;
  readonly fidelity: Fidelity;
  readonly capacity: RecordedCapacity;
  readonly base: WhatIfBase;
}

/** What a device is read by. */
export type DevicePlace = Pick<ChosenDevice, 'snapshotId' | 'device' | 'rank' | 'path'>;

export async function replayDevice(store: Store, chosen: DevicePlace): Promise<ReplayedDevice> {
  const stored = await readRecording(store, chosen.snapshotId, chosen.device);
  const fidelity = judgeReplay(stored.recording, stored.dump, stored.walk);
  const { alternatives, outcome } = fidelity;
  const capacity = await readCapacity(store, chosen, fidelity.recording);
  const recording = withOutside(fidelity.recording, capacity);
  return {
    stored: { ...stored, recording },
    fidelity,
    capacity,
    base: baseOf(recording, alternatives, outcome.variant),
  };
}

/** A reservation that the replay found is exact, a printed total is rounded. */
function withOutside(recording: Recording, { budgetBytes, outsideBytes }: RecordedCapacity): Recording {
  const { reservationBytes } = recording;
  const isFound = Number.isFinite(reservationBytes) && Number.isFinite(budgetBytes);
  const outside = isFound ? Math.max(0, reservationBytes / RESERVATION_FACTOR - budgetBytes) : outsideBytes;
  return outside === null ? recording : { ...recording, outsideBytes: outside };
}

/**
 * Of the facts that a recording lost, those that this one may have had. `isEdited`: of other requests than those
 * recorded, which other divisions may round.
 */
export function lostFacts({ base: { lost, recording } }: ReplayedDevice, isEdited: boolean): LostFact[] {
  if (lost === undefined) return [];
  const facts: readonly (readonly [LostFact, boolean])[] = [
    ['pending_frees', lost.pendingBytes > 0],
    ['flushes', lost.flushes],
    ['unclear_flushes', lost.unclearFlushes],
    ['private_pools', lost.privatePools],
    ['divisions', lost.divisions || (isEdited && recording.settings.openDivisions !== undefined)],
    ['cases', lost.isCut],
  ];
  return facts.flatMap(([fact, isLost]) => (isLost ? [fact] : []));
}

function baseOf(
  recording: Recording,
  { cases: [operations, ...others], lost }: Alternatives,
  variant: AllocatorVariant,
): WhatIfBase {
  return {
    recording,
    operations: operations!,
    variant,
    lost,
    others: others.map((other) => ({ recording, operations: other, variant })),
  };
}

/**
 * Error of laying out the start as well as possible, seen with the recorded settings; null where the start is empty.
 */
export function calibrate({ stored, base }: ReplayedDevice): number | null {
  const { recording, history } = stored;
  if (recording.start.blocks.count === 0 && recording.start.segments.count === 0) return null;
  const run = (start: 'packed' | 'recorded'): number =>
    runOnce(base, {
      settings: recording.settings,
      budgetBytes: Number.POSITIVE_INFINITY,
      start,
      direction: 'ascending',
    }).peakReservedBytes;
  // Without a limit the peak of a run that failed is higher than the recorded one: compare like with like.
  const isLimited = recording.events.action.includes(OOM);
  return run('packed') - (isLimited ? run('recorded') : history.peakReserved.bytes);
}

export function settingRows(
  { base, stored, capacity: { takenByOthersBytes } }: ReplayedDevice,
  question: SettingQuestion,
  budgetBytes: number,
  allowedBytes: number | null,
  calibration: number | null,
  /** With the recorded settings the model fails where torch did; null: nothing failed. */
  repeats: boolean | null = null,
): WhatIfSetting[] {
  const { bounds, robust } = askWhatIf(base, {
    settings: question.settings,
    budgetBytes,
    takenByOthersBytes,
    ...(allowedBytes === null ? {} : { allowedBytes }),
  });
  const capacity = Math.min(budgetBytes, allowedBytes ?? budgetBytes);
  const isLimited = Number.isFinite(capacity);
  return bounds.map(({ bound, outcome, result, leastPeakReservedBytes, mostPeakReservedBytes, isEstimated }) => {
    const change = Math.abs(result.peakReservedBytes - stored.history.peakReserved.bytes);
    const isNoise = bound === 'optimistic' && calibration !== null && change <= Math.abs(calibration);
    return {
      setting: question.label,
      capacity_bytes: isLimited ? capacity : null,
      outcome,
      peak_reserved_bytes: result.peakReservedBytes,
      peak_reserved_least_bytes: leastPeakReservedBytes,
      peak_reserved_most_bytes: mostPeakReservedBytes,
      peak_active_bytes: result.peakActiveBytes,
      headroom_bytes: isLimited ? capacity - mostPeakReservedBytes : null,
      driver_calls: result.driverCalls,
      bound: bound === 'exact' && (isEstimated || leastPeakReservedBytes < mostPeakReservedBytes) ? 'interval' : bound,
      unused_at_peak_bytes: result.unusedAtPeakBytes,
      retries: result.retries,
      short_bytes: result.oom === null ? null : result.oom.shortBytes,
      oom_seq: result.oom === null ? null : result.oom.seq,
      robust: robust && repeats !== false,
      note: question.note ?? (isNoise ? 'peak changed by less than the error of the assumed start' : null),
    };
  });
}

/** For the recorded settings and, if `others`, for the other kind of segments. */
export function leastCapacities(
  { base, stored, capacity: { takenByOthersBytes } }: ReplayedDevice,
  others = true,
): WhatIfResult['least_capacity'] {
  const { recording } = stored;
  const isCold = recording.start.segments.count === 0;
  const other: AllocatorSettings = {
    ...recording.settings,
    expandableSegments: !recording.settings.expandableSegments,
  };
  const sure = (base.others ?? []).length === 0 ? ('exact' as const) : ('likeliest' as const);
  const questions = [
    { label: RECORDED, settings: recording.settings, start: 'recorded' as const, bound: sure },
    {
      label: `expandable_segments:${other.expandableSegments ? 'True' : 'False'}`,
      settings: other,
      start: isCold ? ('recorded' as const) : ('packed' as const),
      bound: isCold ? sure : ('optimistic' as const),
    },
  ];
  return questions.slice(0, others ? 2 : 1).flatMap(({ label, settings, start, bound }) => {
    const unlimited = runOnce(base, {
      settings,
      budgetBytes: Number.POSITIVE_INFINITY,
      start,
      direction: 'ascending',
    });
    const bytes = leastBudget(
      base,
      settings,
      start,
      unlimited.peakActiveBytes - PAGE_BYTES,
      unlimited.peakReservedBytes,
      takenByOthersBytes,
    );
    return bytes === null ? [] : [{ setting: label, capacity_bytes: bytes, bound }];
  });
}
