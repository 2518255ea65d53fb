/** The known facts of one out-of-memory failure as tests write them; `hand-rows.ts` makes a failure's row of them. */
import type { MonitorFacts } from '../../../src/derive/outside/monitor-facts.js';
import type { Activity, WeightsActivity } from '../../../src/derive/stacks/activity.js';
import type { OomFacts as ReadFacts } from '../../../src/derive/verdict/facts.js';
import type { Place } from '../../../src/model/place.js';
import type { DriverOwner } from '../../../src/model/results/nsys.js';
import type { Statement } from '../../../src/model/statement.js';
import type { WholeStepOutcome } from '../../../src/model/vocabulary.js';

/** A figure with its precision and its source. */
export interface Figure {
  readonly bytes: number;
  /** 0 for figures of a snapshot; half of the last printed digit for those of a message. */
  readonly precisionBytes: number;
  readonly source: Place;
}

/** Free blocks inside the reserve that share one reason why the request could not have them. */
export interface FreeClass {
  readonly bytes: number;
  readonly largestBytes: number;
  readonly count: number;
}

/**
 * The free part of the reserve when the request failed; torch searches only the pool, size class and stream of the
 * request.
 */
export interface FreeSpace {
  /** Same pool, size class and stream: only too small. */
  readonly usable: FreeClass;
  readonly otherStream: FreeClass;
  /** The small pool's for a large request, and the other way round. */
  readonly otherClass: FreeClass;
  readonly privatePool: FreeClass;
  /** Segments that hold usable free blocks and live blocks: what keeps them from going back to the driver. */
  readonly pinnedSegments: number;
  readonly pinningBytes: number;
}

export interface Walk {
  /** Nothing contradicted the allocator's rules on the way back from the final state. */
  readonly exact: boolean;
  readonly violations: number;
  readonly uncertainBlocks: number;
  readonly uncertainBytes: number;
}

export interface AllocatorFacts {
  readonly expandableSegments: boolean;
  readonly maxSplitBytes: number;
  readonly source: Place;
}

/** A call site that keeps something of every step. */
export interface KeepingSite {
  readonly site: string;
  /** Live at the OOM, from before the step that failed. */
  readonly bytes: number;
  readonly blocks: number;
  /** Whole steps that left something of it behind, and the median of how much. */
  readonly steps: number;
  readonly bytesPerStep: number;
}

/** Whole, or cut off at the ring's beginning; the failing step is not one of them. */
export interface PassedStep {
  /** Recorded from its start, and not the first step of the process, in which the optimizer's states are allocated. */
  readonly settled: boolean;
  readonly peakBytes: number;
  /** Active bytes at its end. */
  readonly endBytes: number;
}

/** What one device's trace shows of the time before its OOM. */
export interface TraceFacts {
  /** Steps passed before the OOM, oldest first; null where nothing marks steps. */
  readonly steps: readonly PassedStep[] | null;
  /** What marked them, in words. */
  readonly stepsBy: string | null;
  /** The trace begins with the empty allocator: every step is in it. */
  readonly whole: boolean;
  /** Optimizer states are live from before the trace: at least one step was over before its first entry. */
  readonly hasEarlierStates: boolean;
  /** Sites that keep something of every step, the largest first. */
  readonly keeping: readonly KeepingSite[];
  /**
   * Live bytes of sites with enough live blocks that they could retain some of each step; anything that leaks is among
   * them.
   */
  readonly repeatedBytes: number;
  readonly activity: Activity | WeightsActivity | null;
  /** Live bytes of that same activity: of a checkpoint whatever their age, of others those of the failing step. */
  readonly activityBytes: number;
  /** Of those, blocks as large as another block that is live for another purpose: second copies. */
  readonly copiedBytes: number;
  /** Null: no whole step comes before it in the trace. */
  readonly wholeStep: WholeStep | null;
  readonly source: Place;
}

/** Whether a step like the last whole one fits, from what was live as the failing step began. */
export interface WholeStep {
  readonly outcome: WholeStepOutcome;
  /** Live at its peak. */
  readonly peakBytes: number;
  /** What the process could have. */
  readonly limitBytes: number;
  /** Of the bytes that the failing step asked for, what the last whole one asked for too. */
  readonly alikeShare: number;
}

/**
 * Device memory of the process outside PyTorch, from a profile of the driver; what the profiler did not record is not
 * included.
 */
export interface DriverFacts {
  /** Most bytes first. */
  readonly outside: readonly { readonly owner: DriverOwner; readonly bytes: number }[];
  /** Of the last failed allocation, or of the driver's peak. */
  readonly moment: 'oom' | 'peak';
  readonly source: Place;
}

/** The highest memory that one pipeline stage printed. */
export interface StageMemory {
  readonly stage: number;
  readonly rank: number;
  readonly bytes: number;
}

/**
 * Allocated memory after two early iterations, which is all that Megatron prints by default, and the last iteration
 * reached.
 */
export interface EarlyGrowth {
  readonly firstIteration: number;
  readonly secondIteration: number;
  readonly bytesPerIteration: number;
  /** Highest allocated memory until the second of them. */
  readonly peakBytes: number;
  /** The last iteration completed. */
  readonly lastIteration: number;
  readonly source: Place;
}

/** What the run's texts report about a failure of one rank. */
export interface RunSide {
  /** Iterations completed in the failing launch; null where none are printed. */
  readonly completed: number | null;
  readonly activity: Activity | WeightsActivity | null;
  /** Its source, for evidence. */
  readonly activitySource: Place | null;
  /** Highest allocated memory this rank, or one of its stage, printed in that launch. */
  readonly highestBytes: number | null;
  readonly stage: number | null;
  /** Pipeline stages in all. */
  readonly stages: number | null;
  /** Of the other stages, and of the failing one, at the same iterations. */
  readonly otherStages: readonly StageMemory[];
  readonly ownStage: StageMemory | null;
  /** Every rank that ran out is of this stage, and they are of more than one data-parallel replica. */
  readonly onlyThisStage: boolean;
  readonly severalReplicas: boolean;
  readonly early: EarlyGrowth | null;
  /** Signs that NCCL holds much: its settings, its own failures. */
  readonly nccl: readonly (Statement<'nccl_setting' | 'nccl_failure'> & { readonly source: Place })[];
  /** Of the memory lines; null where none are printed. */
  readonly source: Place | null;
}

/** Allocated memory over the iterations of one rank, its first printed iteration left out. */
export interface Growth {
  readonly samples: number;
  readonly firstIteration: number;
  readonly lastIteration: number;
  readonly firstBytes: number;
  readonly lastBytes: number;
  /** Slope of the straight line through the samples, and its coefficient of determination. */
  readonly bytesPerIteration: number;
  readonly r2: number;
  /** Growth in the later half of these iterations; absent where too few are printed to know. */
  readonly lateBytes?: number | null | undefined;
  readonly source: Place;
}

export interface OomFacts {
  readonly rank: number | null;
  readonly device: number | null;
  /** Rounded bytes asked for. */
  readonly request: Omit<Figure, 'precisionBytes'> | null;
  /**
   * The least size the request can have had: a message prints the *segment* torch wanted (2 MiB for anything up to 1
   * MiB, 20 MiB below 10).
   */
  readonly requestAtLeastBytes: number;
  /** What the driver was asked for. */
  readonly segmentBytes: number | null;
  readonly requestSite: string | null;
  /** From the driver through this allocator. */
  readonly reserved: Figure | null;
  /** Handed out and not freed. */
  readonly allocated: Figure | null;
  /** Freed by the program, waiting for another stream. */
  readonly pending: Figure | null;
  /** Requested bytes of pending frees that torch waited for just before it gave up; they are free at the OOM. */
  readonly freedByWait: Figure | null;
  readonly deviceFree: Figure | null;
  readonly total: Figure | null;
  /** All memory of this process, NCCL and the CUDA context included. */
  readonly process: Figure | null;
  readonly otherProcesses: readonly Figure[];
  /** Those of them that the logs name. */
  readonly jobProcesses?: ReadFacts['jobProcesses'] | undefined;
  /** Null without other processes, too. */
  readonly engineSign?: ReadFacts['engineSign'] | undefined;
  /** Printed figures that the rest of the message contradicts: they are left out. */
  readonly impossible?: readonly string[];
  /** A memory fraction's limit. */
  readonly allowed: Figure | null;
  /** Reserved by private pools (CUDA graphs, MemPool), in whole, and the free part of it. */
  readonly privatePools: Figure | null;
  readonly privatePoolFree: Figure | null;
  /** What live blocks of at least `max_split_size` have beyond their requests: such blocks are handed out whole. */
  readonly oversizeSlack: Figure | null;
  readonly free: FreeSpace | null;
  readonly allocator: AllocatorFacts | null;
  readonly growth: Growth | null;
  /** Of reserved memory. */
  readonly reservedGrowth?: Growth | null | undefined;
  readonly walk: Walk | null;
  readonly freedAfterOom: boolean;
  /** What live blocks take beyond the usual rounding to 512 because of `roundup_power2_divisions`. */
  readonly roundingWaste?: Figure | null | undefined;
  readonly trace?: TraceFacts | null | undefined;
  readonly run?: RunSide | null | undefined;
  readonly bystanders?: Bystanders | null | undefined;
  readonly driver?: DriverFacts | null | undefined;
  readonly monitor?: MonitorFacts | null | undefined;
}

/** The other ranks of the launch. */
export interface Bystanders {
  /** No other rank of the launch ran out of memory. */
  readonly failedAlone: boolean;
  /** Other ranks that print how much they reserve. */
  readonly ranks: number;
  readonly mostReservedBytes: number | null;
  /** What the failing rank itself printed. */
  readonly ownReservedBytes: number | null;
  /** An environment was read. */
  readonly hasEnvironment: boolean;
}
