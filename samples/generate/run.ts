/**
 * What a generated run is: the plan it was launched with, and what every rank did until it ended. The simulation
 * (`simulate/`, `causes/`) makes it, the writers (`write/`) turn it into the files a real run would leave behind.
 * Neither knows the other.
 */

import type { SegmentSnapshot } from '../../src/allocator/caching/caching-allocator.js';
import type { AllocatorStatistics } from '../../src/allocator/caching/statistics.js';
import type { OomReport } from '../../src/allocator/oom-report.js';
import type { Cause, CauseDetail } from '../../src/model/vocabulary.js';
import type { CallPath } from './simulate/code-line.js';
import type { OtherProcess } from './simulate/device-moment.js';
import type { ProfileRecording } from './simulate/profile/recording.js';
import type { RankProcess, Traceback } from './simulate/rank-process.js';

export type Framework = 'megatron-bridge' | 'megatron-lm';

/**
 * The torch release whose allocator, snapshot fields and message wording a run has. Later patch releases behave the
 * same. `2.0` stands for NVIDIA's containers up to 23.04, too, whose 2.1.0a0 was branched before 2.1's wording; no run
 * of it records memory, whose format was another.
 */
export type TorchRelease = '2.0' | '2.3' | '2.6' | '2.8' | '2.12';

/** A dense GPT of the Llama kind: RMSNorm, grouped-query attention, SwiGLU, untied embeddings. */
export interface ModelShape {
  /** As recipes spell it: `llama3-8b`. */
  readonly name: string;
  readonly layers: number;
  readonly hidden: number;
  readonly feedForward: number;
  readonly heads: number;
  readonly queryGroups: number;
  readonly vocabulary: number;
}

/**
 * Sizes of the parallel groups; world size = tensor × pipeline × data. Rank order is Megatron's default: tensor, data,
 * pipeline.
 */
export interface Parallelism {
  readonly tensor: number;
  readonly pipeline: number;
  /** Model chunks per pipeline stage with the interleaved schedule (VPP); null without. */
  readonly virtualPipeline: number | null;
  readonly data: number;
  readonly sequenceParallel: boolean;
}

export interface Gpu {
  /** As nvidia-smi prints it. */
  readonly name: string;
  /** Total of cudaMemGetInfo. */
  readonly totalBytes: number;
  readonly perNode: number;
}

export interface RunPlan {
  /** Directory and job name. */
  readonly name: string;
  readonly seed: number;
  readonly framework: Framework;
  readonly torch: TorchRelease;
  readonly model: ModelShape;
  readonly parallelism: Parallelism;
  readonly recompute: 'none' | 'selective' | 'full';
  readonly gpu: Gpu;
  readonly sequenceLength: number;
  readonly microBatchSize: number;
  readonly globalBatchSize: number;
  /** What the configuration asks for (`train_iters`); the simulation stops earlier. */
  readonly trainIterations: number;
  /** Iterations between checkpoints; null: never saved. */
  readonly saveInterval: number | null;
  /**
   * What the launch script exports. `PYTORCH_CUDA_ALLOC_CONF`, if set, is in here and is what the allocator runs with.
   */
  readonly environment: Readonly<Record<string, string>>;
  /** `torch.cuda.set_per_process_memory_fraction`; null if never called. */
  readonly memoryFraction: number | null;
  /** Ranks that record memory history and dump snapshots. */
  readonly profiledRanks: readonly number[];
  /**
   * Further configuration keys, `section.key` of the framework in question, that belong to the story (offload, CUDA
   * graphs, …).
   */
  readonly configuration: Readonly<Record<string, string | number | boolean | null>>;
  /** What a GPU sustains in matrix products, TFLOP/s; absent: what its kind does in bf16. */
  readonly sustainedTeraflops?: number;
  /** Unix epoch, µs: when the launcher starts. */
  readonly startUs: number;
}

export interface IterationRecord {
  readonly startUs: number;
  readonly endUs: number;
  /** Tokens of this iteration over all data-parallel ranks. */
  readonly tokens: number;
  /** Floating-point operations of the model per GPU and second over this iteration, in TFLOP/s. */
  readonly teraflopsPerGpu: number;
  /** memory_stats right after the optimizer step. */
  readonly memory: AllocatorStatistics;
}

/** A trainable parameter as one rank holds it. */
export interface NamedParameter {
  /** As DistributedDataParallel sees it: `module.decoder.layers.0.mlp.linear_fc1.weight`. */
  readonly name: string;
  readonly elements: number;
}

export type RankEnding =
  /** Reached the end of the simulation. */
  | { readonly kind: 'completed' }
  /** Was healthy when the launcher stopped it because another rank had failed. */
  | { readonly kind: 'stopped' }
  /** `torch.OutOfMemoryError` at `path`. */
  | {
      readonly kind: 'oom';
      readonly report: OomReport;
      readonly path: CallPath;
      readonly otherProcesses: readonly OtherProcess[];
    }
  /** Any other Python exception; `exception` is the traceback's last part, `Type: text`, possibly of several lines. */
  | { readonly kind: 'raised'; readonly exception: string; readonly path: CallPath }
  /** Killed from outside: no traceback, the launcher reports exit code −signal. */
  | { readonly kind: 'signalled'; readonly signal: 'SIGKILL' | 'SIGABRT' | 'SIGSEGV' };

export interface SimulatedRank {
  readonly rank: number;
  /** Pipeline stage, tensor-parallel rank, data-parallel rank. */
  readonly stage: number;
  readonly tensorRank: number;
  readonly dataRank: number;
  readonly node: number;
  /** Ordinal on its node. */
  readonly device: number;
  readonly process: RankProcess;
  /** Exact local element count, as Megatron prints it. */
  readonly parameterElements: number;
  /** The trainable ones, in the order the modules register them. */
  readonly parameters: readonly NamedParameter[];
  /** When this rank entered the training loop; null if it never got there. */
  readonly trainingStartUs: number | null;
  readonly iterations: readonly IterationRecord[];
  readonly ending: RankEnding;
  readonly endUs: number;
}

/**
 * A line that belongs to the story and not to every run: NCCL warnings, the kernel's OOM killer, Slurm. In time order.
 */
export interface StoryLine {
  readonly timeUs: number;
  /** Who prints it: a rank, or null for the launcher or the system (no rank prefix). */
  readonly rank: number | null;
  /** Of the launcher or system; default 0. */
  readonly node?: number;
  /**
   * May contain `{host}`, `{job}`, `{pid}` (of `rank`) and `{pid:3}` (of that rank), as may `exception` of an ending.
   */
  readonly text: string;
}

export interface CheckpointSave {
  /** After how many iterations. */
  readonly iteration: number;
  readonly startUs: number;
  /** Null if the run failed in it. */
  readonly endUs: number | null;
}

/** An evaluation between two training iterations. */
export interface Evaluation {
  /** After how many training iterations. */
  readonly iteration: number;
  /** `eval_iters`. */
  readonly evaluationIterations: number;
  readonly startUs: number;
  /** Null if the run failed in it. */
  readonly endUs: number | null;
}

/** One launch. A restart continues at `firstIteration`. */
export interface Attempt {
  readonly plan: RunPlan;
  readonly firstIteration: number;
  readonly ranks: readonly SimulatedRank[];
  readonly checkpoints: readonly CheckpointSave[];
  /** Absent: none took place. */
  readonly evaluations?: readonly Evaluation[];
  readonly storyLines: readonly StoryLine[];
  readonly endUs: number;
  /**
   * Live bytes at their highest, up to the end of the step that failed, of the rank that failed first on a device
   * without limit. Absent where none ran out of memory.
   */
  readonly needBytes?: number;
}

/** A memory snapshot the run left behind. */
export interface DumpedSnapshot {
  readonly attempt: number;
  readonly rank: number;
  /** By the OOM observer, or at the step the configuration names. */
  readonly trigger: 'oom' | 'step';
  /** What the process held at that moment; absent where that is how the simulation left it. */
  readonly state?: DumpedState;
}

/** The state of a process at an earlier moment: its segments and blocks then, and how much was recorded by then. */
export interface DumpedState {
  readonly segments: readonly SegmentSnapshot<Traceback>[];
  readonly traceEntries: number;
  readonly annotations: number;
}

/** What Nsight Systems recorded of one rank, from before its first call to its end. */
export interface RankProfile {
  readonly attempt: number;
  readonly rank: number;
  readonly recording: ProfileRecording;
  /** Context and modules: device memory of the process that no event shows. */
  readonly unseenBytes: number;
}

/** What was started beside the training of one node, and left its files. */
export interface Monitors {
  /** What the clocks of the cluster show, less UTC: every printed time is theirs. */
  readonly utcOffsetMinutes: number;
  /** Whether every line of the log went through `ts`, which puts the clock before it. */
  readonly stampsLines: boolean;
  /** From the batch script's first line to the first sample of a device. */
  readonly firstSampleUs: number;
}

/**
 * What is true by construction. The numbers come from the simulated allocators and the plan, never from verdict code,
 * so that verdicts can be held against them.
 */
export interface RunTruth {
  readonly cause: Cause;
  readonly detail: CauseDetail | null;
  readonly isOom: boolean;
  /** The rank that failed first, in the last attempt; null if none failed. */
  readonly firstFailingRank: number | null;
  /**
   * One sentence: how the construction makes it this cause, with its numbers. It ends up in truth.json next to the
   * logs, so it must not contain the words of a failure message (`out of memory`, …), or the file would be taken for
   * evidence.
   */
  readonly because: string;
  /** The numbers of that sentence, in bytes unless the key says otherwise; snake_case keys. */
  readonly numbers: Readonly<Record<string, number>>;
}

export interface GeneratedRun {
  /** Name of the cause as `--cause` takes it. */
  readonly causeName: string;
  readonly seed: number;
  /** At least one; the last is the one `truth` is about. */
  readonly attempts: readonly Attempt[];
  readonly snapshots: readonly DumpedSnapshot[];
  /** Absent: nothing was profiled. */
  readonly profiles?: readonly RankProfile[];
  /** Absent: not watched. Otherwise every rank of the last attempt was simulated with `watches`. */
  readonly monitors?: Monitors;
  readonly truth: RunTruth;
}
