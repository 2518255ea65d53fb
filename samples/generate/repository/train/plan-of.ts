/** The plan of a run from the configuration its program printed. */
import type { RunPlan } from '../../run.js';
import type { LaunchOptions } from './launch-options.js';
import type { Configuration } from './run-program.js';

/** Keys of the plan itself, which the writers put where they belong. */
const PLANNED: ReadonlySet<string> = new Set([
  'model.num_layers',
  'model.hidden_size',
  'model.ffn_hidden_size',
  'model.num_attention_heads',
  'model.num_query_groups',
  'model.vocab_size',
  'model.tensor_model_parallel_size',
  'model.sequence_parallel',
  'model.seq_length',
  'model.recompute_granularity',
  'train.micro_batch_size',
  'train.global_batch_size',
  'train.train_iters',
]);

/** `base`: what the writers say without being told; only what differs is told, and without it nothing. */
export function planOf(
  launch: LaunchOptions,
  configuration: Configuration,
  startUs: number,
  base: Configuration | null = null,
): RunPlan {
  const number = (key: string): number => Number(configuration.get(key));
  const tensor = number('model.tensor_model_parallel_size');
  const recompute = configuration.get('model.recompute_granularity');
  const told =
    base === null ? [] : [...configuration].filter(([key, value]) => !PLANNED.has(key) && base.get(key) !== value);
  return {
    name: `llama3-8b-nightly-tp${tensor}`,
    seed: launch.seed,
    framework: 'megatron-bridge',
    torch: launch.torch,
    model: {
      name: 'llama3-8b',
      layers: number('model.num_layers'),
      hidden: number('model.hidden_size'),
      feedForward: number('model.ffn_hidden_size'),
      heads: number('model.num_attention_heads'),
      queryGroups: number('model.num_query_groups'),
      vocabulary: number('model.vocab_size'),
    },
    parallelism: {
      tensor,
      pipeline: 1,
      virtualPipeline: null,
      data: launch.ranks / tensor,
      sequenceParallel: configuration.get('model.sequence_parallel') === true,
    },
    recompute: recompute === 'full' || recompute === 'selective' ? recompute : 'none',
    gpu: launch.gpu,
    sequenceLength: number('model.seq_length'),
    microBatchSize: number('train.micro_batch_size'),
    globalBatchSize: number('train.global_batch_size'),
    trainIterations: number('train.train_iters'),
    saveInterval: null,
    environment: {},
    memoryFraction: null,
    profiledRanks: [0],
    configuration: Object.fromEntries(told),
    startUs,
  };
}

/** Tokens of a step over all data-parallel ranks, and of one micro-batch. */
export function tokensOf({ globalBatchSize, microBatchSize, sequenceLength }: RunPlan): {
  readonly step: number;
  readonly microBatch: number;
} {
  return { step: globalBatchSize * sequenceLength, microBatch: microBatchSize * sequenceLength };
}
