/** What the names of scalars mean: the types of `src/knowledge/inputs/scalar-names.yaml`. */
import { loadData } from '../../knowledge/load-data.js';
import type { MemoryMetric } from '../../model/log-rows.js';
import { GIB } from '../../model/units.js';

/** Bytes of one unit; null for counts. GB is decimal, as Megatron Bridge's, NeMo's and Composer's `gigabytes`. */
export const UNIT_BYTES = { bytes: 1, count: null, GB: 1e9, GiB: GIB } as const;
export type MemoryUnit = keyof typeof UNIT_BYTES;

/** Fields of an iteration that a scalar may be. */
export type IterationField =
  | 'stepMs'
  | 'consumedSamples'
  | 'globalBatchSize'
  | 'tflopsPerGpu'
  | 'learningRate'
  | 'loss'
  | 'lossScale'
  | 'gradNorm'
  | 'skippedIterations'
  | 'nanIterations';

export type ScalarMeaning =
  | {
      readonly as: 'field';
      readonly field: IterationField;
      /** Reported value to the field's unit: 1000 for seconds that become milliseconds. */
      readonly factor?: number;
    }
  /** A further field of the iteration line, under the name that the producer's log line prints. */
  | { readonly as: 'other'; readonly name: string }
  | {
      readonly as: 'memory';
      readonly metric: MemoryMetric;
      readonly unit: MemoryUnit;
      /**
       * The unit of other versions for the same name, where the version is unknown: the difference is the precision.
       */
      readonly orUnit?: MemoryUnit;
      /** Significant digits that the producer rounds to. */
      readonly digits?: number;
      /** Decimal places that the producer rounds to. */
      readonly places?: number;
      readonly moment?: string;
    }
  /** The first group of the pattern is a key of `torch.cuda.memory_stats()`, in its own unit; the second the moment. */
  | { readonly as: 'torch-stat' }
  /** A value of its own; `name` may hold `$1`, the first group of the pattern. */
  | { readonly as: 'value'; readonly name: string; readonly unit: string; readonly factor?: number }
  /** The x axis is a number of samples or tokens: no iteration follows from it. */
  | { readonly as: 'not by iteration' }
  /** The step of everything that was logged together with it: W&B's own step only counts calls. */
  | { readonly as: 'step' };

export interface ScalarName {
  /** As written; undefined where `pattern` is matched against the whole name. */
  readonly tag?: string;
  readonly pattern?: string;
  readonly meaning: ScalarMeaning;
  /**
   * Others use the same name for something else: it counts only in a file that also has another name of this producer.
   */
  readonly isShared?: true;
  /** Where it differs from the producer's other names. */
  readonly countsFrom?: 0 | 1;
}

export interface ScalarProducer {
  readonly producer: string;
  readonly versions: string;
  /** Upstream location of the names. */
  readonly source: string;
  /** Step of the first iteration; undefined where users choose it. */
  readonly countsFrom?: 0 | 1;
  readonly names: readonly ScalarName[];
}

const DATA = loadData('inputs/scalar-names') as {
  readonly producers: readonly ScalarProducer[];
  readonly torch_stats: Readonly<Record<string, { readonly metric: MemoryMetric; readonly isCount: boolean }>>;
};

/** The first producer that knows a name counts; exact names go before patterns. */
export const SCALAR_PRODUCERS = DATA.producers;

/** Keys of `torch.cuda.memory_stats()`; bytes and plain counts. */
export const TORCH_STATS = new Map(Object.entries(DATA.torch_stats));
