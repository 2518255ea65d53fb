/** Lines of JSON, each the figures of one step. The keys of the first line identify the writer. */

export type LineForm = 'wandb-history' | 'llamafactory' | 'verl';

export interface LineShape {
  readonly form: LineForm;
  readonly why: string;
  readonly step: string;
  readonly time: string | null;
  /** The member that contains the figures; null if they are at the level of the step. */
  readonly data: string | null;
  /** Members that are not figures. */
  readonly without: ReadonlySet<string>;
}

const SHAPES: readonly (LineShape & { readonly fits: (row: Readonly<Record<string, unknown>>) => boolean })[] = [
  {
    form: 'wandb-history',
    why: 'It is rows of the history of a W&B run.',
    step: '_step',
    time: '_timestamp',
    data: null,
    without: new Set(['_step', '_timestamp', '_runtime', '_wandb']),
    fits: (row) => isNumber(row['_step']) && (isNumber(row['_timestamp']) || isNumber(row['_runtime'])),
  },
  {
    // Upstream: LLaMA-Factory `src/llamafactory/train/callbacks.py`, `LogCallback`.
    form: 'llamafactory',
    why: 'It is the trainer log of LLaMA-Factory.',
    step: 'current_steps',
    time: null,
    data: null,
    without: new Set(['current_steps', 'total_steps', 'percentage']),
    fits: (row) => isNumber(row['current_steps']) && isNumber(row['total_steps']),
  },
  {
    // Upstream: verl `verl/utils/tracking.py`, `FileLogger`.
    form: 'verl',
    why: 'It is the metrics of verl, a step a line.',
    step: 'step',
    time: null,
    data: 'data',
    without: new Set(),
    fits: (row) =>
      isNumber(row['step']) &&
      Object.keys(row).length === 2 &&
      isRecord(row['data']) &&
      Object.entries(row['data']).some(([key, value]) => key.includes('/') && isNumber(value)),
  },
];

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number';
}

/** Null: no writer known to this version. */
export function shapeOfLine(row: unknown): LineShape | null {
  return isRecord(row) ? (SHAPES.find(({ fits }) => fits(row)) ?? null) : null;
}
