/** A verdict as `src/findings` gives it: codes, figures and places. `src/report/verdict` makes its sentences. */
import type { Place } from './place.js';
import type { WhatIfSetting } from './results/replay.js';
import type { RowOf } from './results/row-of.js';
import type { Figures, Statement } from './statement.js';
import type { Cause, CauseDetail, Component, Confidence } from './vocabulary.js';

/** The place of a statement: a line of a text, or an entry of a trace (null: the snapshot as it was dumped). */
export type EvidencePlace =
  | { readonly path: string; readonly line: number }
  | { readonly path: string; readonly entry: number | null };

/** A query of `queries/` whose rows are behind a statement. */
export interface EvidenceQuery {
  readonly name: string;
  readonly params: Readonly<Record<string, string | number | null>>;
}

/**
 * The topic of an evidence entry: the failing request, where it was made, the message as printed, the run around it,
 * the result of a cause's test, the allocator model's result on the recording, or the need of the whole step.
 */
export type EvidenceTopic = 'request' | 'site' | 'message' | 'context' | 'test' | 'replay' | 'step';

/** What a piece of evidence is; its sentence names the `numbers`, `names` and `items` that it has. */
export type EvidenceKind =
  // The failure.
  | 'request' // the request of an OOM entry
  | 'message' // the beginning of the message as printed
  | 'failure_line' // the line of a failure other than an OOM, with the kind of its incident
  | 'failing_site' // where the request was made, while doing what, and what its size means
  | 'raised_in' // the frame of a traceback that belongs to no library
  // The run around it.
  | 'dumped_later' // the dump is younger than the OOM: the state is walked back
  | 'expandable_segments' // on or off, as recorded in the snapshot
  | 'against_theory' // the component that differs most from its estimate
  | 'whole_step' // the peak of a step like the last whole one against what the process could have
  | 'live_sites' // call sites with the most live bytes
  | 'impossible_figures' // printed ones that the rest of the message contradicts
  | 'allocator_setting' // the variable that sets the allocator
  | 'memory_line' // the last figures that the rank printed
  | 'allocation_retries' // of memory lines
  | 'other_ranks' // the most that another rank reserved
  | 'refused_calls' // memory calls that the driver refused, by name
  | 'profiled_outside' // memory outside PyTorch in a profile, by owner
  | 'device_in_use' // samples of the device by a monitor
  | 'other_process_samples' // and of other processes on it
  | 'checkpoint_announced' // after the last iteration
  | 'host_memory' // limits and samples of the memory of a host
  // A run without an OOM.
  | 'run_finished' // the line that reports the end
  | 'last_iteration' // the last one printed
  | 'peak' // live and reserved at the peak of a trace, or as dumped
  | 'dumped_at_failure' // the name of the file is that of a dump at a failure
  | 'handler_frame' // a function that handles exceptions, on a stack at the end of the trace
  | 'process_refused' // a process in a profile to which the driver refused memory
  | 'cache_flushes' // frees of the allocator after such a refusal
  | 'held_at_refusal' // memory at that moment, by owner
  | 'nvtx_ranges' // around the last refusal
  // Capacity.
  | 'request_beyond_device' // the request is larger than the device
  | 'device_exceeded' // live and requested bytes exceed the device
  | 'little_left_without_pools' // they fit only in what private pools hold free
  | 'little_left' // they fit, and hardly anything would be left of the device
  | 'limit_refused' // the device had enough free: a limit of the process refused
  | 'limit_exceeded' // live and requested bytes exceed what the process could have
  | 'rounding_waste' // bytes of live blocks that `roundup_power2_divisions` adds
  | 'optimizer_states_made' // it failed in the first optimizer step
  | 'in_checkpoint' // it failed while a checkpoint was saved or loaded
  | 'checkpoint_copies' // the same, where the copies are what does not fit
  | 'second_copies' // copies of something that is live
  | 'logits_spike' // logits and loss against the steps before
  | 'one_tensor' // one large request
  | 'fullest_stage' // the peak of the failing pipeline stage against the others
  // Parts that would have served as well.
  | 'would_serve'
  // External pressure.
  | 'outside_pytorch' // bytes of the device outside this process's PyTorch
  | 'job_process' // an other process that the log names
  | 'engine_sign' // what shows that the run trains and generates on the same devices
  | 'driver_owners' // the largest of them in a profile of the driver
  | 'nccl_setting' // NCCL is set to hold more than by default
  | 'nccl_failure' // an allocation by NCCL failed
  // Fragmentation, private pools, synchronisation.
  | 'oversize_slack' // unrequested bytes inside oversize blocks
  | 'kept_for_larger' // a free block that `max_split_size_mb` reserves
  | 'reserved_but_free' // by the figures of a message
  | 'fits_in_pieces' // the request fits, but not in one piece
  | 'pinned_segments' // segments that live blocks keep from the driver
  | 'free_in_pools' // free bytes inside private pools
  | 'pending_frees' // freed, and in use by another stream
  | 'freed_by_wait' // free only after the allocator waited
  // Leak.
  | 'kept_by_site' // bytes of earlier steps, by call site
  | 'step_ends' // live bytes at the ends of the last steps
  | 'growth_in_lines' // the trend of memory lines
  | 'early_growth' // the growth between two early iterations
  // The allocator model.
  | 'replay' // how well it repeats the recording
  | 'other_segments'; // the outcome with the other kind of segments

export interface Evidence extends Statement<EvidenceKind> {
  /** `E1`, unique within the answer. */
  readonly id: string;
  readonly place: Place;
  readonly about?: EvidenceTopic;
  /** The place in a file of the run, where it is one. */
  readonly lines?: EvidencePlace;
  readonly query?: EvidenceQuery;
}

type ExpandableStep = 'expandable_segments' | 'expandable_first' | 'expandable_replayed' | 'expandable_on_already';
type PiecesStep = 'check_expandable' | 'find_pinning' | 'free_pinning' | 'same_stream' | 'record_stream';
type SettingStep =
  | 'lower_oversize_rounding'
  | 'raise_max_split'
  | 'less_rounding'
  | 'raise_fraction'
  | 'change_setting';
type LessStep = 'check_shape' | 'lower_live_or_request' | 'lower_live' | 'shard_optimizer' | 'smaller_logits';
type SplitStep = 'split_tensor' | 'move_layers' | 'fewer_in_flight' | 'smaller_graphs' | 'graph_headroom';
type CheckpointStep = 'sharded_checkpoint' | 'training_fits' | 'load_to_host' | 'resume';
type OutsideStep =
  | 'set_device'
  | 'find_holder'
  | 'find_process'
  | 'end_processes'
  | 'see_nsys'
  | 'see_retries'
  | 'raise_utilization';
/** About other processes of the same job. */
type JobStep = 'lower_engine_share' | 'try_engine' | 'move_job_process' | 'free_for_engine' | 'raise_xla_share';
type NcclStep = 'fewer_communicators' | 'undo_nccl_settings' | 'count_communicators' | 'nccl_headroom';
type LeakStep = 'look_at_site' | 'compare_snapshots' | 'find_kept_tensors' | 'confirm_growth';
type HostStep = 'enlarge_shm' | 'fewer_workers' | 'raise_host_limit' | 'raise_host_memory' | 'take_node_out';
type SearchStep =
  | 'look_for_message'
  | 'find_last_rank'
  | 'find_ended_rank'
  | 'name_whole_log'
  | 'name_all_logs'
  | 'name_its_log';
type LimitStep = 'check_fraction' | 'check_visibility' | 'check_host_limit' | 'check_driver';
type CaptureStep = 'ingest_message' | 'ingest_rank' | 'capture';

/** What to do next; its sentence is in `src/knowledge/words/steps.yaml`. */
export type StepKind =
  | (ExpandableStep | PiecesStep | SettingStep)
  | (LessStep | SplitStep | CheckpointStep)
  | (OutsideStep | JobStep | NcclStep | LeakStep)
  | (HostStep | SearchStep | LimitStep | CaptureStep);

export interface Step extends Statement<StepKind> {
  /** `proven`: a replay with it serves every request. `forbidden`: the configuration does not allow it. */
  readonly status: 'open' | 'proven' | 'forbidden';
  /** What forbids it. */
  readonly because: { readonly text: string; readonly source: string } | null;
}

type MissingFigures = 'device_use' | 'other_allocator' | 'pytorch_reserve' | 'pool_contents' | 'refused_size';
type MissingInput =
  | 'snapshot'
  | 'grown_process'
  | 'other_logs'
  | 'device_total'
  | 'run_end'
  | 'first_exit_output'
  | 'failure_lines';
/** Why a snapshot without an OOM entry does not show that there was none. */
type MissingTrace = 'no_trace' | 'overwritten_entries' | 'earlier_entries' | 'after_dump';
/** What is not known; `exact_state`: the trace contradicts the walk back from the dump. */
export type MissingKind = MissingFigures | MissingInput | MissingTrace | 'exact_state';

type OrderRule = 'all_run' | 'leaves_most' | 'leak_before_capacity' | 'none_holds' | 'rule_of_thumb';
/** The rules of the view `verdict`. */
export type RuleId = OrderRule | 'untested_rival' | 'contradiction' | 'counterfactual' | 'proven';

type ReplayedRule = 'oom_not_repeated' | 'served_in_replay' | 'replay_depends' | 'refuted_by_replay';
type CapacityRule = 'served_against_it' | 'served_so_far' | 'fails_in_replay_too';
/** And what the kind of a line, a replay or another device decides. */
export type AppliedRule = RuleId | 'kind_decides' | ReplayedRule | CapacityRule | 'other_device';

type MemoryCapture =
  | 'snapshot_at_oom'
  | 'memory_each_iteration'
  | 'device_total'
  | 'refusing_limit'
  | 'nccl_memory'
  | 'host_memory';
export type CaptureId = MemoryCapture | 'whole_oom_message' | 'output_of_rank' | 'logs_of_all_ranks';

/** A capture, and which causes it would settle. */
export interface Capture {
  readonly id: CaptureId;
  readonly settles: readonly Cause[];
}

/** The answer of one cause's test. */
export interface CauseTest {
  readonly cause: Cause;
  readonly outcome: 'holds' | 'fails' | 'not_testable';
  /** As the view of the cause names it. */
  readonly reason: string;
  /** What it was decided by; names end in their unit. */
  readonly numbers: Readonly<Record<string, number>>;
  /** What else a reader needs: a call site, iterations, processes. */
  readonly details: Figures;
  /** Evidence against the outcome, as the view names it. */
  readonly doubts: readonly string[];
  /** The capture that would let it run; null where it ran. */
  readonly capture: CaptureId | null;
}

/** The summary of a verdict that no test gives: by the reason of a failure's kind, or what was seen of the run. */
export type SummaryKind =
  | 'reason'
  | 'peak'
  | 'unrecorded'
  | 'empty_snapshot'
  | 'finished'
  | 'silent'
  | 'ended'
  | 'first_exit'
  | 'retried'
  | 'refused'
  | 'no_failure_line';

export type HintKind =
  | 'already_on'
  | 'pools'
  | 'too_little_idle'
  /** Replayed with it, the run fails all the same. */
  | 'refuted'
  | 'forbidden'
  /** The hint of torch before 2.2. */
  | 'split_limit'
  | 'unknown'
  | 'applies';

/** PyTorch's own advice, held against the evidence. */
export interface Hint extends Statement<HintKind> {
  /** Text: of a configuration. */
  readonly place: Place | string;
}

/** Whose figures an account is made of. */
export type AccountingFrom = 'snapshot' | 'log' | 'joined';

/** Live bytes (allocated and pending free) by component, in descending order; they add up to the total. */
export interface LiveComponents {
  readonly moment: 'oom' | 'peak' | 'dump';
  readonly total_bytes: number;
  readonly parts: readonly { readonly component: Component; readonly bytes: number }[];
}

/** What the parts of an account add up to. */
export type TotalKind =
  | 'total_printed'
  | 'total_given'
  | 'total'
  | 'total_at_peak_reserved'
  | 'total_at_dump'
  | 'reserved'
  | 'reserved_and_free';

export interface Total {
  readonly kind: TotalKind;
  readonly bytes: number;
  readonly place: Place;
}

export interface Part {
  readonly part: string;
  readonly bytes: number;
  /** Where it was read, or the figure that others were subtracted from; null for parts of 0 bytes. */
  readonly place: Place | null;
  /** By subtraction: what is left of this figure. */
  readonly rest_of?: 'total' | 'process' | 'reserved' | 'shares';
  readonly of?: readonly Part[];
}

/**
 * The account of the moment at which most was live. Parts of 0 bytes are left out; they add up to the total exactly.
 */
export interface PeakAccount {
  /**
   * `peak`: of the trace, after entry `seq` (null: before its first). `dump`: no trace, the dumped state. `lines`:
   * largest figures of memory lines, which may be of different moments.
   */
  readonly moment: 'peak' | 'dump' | 'lines';
  readonly seq: number | null;
  readonly from: AccountingFrom;
  readonly total: Total;
  readonly parts: readonly Part[];
}

/** How well the allocator model repeats the recording a verdict rests on. */
export interface ReplayVerdict extends Omit<RowOf<'verdict.replays'>, 'failure'> {
  readonly status: 'exact' | 'approximate' | 'refused';
}

/** Answers of the model about one OOM. */
export interface Counterfactual {
  readonly replay: ReplayVerdict;
  /** Recorded settings first, then the other kind of segments; empty if refused. */
  readonly rows: readonly WhatIfSetting[];
}

export type VerdictBasis = 'test' | 'kind' | 'guide' | 'none';

export type Contributor = Omit<RowOf<'verdict.contributors'>, 'run_id' | 'failure'>;

export interface Verdict {
  readonly rank: number | null;
  readonly device: number | null;
  readonly cause: Cause;
  readonly detail: CauseDetail | null;
  readonly confidence: Confidence;
  /**
   * What decided: a test, the kind of the failure line, the guides' rule where figures are missing, or nothing. Null
   * where no failure was judged.
   */
  readonly basis: VerdictBasis | null;
  /** Of the test, the kind or the rule, as the store's views name it. */
  readonly reason: string | null;
  /** Parts of the device that could be had: those that would have served the request, and what fills a full device. */
  readonly contributors: readonly Contributor[];
  /** Null where a test holds: its answer is the summary. */
  readonly summary: Statement<SummaryKind> | null;
  readonly evidence: readonly Evidence[];
  /** What is not known. The tests that could not run come on top. */
  readonly missing: readonly MissingKind[];
  /** Every test, in the order they are tried; none for lines that carry no figures. */
  readonly tests: readonly CauseTest[];
  /** One capture for each test that could not run. */
  readonly captures: readonly Capture[];
  /** The rules that made one verdict of the tests' answers; `items` name what lowered the confidence. */
  readonly rules: readonly Statement<AppliedRule>[];
  readonly accounting_total: Total | null;
  readonly accounting: readonly Part[];
  readonly accounting_from: AccountingFrom | null;
  readonly accounting_peak: PeakAccount | null;
  /** What was live then, by component; null without a snapshot. See `mbforensics attribute`. */
  readonly components: LiveComponents | null;
  /** Null where no caching allocator ran out, or nothing decides it. */
  readonly hint: Hint | null;
  /** Whether the allocator model repeats the recording; null without one, or where it was not replayed. */
  readonly replay: ReplayVerdict | null;
  /**
   * The recorded settings, then the other kind of segments, at the recorded capacity; empty where nothing was replayed.
   */
  readonly what_if: readonly WhatIfSetting[];
  /** What to do next, cheapest first. */
  readonly steps: readonly Step[];
  /** Verbs that show more, ready to run; add the run or path that was diagnosed. */
  readonly commands: readonly string[];
  /** What ran out, where known. */
  readonly request: { readonly bytes: number; readonly site: string | null } | null;
}
