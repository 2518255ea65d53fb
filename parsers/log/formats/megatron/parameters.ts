import type { LineCode } from '../contract.js';

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

export const PARAMETER_LINES: readonly LineCode[] = [
  {
    id: 'megatron-lm.parameters-per-rank',
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
