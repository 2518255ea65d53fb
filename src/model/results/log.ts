/**
 * What the verbs over text rows return: `log`, `iterations`, `memory`, `config`, `env`, `classify`. As in `results.ts`,
 * `--json` prints them as they are and `src/report` renders them, so field names are the JSON's.
 */
import type { VERSION_NAMES } from '../codes.gen.js';
import type { FirstFailureResult } from '../first-failure.js';
import type { LaunchEnd } from '../launch-end.js';
import type { Verdict } from '../verdict.js';
import type { IncidentKind } from '../vocabulary.js';
import type { Failure, VerdictResult } from './common.js';
import type { RowOf } from './row-of.js';

/** A line of a file of the run. */
export interface TextPlace {
  readonly file: string;
  readonly line: number;
}

/** One failure line with its figures in bytes. Nothing is inferred except where a comment mentions it. */
export interface LogIncident
  extends TextPlace,
    Pick<RowOf<'log.incidents'>, 'is_oom' | 'rank' | 'rank_origin' | 'local_rank' | 'host' | 'device' | 'pid'>,
    Pick<RowOf<'log.incidents'>, 'exit_code' | 'exception' | 'traceback_line' | 'time' | 'time_us' | 'iteration'>,
    Pick<RowOf<'log.incidents'>, 'last_line' | 'text' | 'survived'> {
  readonly kind: IncidentKind;
  readonly requested_bytes: number | null;
  readonly total_bytes: number | null;
  readonly free_bytes: number | null;
  /** `Including non-PyTorch memory, this process has …`, as printed. */
  readonly process_bytes: number | null;
  readonly allocated_bytes: number | null;
  /** Printed, or allocated + unallocated where those two are printed. */
  readonly reserved_total_bytes: number | null;
  /** Printed, or reserved − allocated where those two are printed. */
  readonly reserved_unallocated_bytes: number | null;
  readonly private_pool_bytes: number | null;
  readonly allowed_bytes: number | null;
  /** Sum of all `Process N has …`, as printed: one of them may be this process, see `self_pid`. */
  readonly other_process_bytes: number | null;
  /**
   * The pid under which the failing process itself is listed, where known (torch in a container does not know its own).
   */
  readonly self_pid: number | null;
  /** Innermost frame of the traceback that belongs to no library. */
  readonly frame: { readonly file: string; readonly line: number; readonly function: string } | null;
  readonly attempt: number | null;
  readonly iteration_origin: 'same file' | 'same attempt' | null;
  /** Entry of the message grammar, or format, that matched. */
  readonly grammar: string;
  /** Index of the same line in another file of the run; it does not count as a separate failure. */
  readonly copy_of: number | null;
}

export interface ParallelSizes {
  readonly tp: number | null;
  readonly pp: number | null;
  readonly vpp: number | null;
  readonly cp: number | null;
  readonly ep: number | null;
  readonly dp: number | null;
  /** Tensor parallelism of the experts; Megatron's default is `tp`. */
  readonly etp: number | null;
}

export { VERSION_NAMES } from '../codes.gen.js';

export type VersionName = (typeof VERSION_NAMES)[number];

export interface RunFacts {
  readonly world_size: number | null;
  readonly parallel: ParallelSizes;
  /** The names of {@link VERSION_NAMES} always, and whatever else was printed. */
  readonly versions: Readonly<Record<VersionName, string | null>> & Readonly<Record<string, string | null>>;
  readonly gpu: { readonly name: string | null; readonly total_bytes: number | null; readonly count: number | null };
  /** Commits by what they are of: `run`, `megatron_lm`, … */
  readonly commits: Readonly<Record<string, string>>;
  /** `PYTORCH_CUDA_ALLOC_CONF` or an alias, from the strongest origin; empty: known to be unset; null: unknown. */
  readonly allocator_conf: string | null;
  /** From fact (`world_size`, `parallel.tp`, `versions.torch`, …) to how it is known. */
  readonly origins: Readonly<Record<string, string>>;
}

export interface StepStatistics {
  /** Lines with a step time. */
  readonly timed: number;
  readonly median_step_ms: number | null;
  readonly mean_step_ms: number | null;
  readonly p95_step_ms: number | null;
  readonly min_step_ms: number | null;
  readonly max_step_ms: number | null;
}

export interface IterationSummary
  extends StepStatistics,
    Pick<RowOf<'log.iteration_summary'>, 'count' | 'copies' | 'first' | 'last' | 'lowest' | 'highest' | 'target'>,
    Pick<RowOf<'log.iteration_summary'>, 'last_loss' | 'skipped_iterations' | 'nan_iterations'> {
  readonly distinct: number;
  /** Whether iterations only rise from line to line. */
  readonly monotonic: boolean | null;
  /** Without the first line of each attempt: it contains compilation, autotuning and the birth of optimizer states. */
  readonly steady: StepStatistics & {
    readonly left_out: number;
    readonly median_tflops_per_gpu: number | null;
    readonly mean_tflops_per_gpu: number | null;
  };
  /** Same as `steady.mean_step_ms`. */
  readonly mean_step_ms_excluding_first: number | null;
  /** Median over all lines, from iteration lines or, where those print none, from step-time lines. */
  readonly median_tflops_per_gpu: number | null;
}

/** A launch of the run, and how it ended. */
export interface AttemptSummary extends RowOf<'log.attempts'>, Omit<LaunchEnd, 'attempt'> {
  /**
   * Settings that differ between the launches, those that bear on memory first. Null: None, or not set, where the
   * launch printed a text that would have it; missing: not known.
   */
  readonly settings: Readonly<Record<string, string | null>>;
}

/** One figure of a memory line. */
export type MemoryRecord = RowOf<'log.memory_records'>;

/** Ranks whose figures are equal to the printed digits, as one. */
export interface MemoryGroup {
  /** Pipeline stage, where the layout is known. */
  readonly stage: number | null;
  /** Null: lines of unknown rank. */
  readonly ranks: readonly (number | null)[];
  readonly iteration: number | null;
  readonly samples: number;
  /** Last value of each metric, in bytes. */
  readonly last: Readonly<Record<string, number>>;
  readonly max: Readonly<Record<string, number>>;
  /** Counts (`alloc_retries`, `ooms`), last value. */
  readonly counts: Readonly<Record<string, number>>;
}

export interface RankPosition {
  readonly rank: number;
  readonly tp: number;
  readonly cp: number;
  readonly dp: number;
  readonly pp: number;
  /** Null without expert parallelism. */
  readonly ep: number | null;
}

/**
 * What Megatron Bridge's performance script would read off the same logs, for comparison with its golden values. Not
 * our reading.
 */
export interface BridgeEvaluator {
  /** Decimal GB as printed: the first line of the first file, whatever rank wrote it. */
  readonly alloc: number | null;
  readonly max_alloc: number | null;
  /** The largest of all lines. */
  readonly max_reserved: number | null;
  /** 0-based step → values, zipped by position: one missing value shifts the rest. */
  readonly steps: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Files whose names the script prefers, where there are any; else all. */
  readonly files: readonly string[];
  /** Values by name whose number differs from that of iteration lines: from there on, steps are shifted. */
  readonly misaligned: readonly string[];
}

/** Throughput (`rate`) or a step time (`time`) by its printed name. */
export type LogRate = RowOf<'log.rates'>;

export interface DerivedStep {
  readonly ms: number;
  /** What it was computed from. */
  readonly from: string;
}

export interface LogRun extends RunFacts {
  readonly name: string;
  readonly attempts: readonly AttemptSummary[];
  /** The launch that `first_failure` and `diagnose` are about. */
  readonly judged_attempt: number;
  readonly files: number;
  readonly ranks_seen: number;
  readonly hosts: readonly string[];
  readonly iterations: IterationSummary;
  /** Throughput and step times that the lines print in their own words. */
  readonly rates: readonly LogRate[];
  /** Where no line prints a step time and the text has what it takes to compute one. */
  readonly derived_step: DerivedStep | null;
  readonly memory: readonly MemoryRecord[];
  /** How many there are; `memory` may hold fewer, see `--limit`. */
  readonly memory_records: number;
  readonly memory_groups: readonly MemoryGroup[];
  /** Readings that cannot be true, with the reason: no group includes them. */
  readonly memory_doubtful: readonly DoubtfulReading[];
  /** Where ranks sit, for those seen; empty where the layout is unknown. */
  readonly layout: readonly RankPosition[];
  readonly layout_origin: string | null;
  readonly phases: readonly (TextPlace &
    Pick<RowOf<'log.phases'>, 'attempt' | 'phase' | 'label' | 'count' | 'iteration' | 'time_us'>)[];
  /** Last value of each kept figure or word (`theory.total`, `checkpoint.saved`, …), outside the per-iteration ones. */
  readonly values: readonly (TextPlace &
    Pick<RowOf<'log.values'>, 'name' | 'value' | 'unit' | 'text' | 'count' | 'rank'>)[];
  readonly incidents: readonly LogIncident[];
  /** Further failures, of a log with very many of them, that are counted and not kept. */
  readonly incidents_dropped: number;
  readonly first_failure: FirstFailureResult | null;
  readonly bridge_evaluator: BridgeEvaluator | null;
}

export interface LogResult {
  readonly schema: 'mbforensics/log@1';
  readonly runs: readonly LogRun[];
  readonly failed_sources: readonly { readonly path: string; readonly error: Failure }[];
}

export interface IterationsResult {
  readonly schema: 'mbforensics/iterations@1';
  readonly run: string;
  readonly summary: IterationSummary;
  readonly attempts: readonly (IterationSummary & { readonly attempt: number })[];
  /** In the order of attempts, files and lines; the last ones where `--limit` leaves some out. */
  readonly rows: readonly RowOf<'log.iterations'>[];
  readonly rows_left_out: number;
}

export interface MemoryMetricResult
  extends Pick<RowOf<'log.memory_ranks'>, 'metric' | 'samples' | 'first_iteration' | 'last_iteration' | 'last_bytes'>,
    Pick<RowOf<'log.memory_ranks'>, 'max_bytes' | 'last_value' | 'max_value'>,
    Pick<RowOf<'log.memory_ranks'>, 'growth_bytes_per_iteration' | 'growth_r2'> {}

export interface MemoryRank extends Pick<RowOf<'log.memory_ranks'>, 'attempt' | 'rank' | 'device'> {
  readonly position: RankPosition | null;
  readonly metrics: readonly MemoryMetricResult[];
}

export interface MemoryFlag {
  readonly kind: 'alloc_retries' | 'ooms' | 'inactive_split' | 'growth' | 'reserved_far_above_allocated' | 'imbalance';
  readonly attempt: number;
  readonly ranks: readonly (number | null)[];
  readonly text: string;
}

export type DoubtfulReading = RowOf<'log.doubtful_memory'>;

export interface MemoryResult {
  readonly schema: 'mbforensics/memory@1';
  readonly run: string;
  readonly layout_origin: string | null;
  readonly ranks: readonly MemoryRank[];
  /** Largest over the ranks of a stage; empty where the layout is unknown. */
  readonly stages: readonly {
    readonly attempt: number;
    readonly stage: number;
    readonly ranks: number;
    readonly max: Readonly<Record<string, number>>;
  }[];
  readonly flags: readonly MemoryFlag[];
  /** Readings that cannot be true, with the reason: left out of everything above. */
  readonly doubtful: readonly DoubtfulReading[];
  /** Every record of the ranks asked for with `--rank`. */
  readonly records: readonly MemoryRecord[] | null;
  /** Values polled by monitors, separate from the lines above: sampling misses short peaks. Null without any. */
  readonly sampled: MemorySamples | null;
}

export interface MemorySamples {
  readonly devices: number;
  readonly samples: number;
  /** Of one device, all processes. */
  readonly max_used_bytes: number;
  readonly files: readonly string[];
}

export interface ConfigEntry
  extends TextPlace,
    Pick<RowOf<'log.config'>, 'key' | 'value' | 'origin' | 'raw_key' | 'attempt'> {
  /** Bears on memory: what `config` lists first. */
  readonly memory: boolean;
}

export interface ConfigConflict {
  readonly key: string;
  /** Strongest first. */
  readonly values: readonly Omit<ConfigEntry, 'key' | 'memory'>[];
}

export interface ConfigResult {
  readonly schema: 'mbforensics/config@1';
  readonly run: string;
  /** Effective values: of each key the strongest origin of the latest attempt that has it. */
  readonly settings: readonly ConfigEntry[];
  /** Keys to which origins of one attempt give different values. */
  readonly conflicts: readonly ConfigConflict[];
  readonly diff: {
    readonly other: string;
    readonly different: readonly (Pick<ConfigEntry, 'key' | 'memory' | 'value' | 'origin'> & {
      readonly other_value: string | null;
      readonly other_origin: string;
    })[];
    readonly only_here: readonly ConfigEntry[];
    readonly only_there: readonly ConfigEntry[];
    readonly equal: number;
  } | null;
}

/** The value is that of most ranks; null: unset explicitly. */
export interface EnvVariable extends TextPlace, Pick<ConfigEntry, 'key' | 'value' | 'origin' | 'attempt'> {
  /** Each value with the ranks that have it; empty `ranks`: all ranks. */
  readonly values: readonly (Pick<ConfigEntry, 'value' | 'origin'> & {
    readonly ranks: readonly number[];
    readonly hosts: readonly string[];
  })[];
  /** Ranks whose environment was captured whole and lacks it. */
  readonly not_set_on: readonly number[];
}

export interface EnvResult {
  readonly schema: 'mbforensics/env@1';
  readonly run: string;
  readonly variables: readonly EnvVariable[];
  /** Ranks whose environment was captured whole (`env`, /proc/PID/environ). */
  readonly captured_ranks: readonly number[];
  /** What the allocator itself recorded in snapshots, which goes before any variable. */
  readonly snapshot_settings: readonly {
    readonly key: string;
    readonly value: string;
    readonly ranks: readonly (number | null)[];
  }[];
}

/** The failures of a text, and the verdict on one of them. */
export interface Classification {
  readonly source: string;
  readonly incidents: readonly LogIncident[];
  /** Index of the failure that was judged. */
  readonly incident: number | null;
  readonly verdict: Verdict;
}

export interface ClassifyVerdict extends VerdictResult {
  /** Index into `incidents` of the failure that was judged. */
  readonly incident: number | null;
}

export interface ClassifyResult {
  readonly schema: 'mbforensics/classify@1';
  readonly source: string;
  readonly incidents: readonly LogIncident[];
  readonly verdict: ClassifyVerdict;
}
