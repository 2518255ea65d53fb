import type { LineFormat } from '../contract.js';

export const BRIDGE_EVALUATION_LINES: readonly LineFormat[] = [
  {
    form: 'line',
    id: 'megatron-bridge.golden-check',
    title: 'Comparison of a run with its golden values',
    producer: 'Megatron Bridge',
    versions: '≥ 0.2',
    source: 'scripts/performance/utils/evaluate.py: validate_performance, validate_memory',
    anchors: ['GPU util dropped ', 'GPU util jumped ', ' alloc difference: ', 'Memory validation FAILED: '],
    fields: {
      dropped: 'per cent the throughput fell, which fails',
      jumped: 'per cent it rose, which fails too',
      what: 'Alloc or Max alloc',
      difference: 'per cent of the golden value',
      failed: 'per cent that failed the memory check',
    },
    pattern:
      /GPU util dropped (?<dropped>-?\d{1,6}(?:\.\d{1,6})?)%|GPU util jumped (?<jumped>-?\d{1,6}(?:\.\d{1,6})?)%|(?<what>(?:Max )?[Aa]lloc) difference: (?<difference>-?\d{1,6}(?:\.\d{1,6})?)%|Memory validation FAILED: (?<failed>-?\d{1,6}(?:\.\d{1,6})?)%/g,
    read({ dropped, jumped, what, difference, failed }, emit) {
      if (dropped !== undefined) {
        emit({ row: 'value', name: 'golden.throughput_change', value: -Math.abs(Number(dropped)), unit: '%' });
      } else if (jumped !== undefined) {
        emit({ row: 'value', name: 'golden.throughput_change', value: Math.abs(Number(jumped)), unit: '%' });
      } else if (difference !== undefined) {
        const name = what?.startsWith('Max') === true ? 'golden.max_alloc_difference' : 'golden.alloc_difference';
        emit({ row: 'value', name, value: Number(difference), unit: '%' });
      } else emit({ row: 'value', name: 'golden.memory_failed', value: Number(failed), unit: '%' });
    },
  },
];
