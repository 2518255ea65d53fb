/**
 * Results of `mbforensics nsys`: what an Nsight Systems export knows. Times are ns since the start of the collection.
 * Null: not captured.
 */
import type { DRIVER_OWNERS } from '../codes.gen.js';
import type { NsysForm } from '../nsys-rows.js';
import type { RowOf } from './row-of.js';

export { DRIVER_OWNERS } from '../codes.gen.js';

/** Whose an allocation of the driver is. `torch`: a segment of PyTorch's allocator, known by a memory snapshot. */
export type DriverOwner = (typeof DRIVER_OWNERS)[number];

export type NsysProcess = RowOf<'nsys.processes'>;

export interface NsysFailedCall extends RowOf<'nsys.failed_calls'> {
  /** The name of the error where this version knows it. */
  readonly error: string | null;
  readonly is_oom: boolean;
}

export interface NsysStep extends Pick<NsysStorm, 'start_ns' | 'end_ns' | 'pid'> {
  /** The number in the range's text; else counted from 1. */
  readonly index: number;
}

/** Where the windows of the steps come from. */
export interface NsysStepBasis {
  /**
   * `range`: the range is the step. `combination`: the phases of an iteration at one level, from the first to the last.
   * `anchor`: a step ends where this range ends. `recurring`: nothing is named as a step; the range that recurs and
   * covers most. `period`: a step lasts from the beginning of such a range to the beginning of the next.
   */
  readonly by: 'range' | 'combination' | 'anchor' | 'recurring' | 'period';
  /** Text of the ranges, # for numbers that change; of a combination: the texts of its phases. */
  readonly text: string;
}

/** Why ranges are steps, or are none. */
export type NsysStepReason =
  | 'named'
  | 'phases'
  | 'ends'
  | 'fills'
  | 'regular'
  | 'requested'
  | 'part_of_iteration'
  | 'phase'
  | 'micro_batch'
  | 'several_steps'
  | 'inside_modules'
  | 'overlaps'
  | 'module_index'
  | 'module'
  | 'epoch'
  | 'numbers_repeat'
  | 'inside'
  | 'few'
  | 'little'
  | 'irregular';

/** Ranges that may be the steps of a report, and ranges that repeat and are none. */
export interface NsysStepCandidate extends Omit<RowOf<'nsys.step_candidates'>, 'windows'> {
  readonly status: 'chosen' | 'possible' | 'rejected';
  readonly method: NsysStepBasis['by'] | null;
  readonly reason: NsysStepReason;
}

/** Live bytes of one owner at one moment. */
export interface NsysOwnerShare {
  readonly owner: DriverOwner;
  readonly bytes: number;
  readonly blocks: number;
}

/** Bytes of one owner by what made them: the call, the innermost NVTX range, the thread. */
export interface NsysAllocationGroup {
  readonly owner: DriverOwner;
  /** The rule that gave the owner. */
  readonly rule: string;
  readonly api: string | null;
  /** NVTX ranges around it, outermost first; empty: none, or ranges were not captured. */
  readonly ranges: readonly string[];
  readonly thread: string | null;
  readonly allocations: number;
  /** Ever allocated in the capture. */
  readonly allocated_bytes: number;
  readonly live_at_peak_bytes: number;
  /** Null without such a moment. */
  readonly live_at_oom_bytes: number | null;
  readonly live_at_end_bytes: number;
}

export interface NsysMomentShares {
  /** `first step`: the second step of the profile begins. */
  readonly moment: 'first step' | 'peak' | 'oom' | 'end';
  readonly time_ns: number;
  readonly total_bytes: number;
  readonly shares: readonly NsysOwnerShare[];
  /** NVTX ranges open then, by thread, outermost first. */
  readonly ranges: readonly {
    readonly tid: number | null;
    readonly thread: string | null;
    readonly texts: readonly string[];
  }[];
}

/** How the clock of the report was aligned with that of a memory snapshot. */
export interface NsysAlignment {
  /** `pairs`: median of segments found in both. `nominal`: both clocks taken at their word. */
  readonly by: 'pairs' | 'nominal';
  readonly pairs: number;
  /** To be added to a time of the report to get the snapshot's, beyond the nominal one, µs. */
  readonly correction_us: number | null;
  /** Half the range that holds 90 % of the pairs, µs; null without pairs. */
  readonly error_us: number | null;
}

/** The driver's memory of one process on one device, by owner. Without host memory. */
export interface NsysDriverAccount {
  readonly pid: number | null;
  readonly device: number | null;
  readonly rank: number | null;
  /** The snapshot whose segments were looked for; null: none of this process. */
  readonly snapshot: string | null;
  readonly alignment: NsysAlignment | null;
  /**
   * Reserve of PyTorch at the dump that no allocation of the driver is behind: taken before the capture, or of
   * expandable segments.
   */
  readonly torch_unseen_bytes: number | null;
  /** Calls that take memory by pages, which the profiler's memory events do not show. */
  readonly vmm_calls: number;
  readonly moments: readonly NsysMomentShares[];
  readonly groups: readonly NsysAllocationGroup[];
}

export interface NsysMemoryCall extends Omit<RowOf<'nsys.memory_calls'>, 'in_window'> {
  /** Inside the windows of steps but the first; null without steps. */
  readonly per_step: number | null;
}

export type NsysStorm = RowOf<'nsys.free_storms'>;

export interface NsysCopyGroup extends RowOf<'nsys.copies'> {
  readonly operation: 'memcpy' | 'memset';
}

/** Where the time of a device went, over one window; the four add up to `window_ns`. */
export interface NsysBudget
  extends Pick<RowOf<'nsys.busy_times'>, 'window_ns' | 'compute_ns' | 'exposed_communication_ns' | 'exposed_copy_ns'>,
    Pick<RowOf<'nsys.busy_times'>, 'idle_ns' | 'communication_ns' | 'copy_ns'> {}

export interface NsysDeviceBudget {
  readonly pid: number | null;
  readonly device: number | null;
  /** Mean over the steps but the first, or over the whole capture where there are none. */
  readonly per_step: NsysBudget;
  readonly steps: readonly ({ readonly index: number } & NsysBudget)[];
}

export interface NsysMissing {
  readonly what: string;
  /** Of the switch: `on` and nothing was recorded; `unknown`: the report does not contain its settings. */
  readonly state: 'off' | 'on' | 'unknown';
  /** What to add to `nsys profile`; null where the report does not show that it was off. */
  readonly option: string | null;
  /** The settings that show it; what the profiler reports about it. */
  readonly reasons: readonly string[];
}

export interface NsysReport
  extends Pick<RowOf<'nsys.reports'>, 'schema_version' | 'rank' | 'host' | 'clock_origin' | 'duration_ns'>,
    Pick<RowOf<'nsys.reports'>, 'memory_events_collected' | 'is_partial'> {
  readonly path: string;
  readonly form: NsysForm;
  readonly nsys_version: string | null;
  /** UTC of the start of the collection, and how it is known. */
  readonly started_at: string | null;
  readonly gpus: readonly RowOf<'nsys.gpus'>[];
  readonly processes: readonly NsysProcess[];
  readonly tables: Readonly<Record<string, number>>;
  /** Tables that `ingest --nsys-all` did not copy, and why; null: it was not asked for. */
  readonly tables_not_kept: readonly { readonly name: string; readonly reason: string }[] | null;
  readonly device_memory: readonly RowOf<'nsys.device_memory'>[] | null;
  readonly pools: readonly RowOf<'nsys.pools'>[] | null;
  readonly failed_calls: readonly NsysFailedCall[] | null;
  readonly nvtx_ranges: number | null;
  readonly steps: readonly NsysStep[];
  readonly steps_by: NsysStepBasis | null;
  readonly step_candidates: readonly NsysStepCandidate[];
  readonly kernels: number | null;
  readonly copies: number | null;
  readonly accounts: readonly NsysDriverAccount[] | null;
  readonly memory_calls: readonly NsysMemoryCall[] | null;
  readonly storms: readonly NsysStorm[] | null;
  readonly copy_groups: readonly NsysCopyGroup[] | null;
  readonly kernel_groups: readonly RowOf<'nsys.kernels'>[] | null;
  readonly budgets: readonly NsysDeviceBudget[] | null;
  readonly missing: readonly NsysMissing[];
  readonly diagnostics: readonly { readonly severity: string; readonly text: string; readonly count: number }[];
}

/** One figure of a step in two runs, ns. */
export interface NsysBudgetDelta {
  readonly figure: 'step' | 'compute' | 'exposed_communication' | 'exposed_copy' | 'idle' | 'communication' | 'copy';
  readonly a_ns: number;
  readonly b_ns: number;
  readonly delta_ns: number;
}

export interface NsysKernelDelta {
  readonly name: string;
  readonly a_per_step_ns: number;
  readonly b_per_step_ns: number;
  readonly delta_ns: number;
  readonly a_per_step: number;
  readonly b_per_step: number;
}

/** `nsys A --against B`: steps of `b` less steps of `a`, the device with the same rank, or the same place. */
export interface NsysComparison {
  readonly a: string;
  readonly b: string;
  readonly devices: readonly {
    readonly rank: number | null;
    readonly a_device: number | null;
    readonly b_device: number | null;
    readonly figures: readonly NsysBudgetDelta[];
  }[];
  readonly kernels: readonly NsysKernelDelta[];
  readonly memory_calls: readonly {
    readonly api: string;
    readonly a_per_step: number | null;
    readonly b_per_step: number | null;
  }[];
  /** Reasons not to compare the two as they are. */
  readonly warnings: readonly string[];
}

/** NVTX ranges open at one moment. */
export interface NsysRangeStack extends Pick<RowOf<'nsys.ranges_at'>, 'pid' | 'tid' | 'thread'> {
  readonly rank: number | null;
  readonly ranges: readonly (Pick<RowOf<'nsys.ranges_at'>, 'text' | 'type' | 'start_ns' | 'end_ns'> & {
    readonly domain: string | null;
  })[];
}

export interface NsysRangeWork extends RowOf<'nsys.range_work'> {
  readonly work: 'kernel' | 'memcpy' | 'memset';
}

/** Memory held at the driver over time: the most in each of equal slices. */
export interface NsysMemoryCurve {
  readonly pid: number | null;
  readonly device: number | null;
  readonly kind: string;
  /** Begins of the slices. */
  readonly times_ns: readonly number[];
  readonly bytes: readonly number[];
}

/** NVTX ranges open when an entry of a memory snapshot was recorded. */
export interface NvtxAt {
  readonly path: string;
  readonly time_ns: number;
  readonly alignment: NsysAlignment;
  readonly stacks: readonly NsysRangeStack[];
}

export interface NsysResult {
  readonly schema: 'mbforensics/nsys@1';
  readonly run: string;
  readonly reports: readonly NsysReport[];
  /** Of `--at`. */
  readonly at?: readonly {
    readonly path: string;
    readonly time_ns: number;
    readonly stacks: readonly NsysRangeStack[];
  }[];
  /** Of `--range`: kernels and copies launched inside ranges with this text. */
  readonly range_work?: readonly {
    readonly path: string;
    readonly text: string;
    readonly work: readonly NsysRangeWork[];
  }[];
  /** Of `--curve`. */
  readonly curves?: readonly { readonly path: string; readonly series: readonly NsysMemoryCurve[] }[];
  readonly against?: NsysComparison;
}
