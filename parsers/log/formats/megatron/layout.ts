import { canonicalConfigKey, normaliseConfigValue } from '../../../../src/knowledge/config-keys.js';
import type { LineFormat } from '../contract.js';
import { emitLayout } from '../layout-findings.js';
import { snake } from './theory.js';

const SIZE = /(?<![a-z])(?:and )?([a-z][a-z -]{2,60}?)[ -]sizes?: (None|\[[\d, ]{0,60}\]|\d{1,9})/g;

/**
 * The banner of `initialize_megatron`, by clause. Banners grew: `model-parallel` alone, then tensor, pipeline, context,
 * expert.
 */
function layoutKey(clause: string): string {
  const name = snake(clause);
  return `${name}_size${name === 'hierarchical_context_parallel' ? 's' : ''}`;
}

export const LAYOUT_LINES: readonly LineFormat[] = [
  {
    form: 'line',
    id: 'megatron-lm.layout',
    title: 'World size and parallel sizes',
    producer: 'Megatron-LM',
    versions:
      'all; pipeline since 2021, context since core 0.5, hierarchical context since core 0.10; Megatron-DeepSpeed',
    source: 'megatron/training/arguments.py: validate_args',
    anchors: ['using world size: '],
    fields: { sizes: 'clauses `<dimension> size: <n>`' },
    pattern:
      /using (?<sizes>world size: \d{1,9}(?:(?:,| and) [a-z][a-z -]{2,60}: (?:None|\[[\d, ]{0,60}\]|\d{1,9})){0,16})/g,
    read(groups, emit) {
      emit({ row: 'launch', label: 'using world size' });
      for (const [, clause = '', size = ''] of (groups['sizes'] ?? '').matchAll(SIZE)) {
        const key = layoutKey(clause);
        emitLayout(key, `${clause} size`, size, emit);
      }
    },
  },
  {
    form: 'line',
    id: 'megatron-core.model-parallel',
    title: 'A model-parallel dimension is initialised',
    producer: 'Megatron-LM',
    versions: 'all, Megatron Bridge',
    source: 'megatron/training/initialize.py: _initialize_distributed',
    anchors: ['model parallel with size '],
    fields: { axis: 'tensor, pipeline; nothing before 2021', size: 'ranks along it' },
    pattern: /initializ(?:ed|ing) (?:(?<axis>tensor|pipeline) )?model parallel with size (?<size>\d{1,9})/g,
    read(groups, emit) {
      const axis = groups['axis'];
      const key = axis === undefined ? 'model_parallel_size' : `${axis}_model_parallel_size`;
      emitLayout(key, `${axis === undefined ? '' : `${axis} `}model parallel with size`, groups['size'] ?? '', emit);
    },
  },
  {
    form: 'line',
    id: 'megatron-lm.batch-and-dtype',
    title: 'Padded vocabulary, parameter type, number of micro-batches',
    producer: 'Megatron-LM',
    versions: 'all, NeMo',
    source: 'megatron/training/arguments.py, tokenizer; megatron/core/num_microbatches_calculator.py',
    anchors: ['padded vocab (size: ', 'Padded vocab_size: ', ' for parameters ...', 'setting number of micro'],
    fields: {
      vocab: 'tokens of the vocabulary',
      padded: 'rows of the embedding table',
      padded_nemo: 'the same, as NeMo prints it',
      vocab_nemo: 'tokens of the vocabulary, as NeMo prints them',
      dtype: 'of the parameters',
      microbatches: 'per step and data-parallel rank',
    },
    pattern:
      /padded vocab \(size: (?<vocab>\d{1,9})\) with \d{1,9} dummy tokens \(new size: (?<padded>\d{1,9})\)|Padded vocab_size: (?<padded_nemo>\d{1,9}), original vocab_size: (?<vocab_nemo>\d{1,9})|using (?<dtype>torch\.[a-z0-9_]{1,20}) for parameters \.\.\.|setting number of micro-?batches to constant (?<microbatches>\d{1,9})/g,
    read({ vocab_nemo, padded_nemo, vocab = vocab_nemo, padded = padded_nemo, dtype, microbatches }, emit) {
      if (padded !== undefined) {
        emit({ row: 'value', name: 'vocab.size', value: Number(vocab), unit: 'count' });
        emit({ row: 'value', name: 'vocab.padded_size', value: Number(padded), unit: 'count' });
        emit({
          row: 'config',
          key: canonicalConfigKey('padded_vocab_size'),
          rawKey: 'padded vocab new size',
          value: padded,
          origin: 'log banner',
        });
      } else if (dtype !== undefined) {
        emit({
          row: 'config',
          key: canonicalConfigKey('params_dtype'),
          rawKey: 'using … for parameters',
          value: normaliseConfigValue(dtype),
          origin: 'log banner',
        });
      } else emit({ row: 'value', name: 'layout.num_microbatches', value: Number(microbatches), unit: 'count' });
    },
  },
];
