import type { LineCode } from '../contract.js';

/** `(tensor, pipeline)` at `(1, 3)` → `tp=1,pp=3`. */
function position(axes: string | undefined, at: string, shortNames: ReadonlyMap<string, string>): string {
  if (axes === undefined) return `mp=${at.trim()}`;
  const names = axes.split(',').map((name) => name.trim());
  return at
    .split(',')
    .map((index, axis) => `${shortNames.get(names[axis] ?? '') ?? names[axis] ?? axis}=${index.trim()}`)
    .join(',');
}

export const PARAMETER_LINES: readonly LineCode[] = [
  {
    id: 'megatron-lm.parameters-per-rank',
    read(groups, emit, { axes }) {
      emit({
        row: 'value',
        name: `parameters.local[${position(groups['axes'], groups['at'] ?? '', axes!)}]`,
        value: Number(groups['count']),
        unit: 'elements',
      });
    },
  },
];
