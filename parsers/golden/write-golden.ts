import type { BridgeValues, MegatronTrainingValues, StepValue } from '../../src/model/golden-values.js';

/** Figures as written in the file, by key. */
export interface Written extends ReadonlyMap<string, string | Written> {}

/** As `json.dumps(…, indent=4)` lays it out, with a line end after it. */
export function indentedJson(values: Written): string {
  return `${indented(values, '')}\n`;
}

function indented(values: Written, margin: string): string {
  if (values.size === 0) return '{}';
  const inner = `${margin}    `;
  const lines = [...values].map(([key, value]) => {
    const text = typeof value === 'string' ? value : indented(value, inner);
    return `${inner}${JSON.stringify(key)}: ${text}`;
  });
  return `{\n${lines.join(',\n')}\n${margin}}`;
}

/** Above this Python writes an exponent. */
const MOST_PLAIN = 1e16;

/**
 * A float as Python writes it: `521037888.0`, `NaN`, `Infinity`. A golden file written anew then differs where figures
 * do.
 */
export function pythonFloat(value: number): string {
  if (Object.is(value, -0)) return '-0.0';
  if (Number.isInteger(value) && Math.abs(value) < MOST_PLAIN) return `${value}.0`;
  return String(value);
}

/**
 * A golden file in Megatron-LM's training schema, as `get_test_results_from_tensorboard_logs.py` writes it: seconds,
 * bytes, five decimals, steps from 1. A run without any of the metrics gives `{}`. What the file cannot represent is in
 * FORMAT.md.
 */
export function writeMegatronGolden(training: Pick<MegatronTrainingValues, 'metrics'>): string {
  const metrics = new Map<string, Written>();
  for (const [name, series] of training.metrics) {
    const values = [...series.values].map(([step, value]): [string, string] => [
      String(step),
      value === 'nan' ? '"nan"' : pythonFloat(value),
    ]);
    metrics.set(
      name,
      new Map<string, string | Written>([
        ['start_step', String(series.start_step)],
        ['end_step', String(series.end_step)],
        ['step_interval', String(series.step_interval)],
        ['values', new Map(values)],
      ]),
    );
  }
  return indentedJson(metrics);
}

/**
 * A golden file as `evaluate.py` of Megatron Bridge reads it: steps from 0, milliseconds, MODEL_TFLOP/s/GPU, decimal GB
 * of five digits. `wrapper`: `baseline`, `current` or a date (`08.22.26`) around the whole. Steps without a loss are
 * left out, for Bridge stops at them with a KeyError; a run without any figure gives `{}`, wrapped or not.
 */
export function writeBridgeGolden(values: Omit<BridgeValues, 'kind'>, wrapper?: string): string {
  const written = new Map<string, string | Written>();
  for (const [step, { lm_loss, step_ms, gpu_utilization }] of values.steps) {
    if (lm_loss === null) continue;
    written.set(
      String(step),
      present([
        ['lm loss', lm_loss],
        ['elapsed time per iteration (ms)', step_ms],
        ['GPU utilization', gpu_utilization],
      ]),
    );
  }
  const memory = present([
    ['alloc', values.alloc],
    ['max_alloc', values.max_alloc],
    ['max_reserved', values.max_reserved],
  ]);
  for (const [name, figure] of memory) written.set(name, figure);
  return indentedJson(wrapper === undefined ? written : new Map([[wrapper, written]]));
}

/** Upstream writes no key for what a log did not print. */
function present(figures: readonly (readonly [string, StepValue | null])[]): Map<string, string> {
  const result = new Map<string, string>();
  for (const [name, value] of figures) {
    if (value !== null) result.set(name, value === 'nan' ? 'NaN' : pythonFloat(value));
  }
  return result;
}
