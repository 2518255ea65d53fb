/** What `replay` and `whatif` return. */
import type { TraceAction, WholeStepOutcome } from '../vocabulary.js';
import type { DeviceAt } from './at.js';
import type { PeakGroup } from './peak.js';
import type { RowOf } from './row-of.js';

export type ReplayRegime = 'cold' | 'late' | 'wrapped';

/** An entry as it is in the trace. */
export interface TraceEntryResult {
  readonly seq: number;
  readonly action: TraceAction;
  readonly address: string | null;
  readonly size_bytes: number;
}

export interface ReplayDevice extends Pick<RowOf<'state.chosen_device'>, 'path' | 'handle' | 'rank' | 'device'> {
  /**
   * `cold`: the trace begins with an empty allocator; `late`: with live memory; `wrapped`: its oldest entries are
   * overwritten.
   */
  readonly regime: ReplayRegime;
  /** How this torch breaks ties between free blocks of one size. */
  readonly variant: 'address' | 'block_counter' | 'segment_counter';
  /** Allocations whose address the model predicts, of all in the trace. */
  readonly address_matches: number;
  readonly address_total: number;
  /**
   * Of the matches, those served by reuse: the others take their addresses from the driver, whose choice is the
   * record's.
   */
  readonly reuse_matches: number;
  readonly segment_events: number;
  /** Calls to the driver that only the record or only the model makes, or in another order. */
  readonly segment_event_mismatches: number;
  readonly reserved_at_end_bytes: number;
  readonly final_state_equal: boolean;
  readonly status: 'exact' | 'approximate' | 'refused';
  /** Why not exact; empty if it is. */
  readonly reason: string;
  /** Largest error of the reserve without corrections of the model, as a part of its peak; null where not measured. */
  readonly free_run_error: number | null;
  readonly settings: string;
  readonly flushes: { readonly explicit: number; readonly forced: number; readonly late_waits: number };
  /** Decisions that the model took from the record, because nothing in the file decides them. */
  readonly from_record: {
    /** The file contains no settings; those above were found by their consequences. */
    readonly settings: boolean;
    /** Flushes that freed several private pools, whose order is that of a hash map. */
    readonly pool_orders: number;
    /** Segments that garbage collection freed below a limit that is not in the file. */
    readonly garbage_segments: number;
    /** Private pools that no entry names, known by the flushes that freed them. */
    readonly inferred_pools: number;
  };
  readonly ooms: readonly {
    readonly seq: number;
    readonly requested_bytes: number;
    readonly repeated: boolean;
    readonly reserved_bytes: number;
    readonly active_bytes: number;
  }[];
  readonly uncertain_start_blocks: number;
  readonly mismatches: number;
  readonly first_mismatch: {
    readonly seq: number;
    readonly kind: string;
    readonly requested_bytes: number | null;
    readonly predicted_address: string | null;
    readonly recorded_address: string | null;
    /** The entries around it. */
    readonly context: readonly TraceEntryResult[];
  } | null;
}

export interface ReplayResult {
  readonly schema: 'mbforensics/replay@1';
  readonly snapshots: readonly ReplayDevice[];
}

export type WhatIfOutcomeName = 'fits' | 'same_oom' | 'earlier_oom' | 'later_oom';

export interface WhatIfSetting extends Omit<RowOf<'verdict.what_ifs'>, 'failure'> {
  readonly outcome: WhatIfOutcomeName;
  /**
   * `exact`: nothing had to be assumed. `interval`: the peak is between the least and the most, by what the file has
   * lost; an estimate where frees were pending. `optimistic`, `pessimistic`: what was live before the recording is
   * laid out as well, or as badly, as possible.
   */
  readonly bound: 'exact' | 'interval' | 'optimistic' | 'pessimistic';
}

/** A row of `whatif`, with the device that it is about. */
export interface WhatIfRow extends WhatIfSetting {
  /** Name of the device in {@link WhatIfResult.targets}; null = the recorded one, or one of `--capacity`. */
  readonly target: string | null;
}

/**
 * What a recording has lost that another device or setting may depend on. `pending_frees`: when frees that wait for
 * other streams complete. `flushes`: calls of `empty_cache` that gave nothing back. `unclear_flushes`: whether a flush
 * was called or forced. `private_pools`: from when on a graph's pool could be freed. `divisions`: by which divisions of
 * `roundup_power2_divisions` some sizes were rounded. `cases`: nothing of the file, but the recording is too long to
 * replay every case.
 */
export type LostFact = 'pending_frees' | 'flushes' | 'unclear_flushes' | 'private_pools' | 'divisions' | 'cases';

export interface WhatIfSite extends PeakGroup {
  readonly site: string;
}

/** An earlier free that would have opened a hole for the request. */
export interface EarlyFree {
  /** The live blocks side by side whose free opens it. */
  readonly blocks: readonly {
    readonly address: string;
    readonly bytes: number;
    readonly alloc_seq: number | null;
    readonly site: string;
  }[];
  readonly bytes: number;
  /** What would then have been free in one piece. */
  readonly opens_bytes: number;
  /** The replay with that free serves the request. */
  readonly verified: boolean;
}

export interface WhatIfResult extends Pick<DeviceAt, 'snapshot' | 'path' | 'rank' | 'device'> {
  readonly schema: 'mbforensics/whatif@1';
  readonly replay: Pick<ReplayDevice, 'status' | 'reason' | 'address_matches' | 'address_total'>;
  readonly recorded: {
    /**
     * Bytes available to the allocator: reserved plus free on the device at the OOM, within a fraction's limit; null
     * without a known OOM.
     */
    readonly capacity_bytes: number | null;
    readonly capacity_source: string | null;
    readonly device_total_bytes: number | null;
    /** Memory of the device outside this allocator at the OOM; null where the total is not known. */
    readonly outside_bytes: number | null;
    /** How much more was reserved before the OOM than could be had then: what others took of the device meanwhile. */
    readonly taken_by_others_bytes: number;
    readonly ooms: number;
    readonly peak_reserved_bytes: number;
    readonly peak_active_bytes: number;
    readonly setting: string;
    readonly oom: { readonly seq: number; readonly requested_bytes: number; readonly site: string | null } | null;
  };
  /**
   * Error of the assumption about the start, measured with the recorded settings: peak reserved of the optimistic start
   * less the recorded peak. Null where nothing had to be assumed.
   */
  readonly calibration_bytes: number | null;
  /**
   * Recorded settings at the recorded capacity fail at the recorded OOM. If not, that capacity was not constant over
   * the trace. Null without an OOM.
   */
  readonly repeats_oom: boolean | null;
  /** What the intervals and the rows that are not robust are due to. */
  readonly lost: readonly LostFact[];
  readonly settings: readonly WhatIfRow[];
  /** The named devices that rows are about: the total as the driver reports it, and where that was read. */
  readonly targets: readonly {
    readonly name: string;
    readonly label: string;
    readonly total_bytes: number;
    readonly source: string;
  }[];
  /** Least capacity with which every request is served, by setting. */
  readonly least_capacity: readonly {
    readonly setting: string;
    readonly capacity_bytes: number;
    /** `likeliest`: in the likeliest of the cases between which the file does not decide. */
    readonly bound: 'exact' | 'likeliest' | 'optimistic';
  }[];
  /**
   * What no allocator could go below: the most that is live at once, the failed request included, in whole pages of 2
   * MiB.
   */
  readonly optimum_bytes: number;
  /** Of `--remove` and `--scale`: where the peak was, and where it is then. */
  readonly edit: {
    readonly edits: readonly {
      readonly site: string;
      readonly scale: number;
      readonly allocations: number;
      readonly bytes: number;
    }[];
    readonly before: WhatIfPeak;
    readonly after: WhatIfPeak;
  } | null;
  readonly free_early: readonly EarlyFree[] | null;
  /** Of a trace with an OOM: what is live at the peak of a step like the last whole one. Null where there is none. */
  readonly whole_step: { readonly peak_bytes: number; readonly outcome: WholeStepOutcome } | null;
  /** One caveat for all of it. */
  readonly caveat: string;
}

export interface WhatIfPeak {
  readonly active_bytes: number;
  readonly reserved_bytes: number;
  /** Entry after which most is active; −1 = before the first. */
  readonly seq: number;
  readonly outcome: WhatIfOutcomeName;
  readonly sites: readonly WhatIfSite[];
}
