/** Rows of the small tables about the history of a device. */
import type { AllocatorSettings } from '../../allocator/settings.js';
import type { DeviceLives } from './trace-lives.js';

/** `derived_history` */
export function historyRow(snapshot_id: number, { settings, steps, labels: _, ...lives }: DeviceLives) {
  return {
    snapshot_id,
    ...lives,
    steps_origin: steps?.origin ?? null,
    steps_annotations: steps === null ? null : JSON.stringify(steps.annotations),
    steps_annotations_device: steps?.annotationsOfDevice ?? null,
    steps_without_entries: steps?.withoutEntries ?? 0,
    ...settingColumns(settings),
  };
}

/** NULL: no limit, or no divisions. */
export function settingColumns(settings: AllocatorSettings) {
  const { maxSplitBytes, maxNonSplitRoundingBytes, largeSegmentBytes, roundupPower2Divisions: divisions } = settings;
  const { MAX_SAFE_INTEGER } = Number;
  return {
    max_split_bytes: maxSplitBytes <= MAX_SAFE_INTEGER ? Math.ceil(maxSplitBytes) : null,
    max_non_split_rounding_bytes: Math.min(maxNonSplitRoundingBytes, MAX_SAFE_INTEGER),
    large_segment_bytes: Math.min(largeSegmentBytes, MAX_SAFE_INTEGER),
    roundup_divisions: divisions.some((division) => division > 1) ? divisions.join(',') : null,
  };
}

/** `trace_step` */
export function stepRows(snapshot_id: number, { device, steps }: DeviceLives) {
  return (steps?.spans ?? []).map(({ step, start_us, end_us, range }, ordinal) => ({
    snapshot_id,
    device,
    ordinal,
    step,
    start_us,
    end_us,
    first_seq: range?.first_seq ?? null,
    last_seq: range?.last_seq ?? null,
    occurrence: range?.occurrence ?? null,
    partial: range?.partial ?? null,
  }));
}
