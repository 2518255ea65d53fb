/** What only the performance guides say of parallel mapping: encoders, NVLink domains, sizes that waste work. */
import { above, all, any, below, type Condition, not, numbers, where } from '../../settings/condition.js';
import { asNumber } from '../../settings/values.js';
import type { LintRule } from '../rule.js';
import { beyondNvlink, NVL72, told } from './mapping-terms.js';

const GUIDES = 'NeMo and Megatron Bridge performance guides';
const ENCODERS = `${GUIDES}, encoders`;

/** DP · CP · (encoder TP · encoder PP + TP · PP), where an encoder TP of 0 is the decoder's. */
const ENCODER_WORLD: Condition = where('world_size % (CP · (encoder TP · encoder PP + TP · PP)) ≠ 0', (view) => {
  const found = [
    'world_size',
    'context_parallel_size',
    'encoder_tensor_model_parallel_size',
    'encoder_pipeline_model_parallel_size',
    'tensor_model_parallel_size',
    'pipeline_model_parallel_size',
  ].map((key) => view.setting(key));
  if (found.some(({ by }) => by === 'unknown')) return [null, ...found];
  const [world, cp, encoderTp, encoderPp, tp, pp] = found.map(({ value }) => asNumber(value) ?? 0);
  return [world! > 0 && world! % (cp! * ((encoderTp! || tp!) * encoderPp! + tp! * pp!)) !== 0, ...found];
});

export const GUIDE_RULES: readonly LintRule[] = [
  {
    id: 'enc-pp-max1',
    severity: 'error',
    message: 'An encoder has one pipeline stage at most, not {encoder_pipeline_model_parallel_size}.',
    when: all(told('encoder_pipeline_model_parallel_size'), above('encoder_pipeline_model_parallel_size', 1)),
    fix: 'Set encoder_pipeline_model_parallel_size to 0 (the encoder shares the first stage of the decoder) or 1.',
    error: null,
    source: ENCODERS,
    evidence: 'documented',
    statements: ['guide.enc-pp-max1', 'guide.enc-pp', 'guide.enc-pp0-shares'],
    fails: [{ config: { encoder_pipeline_model_parallel_size: 2 } }],
    passes: [
      { config: { encoder_pipeline_model_parallel_size: 1 } },
      { config: { encoder_pipeline_model_parallel_size: 0 } },
    ],
  },
  {
    id: 'enc-tp-rules',
    severity: 'error',
    message:
      'Encoder TP {encoder_tensor_model_parallel_size} needs an encoder stage of its own, and at most the TP of the decoder.',
    when: all(
      told('encoder_tensor_model_parallel_size'),
      above('encoder_tensor_model_parallel_size', 0),
      any(
        not(told('encoder_pipeline_model_parallel_size')),
        all(told('encoder_pipeline_model_parallel_size'), below('encoder_pipeline_model_parallel_size', 1)),
        numbers(
          'encoder_tensor_model_parallel_size > tensor_model_parallel_size',
          ['encoder_tensor_model_parallel_size', 'tensor_model_parallel_size'],
          (encoder, decoder) => encoder! > decoder!,
        ),
      ),
    ),
    fix: 'Set encoder_pipeline_model_parallel_size=1 and an encoder TP of at most the TP of the decoder.',
    error: null,
    source: ENCODERS,
    evidence: 'documented',
    statements: ['guide.enc-tp-rules', 'guide.enc-tp'],
    fails: [
      {
        config: {
          encoder_tensor_model_parallel_size: 2,
          encoder_pipeline_model_parallel_size: 0,
          tensor_model_parallel_size: 4,
        },
      },
      {
        config: {
          encoder_tensor_model_parallel_size: 8,
          encoder_pipeline_model_parallel_size: 1,
          tensor_model_parallel_size: 4,
        },
      },
      { config: { encoder_tensor_model_parallel_size: 2, tensor_model_parallel_size: 4 } },
    ],
    passes: [
      {
        config: {
          encoder_tensor_model_parallel_size: 2,
          encoder_pipeline_model_parallel_size: 1,
          tensor_model_parallel_size: 4,
        },
      },
      { config: { encoder_tensor_model_parallel_size: 0, encoder_pipeline_model_parallel_size: 0 } },
    ],
  },
  {
    id: 'enc-gpu-count',
    severity: 'error',
    message: '{world_size} GPUs are not DP · CP · (encoder TP · encoder PP + TP · PP) for any DP.',
    when: all(
      told('encoder_pipeline_model_parallel_size'),
      above('encoder_pipeline_model_parallel_size', 0),
      ENCODER_WORLD,
    ),
    fix: 'Count the GPUs of the encoder too.',
    error: null,
    source: ENCODERS,
    evidence: 'documented',
    statements: ['guide.enc-gpu-count'],
    fails: [
      {
        config: {
          world_size: 16,
          encoder_pipeline_model_parallel_size: 1,
          encoder_tensor_model_parallel_size: 1,
          tensor_model_parallel_size: 4,
          pipeline_model_parallel_size: 2,
          context_parallel_size: 1,
        },
      },
    ],
    passes: [
      {
        config: {
          world_size: 18,
          encoder_pipeline_model_parallel_size: 1,
          encoder_tensor_model_parallel_size: 1,
          tensor_model_parallel_size: 4,
          pipeline_model_parallel_size: 2,
          context_parallel_size: 1,
        },
      },
      { config: { world_size: 16, encoder_pipeline_model_parallel_size: 0 } },
    ],
    unknown: [{ config: { encoder_pipeline_model_parallel_size: 1 } }],
  },
  {
    id: 'soft-encoder-parallel',
    severity: 'note',
    message: 'Parallel sizes of an encoder of its own are experimental upstream.',
    when: any(
      all(told('encoder_pipeline_model_parallel_size'), above('encoder_pipeline_model_parallel_size', 0)),
      all(told('encoder_tensor_model_parallel_size'), above('encoder_tensor_model_parallel_size', 0)),
    ),
    fix: 'Compare the loss with a run where the encoder shares the first stage of the decoder.',
    error: null,
    source: ENCODERS,
    evidence: 'documented',
    statements: ['guide.enc-experimental', 'guide.enc-pp', 'guide.enc-tp'],
    fails: [{ config: { encoder_pipeline_model_parallel_size: 1 } }],
    passes: [{ config: { encoder_pipeline_model_parallel_size: 0, encoder_tensor_model_parallel_size: 0 } }],
  },
  {
    id: 'soft-tp-nvlink',
    severity: 'warning',
    message:
      'TP {tensor_model_parallel_size} reaches beyond the GPUs that share NVLink: every layer waits for the network.',
    when: beyondNvlink('tensor_model_parallel_size'),
    fix: 'Keep TP within a node (8) or rack, and use PP or CP for the rest.',
    error: null,
    source: `${GUIDES}, tensor parallelism`,
    evidence: 'documented',
    statements: ['guide.tp-primary', 'guide.tp-cp-not-large', 'guide.tp4pp2-vs-tp8', 'mem.avoid-tp'],
    fails: [{ config: { tensor_model_parallel_size: 16 }, gpu: 'h100' }],
    passes: [
      { config: { tensor_model_parallel_size: 8 }, gpu: 'h100' },
      { config: { tensor_model_parallel_size: 16 }, gpu: 'gb200' },
      { config: { tensor_model_parallel_size: 8 } },
    ],
    unknown: [{ config: { tensor_model_parallel_size: 16 } }],
  },
  {
    id: 'soft-cp-skinny',
    severity: 'note',
    message:
      'With a sequence of {seq_length} below the hidden size {hidden_size}, CP {context_parallel_size} makes skinny shards with little reuse of data.',
    when: all(
      above('context_parallel_size', 1),
      numbers('seq_length < hidden_size', ['seq_length', 'hidden_size'], (length, hidden) => length! < hidden!),
    ),
    fix: 'Use CP 1, and TP if the model does not fit.',
    error: null,
    source: `${GUIDES}, context parallelism`,
    evidence: 'documented',
    statements: ['guide.cp-skinny', 'guide.tp-cp-not-large', 'guide.cp-long-seq'],
    fails: [{ config: { context_parallel_size: 2, seq_length: 4096, hidden_size: 8192 } }],
    passes: [
      { config: { context_parallel_size: 2, seq_length: 32768, hidden_size: 8192 } },
      { config: { context_parallel_size: 1, seq_length: 4096, hidden_size: 8192 } },
    ],
    unknown: [{ config: { context_parallel_size: 2 } }],
  },
  {
    id: 'soft-nvl72',
    severity: 'note',
    message:
      'TP {tensor_model_parallel_size} · DP {data_parallel_size} does not divide the 72 GPUs of an NVL72 rack: groups that straddle two racks run at the speed of the network.',
    when: all(
      told('world_size'),
      NVL72,
      numbers('world_size > 72', ['world_size'], (world) => world! > 72),
      // DP or FSDP alone uses the whole bandwidth of a rack without further thought.
      not(
        numbers(
          'TP · PP = 1',
          ['tensor_model_parallel_size', 'pipeline_model_parallel_size'],
          (tp, pp) => tp! * pp! === 1,
        ),
      ),
      numbers(
        '72 % (TP · DP) ≠ 0',
        ['tensor_model_parallel_size', 'data_parallel_size'],
        (tp, dp) => 72 % (tp! * dp!) !== 0,
      ),
    ),
    fix: 'Use 64 of the 72 GPUs of each rack, or choose TP and DP so that TP · DP divides 72.',
    error: null,
    source: `${GUIDES}, NVL72`,
    evidence: 'documented',
    statements: ['guide.nvl72-contain', 'guide.nvl72-divide', 'guide.nvl72-use64', 'guide.nvl72-dp-fsdp'],
    fails: [
      {
        config: {
          world_size: 256,
          tensor_model_parallel_size: 4,
          pipeline_model_parallel_size: 4,
          data_parallel_size: 16,
        },
        gpu: 'gb200',
      },
    ],
    passes: [
      {
        config: {
          world_size: 144,
          tensor_model_parallel_size: 4,
          pipeline_model_parallel_size: 4,
          data_parallel_size: 9,
        },
        gpu: 'gb200',
      },
      {
        config: {
          world_size: 256,
          tensor_model_parallel_size: 1,
          pipeline_model_parallel_size: 1,
          data_parallel_size: 256,
        },
        gpu: 'gb300',
      },
      {
        config: {
          world_size: 256,
          tensor_model_parallel_size: 4,
          pipeline_model_parallel_size: 4,
          data_parallel_size: 16,
        },
        gpu: 'h100',
      },
    ],
    unknown: [
      {
        config: {
          world_size: 256,
          tensor_model_parallel_size: 4,
          pipeline_model_parallel_size: 4,
          data_parallel_size: 16,
        },
      },
    ],
  },
];
