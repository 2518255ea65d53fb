/**
 * What `mbforensics timeline` answers: the course of a device's memory over its trace, and over the training steps in
 * it.
 */
import type { Component } from '../vocabulary.js';
import type { NvtxAt } from './nsys.js';
import type { RowOf } from './row-of.js';

export interface TimelineResult {
  readonly schema: 'mbforensics/timeline@1';
  readonly snapshots: readonly TimelineSnapshot[];
}

export interface TimelineSnapshot {
  readonly path: string;
  readonly handle: string;
  readonly rank: number | null;
  readonly devices: readonly TimelineDevice[];
  /** Devices without the moment of `--from` or `--to`. */
  readonly left_out: readonly { readonly device: number; readonly reason: string }[];
}

/** Figures are actual block sizes in bytes. */
export interface TimelineDevice {
  readonly device: number;
  /** Null where no trace was recorded: then only {@link dump} is known. */
  readonly trace: TimelineTrace | null;
  /** The state that was dumped. */
  readonly dump: { readonly allocated_bytes: number; readonly active_bytes: number; readonly reserved_bytes: number };
}

export interface TimelineTrace {
  /** Entries of the whole trace of the device. */
  readonly entries: number;
  /** What is shown of it. */
  readonly range: TimelineRange;
  readonly zoomed: boolean;
  /** What the columns divide equally. `index` also where times were asked for and the entries have none. */
  readonly by: 'index' | 'time';
  /** Entries that one row of the underlying table summarises; 1: every figure is exact to the entry. */
  readonly entries_per_row: number;
  /** `approximate` where the trace contradicts the allocator's rules. */
  readonly basis: 'actual' | 'approximate';
  /** Number of equal slices; slices without an entry hold what was before them. */
  readonly column_count: number;
  readonly columns: readonly TimelineColumn[];
  readonly marks: TimelineMarks;
  readonly steps: TimelineSteps;
  /**
   * The program's open NVTX ranges at the peak and at the first failure, where an Nsight Systems export covers them.
   */
  readonly nvtx?: { readonly peak: NvtxAt | null; readonly oom: NvtxAt | null };
  /** Only on demand. */
  readonly components?: TimelineComponents;
}

/** Live bytes by component, at the moment of each column at which most is live. */
export interface TimelineComponents {
  readonly components: readonly Component[];
  /** Per entry of `columns`, in their order: bytes in the order of `components`. */
  readonly bytes: readonly (readonly number[])[];
}

export type TimelineRange = Pick<
  RowOf<'timeline.extremes'>,
  'first_seq' | 'last_seq' | 'first_time_us' | 'last_time_us'
>;

/** The least and the most over the states after each entry of one slice. */
export type TimelineColumn = Omit<RowOf<'timeline.columns_by_time'>, 'column_count'>;

/**
 * A maximum; it was first reached after one of the entries `first_seq` to `last_seq`, which differ only where rows
 * summarise several.
 */
export type TimelinePeak = Omit<TimelineFlush, 'segments'>;

export interface TimelineMarks {
  readonly peak_active: TimelinePeak;
  readonly peak_reserved: TimelinePeak;
  readonly ooms: readonly TimelineOom[];
  /** Entries that record a snapshot being taken. */
  readonly snapshots: readonly TimelinePoint[];
  /** Runs of segments given back to the driver, the largest first where there are too many to list. */
  readonly flushes: readonly TimelineFlush[];
  readonly flush_count: number;
  readonly flush_bytes: number;
  /** Only on demand. */
  readonly annotations: readonly TimelineAnnotation[];
  readonly annotations_left_out: number;
}

export type TimelineOom = Omit<RowOf<'timeline.points'>, 'action'>;
export type TimelinePoint = Pick<TimelineOom, 'seq' | 'time_us'>;

export type TimelineFlush = Omit<RowOf<'timeline.flushes'>, 'flush_count' | 'flush_bytes'>;

/** Null: that end was not recorded. `first_seq` is the entry after the start, `last_seq` the last before the end. */
export interface TimelineAnnotation
  extends Pick<RowOf<'state.steps'>, 'first_seq' | 'last_seq' | 'start_us' | 'end_us'> {
  readonly name: string;
  readonly device: number | null;
}

/** Where steps are known from: ranges of the torch profiler, or the ends of the optimizer's steps. */
export type StepOrigin = 'profiler_step' | 'optimizer_step';

/** Which end of a step the trace does not show. */
export type StepPartial = 'start' | 'end' | 'both';

/** One training step as a range of trace entries. */
export interface StepRange
  extends Pick<RowOf<'state.steps'>, 'step' | 'start_us' | 'end_us'>,
    Omit<TimelinePeak, 'bytes' | 'time_us'> {
  /** Which of the steps of this number, from 1. */
  readonly occurrence: number;
  /** Null: whole. */
  readonly partial: StepPartial | null;
}

export interface TimelineStep
  extends StepRange,
    Omit<RowOf<'timeline.step_states'>, 'nth'>,
    Omit<RowOf<'timeline.step_events'>, 'nth'> {
  readonly duration_us: number | null;
}

/**
 * `rising`: more after every step than after the one before. `plateau`: it grew, then the second half of the steps
 * added nothing. `level`: every end of step is within a thousandth of the others. `mixed`: none of these.
 */
export type GrowthTrend = 'rising' | 'plateau' | 'level' | 'mixed';

/**
 * Differences of the active bytes at the end of one whole step and of the next; the first step of the trace is left out
 * as warm-up.
 */
export interface StepGrowth {
  /** Null: fewer than three differences. Two may be chance. */
  readonly trend: GrowthTrend | null;
  readonly median_bytes_per_step: number;
  readonly min_bytes_per_step: number;
  readonly max_bytes_per_step: number;
  /** Differences; one less than steps. */
  readonly n: number;
  readonly first_step: number;
  readonly last_step: number;
  /** From the end of the first of these steps to the end of the last. */
  readonly total_bytes: number;
  readonly lowest_end_bytes: number;
  readonly highest_end_bytes: number;
}

export interface TimelineSteps {
  readonly origin: StepOrigin | null;
  /** Distinct names of the annotations that were used. */
  readonly annotations: readonly string[];
  /** Device the annotations name, where it is another one than the trace's: they are the same process all the same. */
  readonly annotations_of_device: number | null;
  /** Steps inside the trace that touched the allocator in no way. */
  readonly without_entries: number;
  readonly rows: readonly TimelineStep[];
  /** Null with fewer than two whole steps behind the warm-up. */
  readonly growth: StepGrowth | null;
}
