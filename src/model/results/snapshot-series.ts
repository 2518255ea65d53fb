/** What `snapshots` returns: the dumps of each rank in the order of time. */
import type { DumpTrigger } from '../vocabulary.js';
import type { RowOf } from './row-of.js';

/**
 * What the order of a series follows. `time`: the last traced entry, or the last annotation where nothing was traced.
 */
export type SeriesOrder = 'time' | 'step' | 'name';

/**
 * The relation of a trace to the previous one. `continues`: its first entries are the earlier one's last, nothing was
 * lost between them. `gap`: the ring overwrote what happened between them. `restart`: it begins later with an empty
 * device, so it is another process. `unrelated`: both cover one time with different entries, so they are of two
 * processes. `unknown`: nothing was traced, or without times.
 */
export type TraceRelation = 'continues' | 'gap' | 'restart' | 'unrelated' | 'unknown';

/**
 * The course of allocated bytes over comparable dumps. `growing`: every dump exceeds the previous one. `settling`:
 * growing, but each time by at most half as much as before. `plateau`: it grew at first and then stayed. `steady`,
 * `falling`: literally. `varied`: none of these. `too_few`: less than three dumps.
 */
export type SeriesTrend = 'growing' | 'settling' | 'plateau' | 'steady' | 'falling' | 'varied' | 'too_few';

export type BytesChange = Pick<RowOf<'snapshot.series'>, 'allocated_bytes' | 'active_bytes' | 'reserved_bytes'>;

export interface SeriesSnapshot
  extends Pick<RowOf<'snapshot.series'>, 'handle' | 'attempt' | 'step' | 'step_origin' | 'events' | 'first_time_us'>,
    Pick<RowOf<'snapshot.series'>, 'oom_entries' | 'allocated_bytes' | 'active_bytes' | 'reserved_bytes'>,
    Pick<RowOf<'snapshot.series'>, 'inactive_bytes'> {
  readonly path: string;
  readonly trigger: DumpTrigger;
  /** `trace: …`, `name: …`, `series: …` or `assumed: …`. */
  readonly trigger_origin: string;
  /** Of the last traced entry, or of the last annotation where nothing was traced. */
  readonly last_time_us: number | null;
  /** To the snapshot before, as the rest; null for the first one. */
  readonly relation: TraceRelation | null;
  /** Entries that both traces hold; null unless the trace continues. */
  readonly shared_entries: number | null;
  /** Entries that only this trace holds; null unless the trace continues. */
  readonly new_entries: number | null;
  /**
   * What happened in a gap: how long it was, and by what the device changed meanwhile. How many entries were lost is
   * not known.
   */
  readonly lost: { readonly gap_us: number; readonly active_bytes: number; readonly reserved_bytes: number } | null;
  /** Signed; null where the snapshot before is of another process. */
  readonly growth: BytesChange | null;
  /** Null without two steps. */
  readonly growth_per_step_bytes: number | null;
}

/** What one call site holds more, or less, at the last comparable dump than at the first. */
export interface SiteGrowth extends Omit<RowOf<'snapshot.site_growth'>, 'site' | 'has_stack'> {
  readonly site: string;
}

export interface SnapshotSeries {
  readonly rank: number | null;
  readonly device: number;
  readonly order: SeriesOrder;
  readonly snapshots: readonly SeriesSnapshot[];
  readonly trend: {
    readonly kind: SeriesTrend;
    /**
     * Dumps it is drawn from: those of the last process, without those of an OOM, which stop in the middle of a step.
     */
    readonly snapshots: number;
    /** From the first to the last of them, in allocated bytes. */
    readonly growth_bytes: number | null;
    readonly growth_per_step_bytes: number | null;
    /** Changes within this count as none. */
    readonly tolerance_bytes: number;
  };
  /** Over the dumps of the trend, in descending order of the change. */
  readonly sites: readonly SiteGrowth[];
}

export interface SnapshotSeriesResult {
  readonly schema: 'mbforensics/snapshots@1';
  readonly run: string;
  readonly series: readonly SnapshotSeries[];
}
