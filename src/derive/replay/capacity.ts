/**
 * What the recorded allocator could have had, and what of the device it could not: from the trace, and from the
 * messages of its run.
 */

import { type Recording, recordedReserve } from '../../allocator/replay/recording.js';
import { allocationSize } from '../../allocator/rounding.js';
import { OOM } from '../../allocator/trace-action-codes.js';
import { sentencesOf, type Text } from '../../model/statement.js';
import type { Store } from '../../store/store.js';
import type { ChosenDevice } from '../state/choose-snapshot.js';

const sentence = sentencesOf('capacity');

export interface RecordedCapacity {
  /** Reserved plus free on the device when the last recorded OOM was raised; Infinity where none was. */
  readonly budgetBytes: number;
  /**
   * How much less that is than what the trace shows as reserved before it: memory that others took meanwhile (NCCL,
   * another process).
   */
  readonly takenByOthersBytes: number;
  /** A memory fraction's limit; null where none is known to have been set. */
  readonly allowedBytes: number | null;
  /** The smaller of both. */
  readonly capacityBytes: number | null;
  readonly source: Text | null;
  readonly deviceTotalBytes: number | null;
  /** Memory of the device outside this allocator; null where the total is not known. */
  readonly outsideBytes: number | null;
}

/** `path`: how the snapshot is named in the result. */
export async function readCapacity(
  store: Store,
  device: Pick<ChosenDevice, 'snapshotId' | 'device' | 'rank' | 'path'>,
  recording: Recording,
): Promise<RecordedCapacity> {
  const { total, allowed } = await printedFigures(store, device);
  const { events } = recording;
  const row = events.action.lastIndexOf(OOM, events.count - 1);
  const oom =
    row < 0
      ? undefined
      : (await store.all('snapshot.ooms', { snapshot_id: device.snapshotId })).find(
          (one) => one.device === device.device && one.seq === events.seq[row],
        );
  if (oom === undefined || oom.device_free_bytes === null) {
    return {
      budgetBytes: Number.POSITIVE_INFINITY,
      takenByOthersBytes: 0,
      allowedBytes: allowed,
      capacityBytes: allowed,
      source: allowed === null ? null : sentence('fraction'),
      deviceTotalBytes: total,
      outsideBytes: null,
    };
  }
  const reserve = recordedReserve(recording);
  const reserved = reserve[row]!;
  const budgetBytes = reserved + oom.device_free_bytes;
  const need = allocationSize(oom.requested_bytes, recording.settings);
  // The driver had it, and torch still refused: something below the device's free memory stopped it.
  const isLimited = allowed !== null || oom.device_free_bytes >= need + 2 * recording.settings.largeSegmentBytes;
  const reached = reserve.subarray(0, row + 1).reduce((most, bytes) => Math.max(most, bytes), 0);
  const allowedBytes = allowed ?? (isLimited ? reached : null);
  const takenByOthersBytes = Math.max(0, reached - budgetBytes);
  const entry = sentence('entry', { path: device.path, entry: oom.seq });
  return {
    budgetBytes,
    takenByOthersBytes,
    allowedBytes,
    capacityBytes: Math.min(budgetBytes, allowedBytes ?? budgetBytes),
    source:
      allowed !== null
        ? sentence('fraction')
        : isLimited
          ? sentence('below_free', { entry })
          : sentence('at_oom', { entry }),
    deviceTotalBytes: total,
    outsideBytes: total === null ? null : Math.max(0, total - budgetBytes),
  };
}

/**
 * Figures of the OOM messages of the snapshot's run: the device's total if all agree, the fraction's limit of this
 * rank.
 */
async function printedFigures(
  store: Store,
  device: { readonly snapshotId: number; readonly rank: number | null },
): Promise<{ total: number | null; allowed: number | null }> {
  const run = await store.one('replay.run_of_snapshot', { snapshot_id: device.snapshotId });
  if (run === undefined) return { total: null, allowed: null };
  const total = await store.one('incident.run_total', { run_ids: String(run.run_id) });
  const limit = await store.one('replay.printed_limit', { run_id: run.run_id, rank: device.rank });
  return { total: total?.total_bytes ?? null, allowed: limit?.allowed_bytes ?? null };
}
