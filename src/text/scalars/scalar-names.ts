/**
 * What scalars are called in TensorBoard, W&B and their exports, and what the names mean: the dictionary behind {@link
 * ScalarRows}. A name means what its producer means by it: `throughput` is TFLOP/s/GPU in Megatron-LM and tokens a
 * second elsewhere.
 *
 * `[mem]` in `versions` marks what was written from memory and not read in the producer's source.
 */
import type { MemoryMetric } from '../../model/log-rows.js';
import { GIB } from '../../model/units.js';

/** Decimal, as Megatron Bridge's, NeMo's and Composer's `gigabytes`. */
const GB = 1e9;

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
      readonly unit: string;
      /** Bytes of one `unit`; null for counts. */
      readonly unitBytes: number | null;
      /**
       * The unit of other versions for the same name, where the version is unknown: the difference is the precision.
       */
      readonly orUnitBytes?: number;
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
  /** As written. A pattern is matched against the whole name. */
  readonly tag: string | RegExp;
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

const field = (tag: string | RegExp, name: IterationField, factor?: number): ScalarName => ({
  tag,
  meaning: { as: 'field', field: name, ...(factor === undefined ? {} : { factor }) },
});
const otherName = (tag: string, name: string): ScalarName => ({ tag, meaning: { as: 'other', name } });
const bytes = (tag: string, metric: MemoryMetric): ScalarName => ({
  tag,
  meaning: { as: 'memory', metric, unit: 'bytes', unitBytes: 1 },
});
const count = (tag: string | RegExp, metric: MemoryMetric): ScalarName => ({
  tag,
  meaning: { as: 'memory', metric, unit: 'count', unitBytes: null },
});
const gib = (
  tag: string | RegExp,
  metric: MemoryMetric,
  more: { places?: number; moment?: string; orUnitBytes?: number } = {},
): ScalarName => ({ tag, meaning: { as: 'memory', metric, unit: 'GiB', unitBytes: GIB, ...more } });
/** Decimal GB, rounded to five significant digits. */
const gb5 = (tag: string, metric: MemoryMetric): ScalarName => ({
  tag,
  meaning: { as: 'memory', metric, unit: 'GB', unitBytes: GB, digits: 5 },
});
const value = (tag: string | RegExp, name: string, unit: string, factor?: number): ScalarName => ({
  tag,
  meaning: { as: 'value', name, unit, ...(factor === undefined ? {} : { factor }) },
});
const shared = (name: ScalarName): ScalarName => ({ ...name, isShared: true });

/** Aliases of `MemoryMonitor` in Composer, and of NeMo's copy of it. */
const MEMORY_MONITOR: readonly ScalarName[] = [
  gb5('memory/current_allocated_mem', 'allocated'),
  gb5('memory/current_active_mem', 'active'),
  gb5('memory/current_inactive_mem', 'inactive_split'),
  gb5('memory/current_reserved_mem', 'reserved'),
  gb5('memory/peak_allocated_mem', 'max_allocated'),
  gb5('memory/peak_active_mem', 'max_active'),
  gb5('memory/peak_inactive_mem', 'max_inactive_split'),
  gb5('memory/peak_reserved_mem', 'max_reserved'),
  count('memory/alloc_retries', 'alloc_retries'),
];

/** The first producer that knows a name counts; exact names go before patterns. */
export const SCALAR_PRODUCERS: readonly ScalarProducer[] = [
  {
    producer: 'Megatron-LM',
    versions: 'core 0.5 to 0.19; mem-max-allocated-bytes since 0.12',
    source: 'megatron/training/training.py, training_log; megatron/core/timers.py, Timers.write',
    countsFrom: 1,
    names: [
      field('iteration-time', 'stepMs', 1000),
      shared(field('throughput', 'tflopsPerGpu')),
      field('learning-rate', 'learningRate'),
      field('batch-size', 'globalBatchSize'),
      field('lm loss', 'loss'),
      field('loss-scale', 'lossScale'),
      field('grad-norm', 'gradNorm'),
      field('samples vs steps', 'consumedSamples'),
      otherName('num-zeros', 'num zeros'),
      otherName('params-norm', 'params norm'),
      bytes('mem-reserved-bytes', 'reserved'),
      bytes('mem-allocated-bytes', 'allocated'),
      bytes('mem-max-allocated-bytes', 'max_allocated'),
      count('mem-allocated-count', 'allocated_count'),
      { tag: /[^\n]{1,200} vs samples/, meaning: { as: 'not by iteration' } },
      // tensorboardX writes an underscore for every character except letters, digits, dots and hyphens.
      { tag: /[^\n]{1,200}_vs_samples/, meaning: { as: 'not by iteration' } },
      value(
        /(forward-backward|forward-compute|backward-compute|batch-generator|(?:forward|backward)-(?:recv|send)[\w-]{0,60}|layernorm-grads-all-reduce|embedding-grads-all-reduce|all-grads-sync|params-all-gather|optimizer[\w-]{0,40})-time/,
        'timer.$1.max_ms',
        'ms',
        1000,
      ),
    ],
  },
  {
    producer: 'Megatron Bridge',
    versions: '0.1 to 0.6; before 0.2 raw bytes; PP-group maximum since the fix of issue 3167',
    source: 'src/megatron/bridge/training/utils/train_utils.py, MEMORY_KEYS, report_memory, training_log',
    countsFrom: 1,
    names: [
      field('throughput/tflops/device', 'tflopsPerGpu'),
      // MLflow takes no second stroke.
      field('throughput/tflops_per_device', 'tflopsPerGpu'),
      gb5('memory/mem-allocated-gigabytes', 'allocated'),
      gb5('memory/mem-active-gigabytes', 'active'),
      gb5('memory/mem-inactive-gigabytes', 'inactive_split'),
      gb5('memory/mem-reserved-gigabytes', 'reserved'),
      gb5('memory/mem-max-allocated-gigabytes', 'max_allocated'),
      gb5('memory/mem-max-active-gigabytes', 'max_active'),
      gb5('memory/mem-max-inactive-gigabytes', 'max_inactive_split'),
      gb5('memory/mem-max-reserved-gigabytes', 'max_reserved'),
      count('memory/mem-alloc-retires', 'alloc_retries'),
      count('memory/mem-allocated-count', 'allocated_count'),
    ],
  },
  {
    producer: 'NeMo',
    versions: '2.0 to 2.5',
    source:
      'nemo/lightning/pytorch/callbacks/memory_monitor (copy of Composer’s), flops_callback, megatron_parallel, strategies/megatron_strategy [mem: all but the first]',
    // It logs through Lightning.
    countsFrom: 0,
    names: [
      field('reduced_train_loss', 'loss'),
      field('train_step_timing in s', 'stepMs', 1000),
      field('TFLOPS_per_GPU', 'tflopsPerGpu'),
      ...MEMORY_MONITOR,
      bytes('max_memory_allocated', 'max_allocated'),
      bytes('max_memory_reserved', 'max_reserved'),
    ],
  },
  {
    producer: 'Lightning',
    versions: '1.6 to 2.6',
    source:
      'lightning/pytorch/callbacks/device_stats_monitor.py; loops/training_epoch_loop.py, _batches_that_stepped; loggers/{tensorboard,wandb}.py [mem: the last]',
    // The step is raised after the metrics of a batch are logged.
    countsFrom: 0,
    names: [
      { tag: 'trainer/global_step', meaning: { as: 'step' } },
      value('hp_metric', 'scalar.hp_metric', 'none'),
      {
        tag: /DeviceStatsMonitor\.(on_\w{1,40})[./]([\w.]{1,80})/,
        meaning: { as: 'torch-stat' },
      },
      { ...field('train_loss_step', 'loss') },
    ],
  },
  {
    producer: 'Composer',
    versions: '0.16 to 0.30 [mem]; before, other names and raw bytes, which are kept as values',
    source: 'composer/callbacks/memory_monitor.py (older version read), composer/trainer/trainer.py [mem]',
    countsFrom: 0,
    // MEMORY_MONITOR as in NeMo, which is found first and counts alike.
    names: [field('loss/train/total', 'loss')],
  },
  {
    producer: 'torchtitan',
    versions: '2024-09 to 2026 (`end_to_end` and `max_active` of all of them)',
    source: 'torchtitan/components/metrics.py, MetricsProcessor.log and log_validation',
    countsFrom: 1,
    names: [
      field('loss_metrics/global_avg_loss', 'loss'),
      field('time_metrics/end_to_end(s)', 'stepMs', 1000),
      shared(field('tflops', 'tflopsPerGpu')),
      otherName('loss_metrics/global_max_loss', 'global_max_loss'),
      value('throughput(tps)', 'scalar.throughput(tps)', 'tokens/s/GPU'),
      value('mfu(%)', 'scalar.mfu(%)', '%'),
      // Peaks are reset after every logged step.
      gib('memory/max_active(GiB)', 'max_active'),
      gib('memory/max_reserved(GiB)', 'max_reserved'),
      value('memory/max_active(%)', 'scalar.memory/max_active(%)', '%'),
      value('memory/max_reserved(%)', 'scalar.memory/max_reserved(%)', '%'),
      count('memory/num_alloc_retries', 'alloc_retries'),
      count('memory/num_ooms', 'ooms'),
      gib('validation_metrics/memory/max_active(GiB)', 'max_active', { moment: 'validation' }),
      gib('validation_metrics/memory/max_reserved(GiB)', 'max_reserved', { moment: 'validation' }),
    ],
  },
  {
    producer: 'OLMo-core',
    versions: '1 to 2',
    source: 'src/olmo_core/train/callbacks/gpu_memory_monitor.py; train/trainer.py [mem: the last]',
    countsFrom: 1,
    names: [
      field('train/CE loss', 'loss'),
      field('optim/total grad norm', 'gradNorm'),
      field(/optim\/LR(?: \(group 0\))?/, 'learningRate'),
      // Peaks, reset after every step, whatever they are called.
      gib('gpu_memory/GPU active mem (GiB)', 'max_active'),
      gib('gpu_memory/GPU reserved mem (GiB)', 'max_reserved'),
    ],
  },
  {
    producer: 'verl',
    versions: '0.2 to 0.7',
    source: 'verl/workers/fsdp_workers.py, verl/trainer/ppo/metric_utils.py (compute_timing_metrics [mem])',
    countsFrom: 1,
    names: [
      field('timing_s/step', 'stepMs', 1000),
      field('actor/grad_norm', 'gradNorm'),
      field('actor/lr', 'learningRate'),
      // Divided by 1024^3, despite the name.
      gib(/(?:[a-z_]{1,20}\/)?perf\/max_memory_allocated_gb/, 'max_allocated'),
      gib(/(?:[a-z_]{1,20}\/)?perf\/max_memory_reserved_gb/, 'max_reserved'),
      gib(/(?:[a-z_]{1,20}\/)?perf\/cpu_memory_used_gb/, 'host_used'),
    ],
  },
  {
    producer: 'nanotron',
    versions: '0.1 to 0.4',
    source: 'src/nanotron/trainer.py, train_step_logs (cuda_max_memory_reserved and iteration_step [mem])',
    countsFrom: 1,
    names: [
      field('lm_loss', 'loss'),
      field('elapsed_time_per_iteration_ms', 'stepMs'),
      field('model_tflops_per_gpu', 'tflopsPerGpu'),
      value('hardware_tflops_per_gpu', 'scalar.hardware_tflops_per_gpu', 'TFLOP/s/GPU'),
      bytes('cuda_memory_allocated', 'allocated'),
      bytes('cuda_max_memory_reserved', 'max_reserved'),
      { tag: 'iteration_step', meaning: { as: 'step' } },
    ],
  },
  {
    producer: 'Axolotl',
    versions: '0.10 to 0.13',
    source: 'src/axolotl/core/trainers/base.py, log: rounded to two decimals',
    countsFrom: 1,
    names: [
      gib(/(?:train\/|eval\/)?memory\/max_active \(GiB\)/, 'max_active', { places: 2 }),
      gib(/(?:train\/|eval\/)?memory\/max_allocated \(GiB\)/, 'max_allocated', { places: 2 }),
    ],
  },
  {
    producer: 'torchtune',
    versions: '0.1 to 0.6: GiB, of early versions decimal GB',
    source: 'torchtune/training/memory.py, get_memory_stats',
    countsFrom: 1,
    names: [
      gib('peak_memory_active', 'max_active', { orUnitBytes: GB }),
      gib('peak_memory_alloc', 'max_allocated', { orUnitBytes: GB }),
      gib('peak_memory_reserved', 'max_reserved', { orUnitBytes: GB }),
    ],
  },
  {
    producer: 'DeepSpeed',
    versions: '0.3 to 0.18',
    source: 'deepspeed/runtime/engine.py, summary_events: the x axis is global_samples',
    names: [{ tag: /Train\/Samples\/[\w/ .-]{1,100}/, meaning: { as: 'not by iteration' } }],
  },
  {
    producer: 'Hugging Face Trainer',
    versions: 'transformers 4.0 to 5.0, and TRL, LLaMA-Factory, Axolotl, which are trainers of its kind',
    source: 'transformers/integrations/integration_utils.py, rewrite_logs, TensorBoardCallback, WandbCallback',
    countsFrom: 1,
    names: [
      { tag: 'train/global_step', meaning: { as: 'step' } },
      // The mean over the whole run, at its last step: no step's loss.
      value('train/train_loss', 'scalar.train/train_loss', 'none'),
    ],
  },
  {
    producer: 'any',
    versions: 'names that everybody uses for the same thing',
    source: 'Lightning modules, Hugging Face Trainer, torchtune, nanotron, hand-written loops',
    names: [
      field('loss', 'loss'),
      field('train/loss', 'loss'),
      field('train_loss', 'loss'),
      field('lr', 'learningRate'),
      field('learning_rate', 'learningRate'),
      field('train/lr', 'learningRate'),
      field('train/learning_rate', 'learningRate'),
      field(/lr-[A-Za-z]\w{0,40}(?:\/pg1)?/, 'learningRate'),
      field('grad_norm', 'gradNorm'),
      field('train/grad_norm', 'gradNorm'),
      field('loss_scale', 'lossScale'),
      field('global_batch_size', 'globalBatchSize'),
      field('consumed_samples', 'consumedSamples'),
      { tag: 'global_step', meaning: { as: 'step' } },
    ],
  },
];

/**
 * Keys of `torch.cuda.memory_stats()`; bytes and plain counts. Upstream: torch `torch/cuda/memory.py`, `memory_stats`.
 */
export const TORCH_STATS: ReadonlyMap<string, { readonly metric: MemoryMetric; readonly isCount: boolean }> = new Map([
  ['allocated_bytes.all.current', { metric: 'allocated', isCount: false }],
  ['allocated_bytes.all.peak', { metric: 'max_allocated', isCount: false }],
  ['active_bytes.all.current', { metric: 'active', isCount: false }],
  ['active_bytes.all.peak', { metric: 'max_active', isCount: false }],
  ['inactive_split_bytes.all.current', { metric: 'inactive_split', isCount: false }],
  ['inactive_split_bytes.all.peak', { metric: 'max_inactive_split', isCount: false }],
  ['reserved_bytes.all.current', { metric: 'reserved', isCount: false }],
  ['reserved_bytes.all.peak', { metric: 'max_reserved', isCount: false }],
  ['requested_bytes.all.current', { metric: 'requested', isCount: false }],
  ['requested_bytes.all.peak', { metric: 'max_requested', isCount: false }],
  ['num_alloc_retries', { metric: 'alloc_retries', isCount: true }],
  ['num_ooms', { metric: 'ooms', isCount: true }],
  ['allocation.all.current', { metric: 'allocated_count', isCount: true }],
]);
