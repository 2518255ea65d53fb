/**
 * What the run's own requests do in the allocator model: whether it repeats the OOM, and whether the other kind of
 * segments would have avoided it.
 */

import type { WhatIfSetting } from '../../model/results/replay.js';
import type { Counterfactual } from '../../model/verdict.js';
import type { Store } from '../../store/store.js';
import { calibrate, type DevicePlace, leastCapacities, replayDevice, settingRows } from './ask.js';
import { questionOf, recordedQuestion } from './sweep-questions.js';

/** Replaying takes a microsecond an entry and some 45 bytes: beyond this the first screen does not wait for it. */
const MOST_ENTRIES = 5_000_000;
/** The least capacity takes a dozen replays more: up to here they are not felt. */
const MOST_ENTRIES_FOR_LEAST = 250_000;

/** `entries`: length of the trace. Null where it is too long for a first screen. */
export async function counterfactual(
  store: Store,
  place: DevicePlace,
  entries: number,
): Promise<Counterfactual | null> {
  if (entries > MOST_ENTRIES) return null;
  const device = await replayDevice(store, place);
  const { status, reason, outcome } = device.fidelity;
  const replay = { status, reason, address_matches: outcome.addressMatches, address_total: outcome.allocs };
  if (status === 'refused') {
    return {
      replay: { ...replay, repeats_oom: false, layout_short_bytes: null, least_capacity_bytes: null },
      rows: [],
    };
  }
  const { settings } = device.stored.recording;
  const { budgetBytes, allowedBytes } = device.capacity;
  const other = questionOf(settings, `expandable_segments:${settings.expandableSegments ? 'False' : 'True'}`, false);
  const calibration = calibrate(device);
  const ask = (question: typeof other, repeats: boolean | null): WhatIfSetting[] =>
    settingRows(device, question, budgetBytes, allowedBytes, calibration, repeats);
  const recorded = ask(recordedQuestion(settings), null);
  const repeats = recorded.every((row) => row.outcome === 'same_oom');
  return {
    replay: {
      ...replay,
      repeats_oom: repeats,
      layout_short_bytes: repeats ? (recorded[0]?.short_bytes ?? null) : null,
      least_capacity_bytes:
        repeats && allowedBytes === null && entries <= MOST_ENTRIES_FOR_LEAST
          ? (leastCapacities(device, false)[0]?.capacity_bytes ?? null)
          : null,
    },
    rows: [...recorded, ...ask(other, repeats)],
  };
}
