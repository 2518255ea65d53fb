import type { StepValue } from '../../src/model/golden-values.js';
import type { Measurement } from '../../src/model/measurement.js';
import { bridgeValuesOf } from '../../src/model/upstream-values-of.js';
import { indentedJson, pythonFloat, type Written } from './indented-json.js';

/**
 * A golden file as `evaluate.py` of Megatron Bridge reads it: steps from 0, milliseconds, MODEL_TFLOP/s/GPU, decimal GB
 * of five digits. `wrapper`: `baseline`, `current` or a date (`08.22.26`) around the whole. Steps without a loss are
 * left out, for Bridge stops at them with a KeyError; a run without any figure gives `{}`, wrapped or not.
 */
export function writeBridgeGolden(measurement: Measurement, wrapper?: string): string {
  const values = bridgeValuesOf(measurement);
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
