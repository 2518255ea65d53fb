import type { MegatronTrainingValues, StepSeries, StepValue } from '../../src/model/golden-values.js';
import { isList, isObject, type JsonObject, type JsonValue, kindOf } from './python-json.js';
import { quote, type Refuse, stepOf, wholeNumber } from './refuse.js';

/**
 * Whether the values of an object are metrics over steps. One is enough: then the others are damaged rather than
 * something else.
 */
export function isTraining(top: JsonObject): boolean {
  for (const metric of top.values()) {
    if (isObject(metric) && metric.has('values') && (metric.has('start_step') || metric.has('step_interval')))
      return true;
  }
  return false;
}

/** As strict as `GoldenValueMetric` upstream: a file that it refuses judges nothing there either. */
export function trainingValues(top: JsonObject, refuse: Refuse): MegatronTrainingValues {
  const metrics = new Map<string, StepSeries>();
  let isLegacy = false;
  for (const [name, metric] of top) {
    if (!isObject(metric)) return refuse(`has ${kindOf(metric)} where the metric ${quote(name)} belongs`);
    const field = (key: string): number => wholeNumber(metric.get(key), `${key} of ${quote(name)}`, refuse);
    const [start, end, interval] = [field('start_step'), field('end_step'), field('step_interval')];
    const values = metric.get('values');
    if (isList(values)) isLegacy = true;
    metrics.set(name, {
      start_step: start,
      end_step: end,
      step_interval: interval,
      values: isList(values)
        ? listed(values, start, interval, name, refuse)
        : isObject(values)
          ? byStep(values, name, refuse)
          : refuse(`has ${kindOf(values)} where the values of ${quote(name)} belong`),
    });
  }
  return { kind: 'megatron_training', metrics, is_legacy: isLegacy };
}

function byStep(values: JsonObject, name: string, refuse: Refuse): ReadonlyMap<number, StepValue> {
  const result: [number, StepValue][] = [];
  for (const [key, value] of values) {
    const step = stepOf(key);
    if (step === undefined) return refuse(`has ${quote(key)} among the steps of ${quote(name)}`);
    result.push([step, stepValue(value, name, step, refuse)]);
  }
  // Two spellings of a step ("1", "01") leave the later one, as `Dict[int, …]` does.
  return new Map([...new Map(result)].sort(([a], [b]) => a - b));
}

function listed(
  values: readonly JsonValue[],
  start: number,
  interval: number,
  name: string,
  refuse: Refuse,
): ReadonlyMap<number, StepValue> {
  if (interval < 1) return refuse(`has ${interval} as step_interval of ${quote(name)}, with a list of values`);
  if (!Number.isSafeInteger(start + values.length * interval)) {
    return refuse(`has steps of ${quote(name)} that no run reaches`);
  }
  return new Map(
    values.map((value, position) => {
      const step = start + position * interval;
      return [step, stepValue(value, name, step, refuse)];
    }),
  );
}

function stepValue(value: JsonValue, name: string, step: number, refuse: Refuse): StepValue {
  if (typeof value === 'number') return value;
  // Upstream asks only whether it is a text.
  if (typeof value === 'string') return 'nan';
  return refuse(`has ${kindOf(value)} as ${quote(name)} at step ${step}`);
}
