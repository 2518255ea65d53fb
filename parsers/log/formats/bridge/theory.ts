import type { LineFormat } from '../contract.js';
import { snake } from '../megatron/theory.js';

export const BRIDGE_THEORY_LINES: readonly LineFormat[] = [
  {
    form: 'line',
    id: 'megatron-bridge.theoretical-parameters',
    title: 'Parameter counts behind the theoretical footprint, experts separate',
    producer: 'Megatron Bridge',
    versions: '≥ 0.2 with verbose reporting',
    source: 'bridge/training/utils/theoretical_memory_utils.py',
    anchors: ['Number of dense and embedding parameters', 'Number of routed expert parameters'],
    fields: {
      kind: 'dense and embedding, or routed expert',
      shard: 'only those of the most loaded shard',
      billions: 'parameters in 10^9',
    },
    pattern:
      /Number of (?<kind>dense and embedding|routed expert) parameters(?<shard> in most loaded shard)? in billions:[ ]{1,4}(?<billions>\d{1,6}\.\d{1,6})/g,
    read({ kind = '', shard, billions }, emit) {
      emit({
        row: 'value',
        name: `theory.parameters.${shard === undefined ? '' : 'most_loaded_shard.'}${snake(kind)}`,
        value: Math.round(Number(billions) * 1e9),
        unit: 'elements',
      });
    },
  },
];
