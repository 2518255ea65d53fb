import type { BridgeStep, BridgeValues, StepValue } from '../../src/model/golden-values.js';
import { isObject, type JsonObject, type JsonValue, kindOf } from './python-json.js';
import { quote, type Refuse, stepOf } from './refuse.js';

const OF_A_STEP = {
  lm_loss: 'lm loss',
  step_ms: 'elapsed time per iteration (ms)',
  gpu_utilization: 'GPU utilization',
  grad_norm: 'grad norm',
} as const satisfies Record<keyof BridgeStep, string>;
const MEMORY: readonly string[] = ['alloc', 'max_alloc', 'max_reserved'];
/** Of the W&B artifact: the day it was written, month first. */
const DATE = /^(\d\d)\.(\d\d)\.(\d\d)$/;

/** `baseline` before `current` before the latest date; a flat file is its own content. */
export function unwrapBridge(top: JsonObject): { readonly wrapper: string; readonly inner: JsonObject } {
  for (const wrapper of ['baseline', 'current']) {
    const inner = top.get(wrapper);
    if (isObject(inner)) return { wrapper, inner };
  }
  let latest = { wrapper: '', inner: top, day: '' };
  for (const [wrapper, inner] of top) {
    const date = DATE.exec(wrapper);
    if (date === null || !isObject(inner)) continue;
    const day = `${date[3]}${date[1]}${date[2]}`;
    if (day > latest.day) latest = { wrapper, inner, day };
  }
  return { wrapper: latest.wrapper, inner: latest.inner };
}

export function isBridge(inner: JsonObject): boolean {
  if (MEMORY.some((name) => typeof inner.get(name) === 'number')) return true;
  for (const [key, value] of inner) {
    if (stepOf(key) === undefined || !isObject(value)) continue;
    if (Object.values(OF_A_STEP).some((name) => value.has(name))) return true;
  }
  return false;
}

export function bridgeValues(inner: JsonObject, wrapper: string, refuse: Refuse): BridgeValues {
  const steps = new Map<number, BridgeStep>();
  const otherValues: [string, string][] = [];
  for (const [key, value] of inner) {
    if (MEMORY.includes(key)) continue;
    const step = stepOf(key);
    if (isObject(value)) {
      // Upstream reads every object as a step, and fails on anything else; here it is not a figure of the run.
      if (step !== undefined) steps.set(step, bridgeStep(value, step, refuse));
    } else if (typeof value === 'string') otherValues.push([key, value]);
    else if (typeof value === 'number' || typeof value === 'boolean') otherValues.push([key, String(value)]);
  }
  const memory = (name: string): number | null => {
    const value = inner.get(name) ?? null;
    return value === null || typeof value === 'number' ? value : refuse(`has ${kindOf(value)} as ${quote(name)}`);
  };
  return {
    kind: 'bridge',
    wrapper,
    steps,
    alloc: memory('alloc'),
    max_alloc: memory('max_alloc'),
    max_reserved: memory('max_reserved'),
    // A key `__proto__` becomes an entry like any other this way.
    others: Object.fromEntries(otherValues),
  };
}

function bridgeStep(values: JsonObject, step: number, refuse: Refuse): BridgeStep {
  const read = (name: string): StepValue | null => {
    const value: JsonValue = values.get(name) ?? null;
    if (value === null || typeof value === 'number') return value;
    return typeof value === 'string' ? 'nan' : refuse(`has ${kindOf(value)} as ${quote(name)} at step ${step}`);
  };
  return {
    lm_loss: read(OF_A_STEP.lm_loss),
    step_ms: read(OF_A_STEP.step_ms),
    gpu_utilization: read(OF_A_STEP.gpu_utilization),
    grad_norm: read(OF_A_STEP.grad_norm),
  };
}
