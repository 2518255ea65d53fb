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
