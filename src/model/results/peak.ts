/** What `peak` adds to a live set: groups by a key, and the figures other tools print for the same file. */

export interface PeakGroup {
  readonly bytes: number;
  readonly count: number;
}

/** What the live set can be grouped by. */
export const GROUP_KEYS = ['site', 'stack', 'module', 'stage', 'compile', 'metadata', 'stream', 'pool'] as const;
export type GroupKey = (typeof GROUP_KEYS)[number];

/** Whose definitions: ours, or those of a tool the reader compares with. */
export const GROUPINGS = ['ours', 'bridge', 'mosaic', 'memory_viz'] as const;
export type Grouping = (typeof GROUPINGS)[number];

/** The three add up to the bytes they are of; all null where the device lacks a trace. See {@link LifetimeRule}. */
export interface LifetimeBytes {
  readonly resident_bytes: number | null;
  readonly transient_bytes: number | null;
  readonly unknown_bytes: number | null;
}

/** Live blocks with one key. The groups of a device add up to its `active_bytes`. */
export interface KeyGroup extends LifetimeBytes, PeakGroup {
  readonly key: string;
  /** True for groups without such a key: `before the recording`, `no stage open`, `no Python frames`, … */
  readonly remainder: boolean;
  /** Of `--by stack`; null for memory without one. */
  readonly stack_id?: number | null;
}

/**
 * How resident and transient are distinguished. `steps`: a block is transient if it is freed before the end of the step
 * that contains the moment, resident if it outlives that step or has lived through a whole one. `trace`: without marked
 * steps, transient blocks are freed in the trace after the moment, resident ones are not. `none`: the device lacks a
 * trace, or its frees were not recorded.
 */
export type LifetimeRule = 'steps' | 'trace' | 'none';

export interface LifetimeBasis {
  readonly rule: LifetimeRule;
  /** The annotation whose ends or starts bound the steps, e.g. `ProfilerStep#`; null without steps. */
  readonly boundary: string | null;
  /** Recorded boundaries. */
  readonly boundaries: number;
}

/** Bytes and allocations of one of a peer's sources. */
export interface PeerSource extends PeakGroup {
  readonly source: string;
}

/**
 * A replay of alloc and free_completed entries from zero, as Megatron Bridge's scripts do it. All sizes are requested
 * bytes.
 */
export interface BridgeReplay {
  readonly peak_delta_bytes: number;
  /** Baseline, growth up to the window, and peak of the window. Mixes actual and requested sizes, as theirs does. */
  readonly absolute_peak_bytes: number;
  readonly end_delta_bytes: number;
  readonly alloc_count: number;
  readonly free_count: number;
  readonly throughput_bytes: number;
  readonly unmatched_frees: number;
  readonly unmatched_free_bytes: number;
  readonly sources_at_peak: readonly PeerSource[];
}

/**
 * Figures of Megatron Bridge's memory snapshot scripts (`nemo-mbridge-memory-snapshot-analysis`), by their definitions.
 */
export interface BridgeFigures {
  readonly segments: {
    readonly count: number;
    readonly total_bytes: number;
    /** Of the segments' headers, all devices. */
    readonly allocated_bytes: number;
    readonly active_bytes: number;
    readonly awaiting_free_bytes: number;
    readonly inactive_bytes: number;
  };
  /** The first device with a trace; null if none has. The rest is about it. */
  readonly device: number | null;
  readonly events: number;
  readonly baseline: {
    readonly baseline_at_start_bytes: number;
    readonly segments_active_bytes: number;
    readonly pre_existing_freed_bytes: number;
    readonly profiling_still_live_bytes: number;
  } | null;
  readonly full_trace: BridgeReplay | null;
  readonly steps: readonly (BridgeReplay & {
    readonly step: number;
    readonly start_us: number;
    readonly end_us: number | null;
    /** Annotations that start in the step, by name. */
    readonly annotations: Readonly<Record<string, number>>;
  })[];
  /** Sources by bytes allocated over the whole trace. */
  readonly throughput: readonly PeerSource[];
}

/** Figures of mosaic's peak command, by its definitions: the first device with a trace, from zero, requested bytes. */
export interface MosaicFigures {
  readonly device: number | null;
  readonly dynamic_peak_bytes: number | null;
  /** Actual bytes of allocated blocks, on any device, at addresses that no entry of the trace names. */
  readonly static_bytes: number | null;
  /** Distinct stacks among what is live at the first moment of the peak. */
  readonly stacks_at_peak: number | null;
}

/** What memory_viz's Active Memory Timeline shows for one device: requested bytes. */
export interface MemoryVizFigures {
  readonly device: number;
  /** Top of its axis: the largest total after any alloc or free. */
  readonly plotted_peak_bytes: number;
  readonly initially_allocated_bytes: number;
  readonly initially_allocated: number;
  /** Σ gap² / (Σ segment)² of the dump, which the page only writes to the browser's console; null without segments. */
  readonly fragmentation_index: number | null;
}
