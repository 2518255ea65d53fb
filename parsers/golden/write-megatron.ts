import type { Measurement } from '../../src/model/measurement.js';
import { megatronValuesOf } from '../../src/model/upstream-values-of.js';
import { indentedJson, pythonFloat, type Written } from './indented-json.js';

/**
 * A golden file in Megatron-LM's training schema, as `get_test_results_from_tensorboard_logs.py` writes it: seconds,
 * bytes, five decimals, steps from 1. A run without any of the metrics gives `{}`. What the file cannot represent is in
 * FORMAT.md.
 */
export function writeMegatronGolden(measurement: Measurement): string {
  const metrics = new Map<string, Written>();
  for (const [name, series] of megatronValuesOf(measurement).metrics) {
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
