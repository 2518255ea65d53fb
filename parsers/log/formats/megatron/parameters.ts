import type { LineFormat } from '../contract.js';

/** Axes of a model-parallel rank, by the short names of the rank table. */
const AXES: Readonly<Record<string, string>> = {
  tensor: 'tp',
  pipeline: 'pp',
  expert: 'ep',
  context: 'cp',
  gtp_weight_remat: 'gtp',
  gtp_remat: 'gtp',
};

/** `(tensor, pipeline)` at `(1, 3)` → `tp=1,pp=3`. */
function position(axes: string | undefined, at: string): string {
  if (axes === undefined) return `mp=${at.trim()}`;
  const names = axes.split(',').map((name) => name.trim());
  return at
    .split(',')
    .map((index, axis) => `${AXES[names[axis] ?? ''] ?? names[axis] ?? axis}=${index.trim()}`)
    .join(',');
}

export const PARAMETER_LINES: readonly LineFormat[] = [
  {
    form: 'line',
    id: 'megatron-lm.parameters-per-rank',
    title: 'Exact number of parameters on one model-parallel rank',
    producer: 'Megatron-LM',
    versions:
      'all; one index before 2021, two until July 2026, three since; NeMo and Megatron Bridge with two; Megatron-DeepSpeed',
    source: 'megatron/training/training.py: get_model',
    anchors: ['number of parameters on '],
    fields: { axes: 'which parallel dimensions', at: 'rank along them', count: 'local elements, exact' },
    pattern:
      /number of parameters on (?:\((?<axes>[A-Za-z_, ]{1,80})\) )?model parallel rank \(?(?<at>\d{1,6}(?:, ?\d{1,6}){0,5})\)?(?:: |=)(?<count>\d{1,15})/g,
    read(groups, emit) {
      emit({
        row: 'value',
        name: `parameters.local[${position(groups['axes'], groups['at'] ?? '')}]`,
        value: Number(groups['count']),
        unit: 'elements',
      });
    },
  },
];

export const BUCKET_LINES: readonly LineFormat[] = [
  {
    form: 'line',
    id: 'megatron-core.buckets',
    title: 'Gradient buckets of distributed data parallelism',
    producer: 'Megatron-LM',
    versions: 'core ≥ 0.5; padded size since core 0.7, main_grads since core 0.12; Megatron Bridge, NeMo',
    source: 'megatron/core/distributed/param_and_grad_buffer.py: _ParamAndGradBuffer.__init__',
    anchors: ['Number of buckets for gradient all-reduce', 'Params for bucket '],
    fields: {
      count: 'buckets of one buffer',
      bucket: '1-based number in its buffer',
      elements: 'elements of its parameters',
      padded: 'elements with padding for the distributed optimizer',
      extra: 'parameters with an extra main_grad',
    },
    pattern:
      /Number of buckets for gradient all-reduce \/ reduce-scatter: (?<count>\d{1,6})|Params for bucket (?<bucket>\d{1,6}) \((?<elements>\d{1,15}) elements(?:, (?<padded>\d{1,15}) padded size)?(?:, (?<extra>\d{1,6}) param\(s\) with extra main_grads)?\)/g,
    read({ count, bucket, elements, padded, extra }, emit) {
      if (count !== undefined) {
        emit({ row: 'value', name: 'bucket.count', value: Number(count), unit: 'count' });
        return;
      }
      emit({ row: 'value', name: `bucket.elements[${bucket}]`, value: Number(elements), unit: 'elements' });
      if (padded !== undefined) {
        emit({ row: 'value', name: `bucket.padded_elements[${bucket}]`, value: Number(padded), unit: 'elements' });
      }
      if (extra !== undefined && extra !== '0') {
        emit({ row: 'value', name: `bucket.extra_main_grads[${bucket}]`, value: Number(extra), unit: 'count' });
      }
    },
  },
];
