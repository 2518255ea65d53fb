/** Rows of the small tables about the history of a device. */
import type { AllocatorSettings } from '../../allocator/settings.js';
import type { DeviceLives } from './trace-lives.js';

/** `derived_history` */
export function historyRow(snapshot_id: number, lives: DeviceLives) {
  return {
    snapshot_id,
    device: lives.device,
    events: lives.events,
    blocks: lives.blocks,
    holds: lives.holds,
    ends_in_dump: lives.endsInDump,
    starts_empty: lives.startsEmpty,
    violations: lives.violations,
    implied_completions: lives.impliedCompletions,
    divergences: lives.divergences,
    requests_recorded: lives.freeRequestedRecorded,
    completions_recorded: lives.freeCompletedRecorded,
    pooled: lives.pooled,
    peak_active_bytes: lives.peakActiveBytes,
    peak_active_seq: lives.peakActiveSeq,
    peak_reserved_bytes: lives.peakReservedBytes,
    peak_reserved_seq: lives.peakReservedSeq,
    uncertain_blocks: lives.uncertainBlocks,
    uncertain_bytes: lives.uncertainBytes,
    bucket_entries: lives.bucketEntries,
    steps_origin: lives.steps?.origin ?? null,
    steps_annotations: lives.steps === null ? null : JSON.stringify(lives.steps.annotations),
    steps_annotations_device: lives.steps?.annotationsOfDevice ?? null,
    steps_without_entries: lives.steps?.withoutEntries ?? 0,
    ...settingColumns(lives.settings),
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
