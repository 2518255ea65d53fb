/** Conditions that several rules about parallel sizes, communication and allocator settings share. */
import { ALLOCATOR_VARIABLES } from '../../../knowledge/env-keys.js';
import { all, type Condition, framework, is, isNot, where } from '../../settings/condition.js';
import type { Looked } from '../../settings/facts.js';
import { asNumber, isOn } from '../../settings/values.js';
import type { View } from '../../settings/view.js';

export const IN_MEGATRON_LM = framework('megatron-lm');
export const IN_BRIDGE = framework('megatron-bridge');
export const IN_BRIDGE_OR_NEMO = framework('megatron-bridge', 'nemo');
export const IN_NEMO = framework('nemo');

/** Somebody told it: it is no default, and nothing that follows from another setting. */
export function told(key: string): Condition {
  return where(`${key} told`, (view) => [view.facts.settings.has(key), view.setting(key)]);
}

/** Told as on or off, whatever the framework makes of it when it starts. */
export function asked(key: string, wanted: 'on' | 'off'): Condition {
  return where(`${key} told as ${wanted}`, (view) => {
    const told = view.facts.settings.get(key);
    if (told === undefined) return [false];
    const found: Looked = { key, kind: 'setting', by: 'told', value: told.value, told, source: null };
    return [isOn(told.value) === (wanted === 'on'), found];
  });
}

/** Told to be None. What is not told stays unknown: recipes and wrappers fill such fields in. */
export function toldNone(key: string): Condition {
  return where(`${key} = None`, (view) => {
    const found = view.setting(key);
    if (found.by !== 'told') return [null, { ...found, by: 'unknown' }];
    return [found.value === null || /^none$/i.test(found.value), found];
  });
}

/**
 * Numbers of several settings. One that is told as nothing counts as what stands beside its key; where nothing stands there, nothing can be
 * said against the configuration.
 */
export function sized(
  text: string,
  sizes: Readonly<Record<string, number | undefined>>,
  test: (...values: readonly number[]) => boolean,
): Condition {
  return where(text, (view) => {
    const found = Object.keys(sizes).map((key) => view.setting(key));
    if (found.some(({ by }) => by === 'unknown')) return [null, ...found];
    const values = found.map(({ key, value }) => asNumber(value) ?? sizes[key]);
    const whole = values.filter((value) => value !== undefined);
    return [whole.length === values.length && test(...whole), ...found];
  });
}

/** A setting's text, e.g. the class of a section. */
export function textHas(key: string, pattern: RegExp): Condition {
  return where(`${key} like ${pattern.source}`, (view) => {
    const found = view.setting(key);
    return [found.by === 'unknown' ? null : found.value !== null && pattern.test(found.value), found];
  });
}

export const GRAPHS_ON = isNot('cuda_graph_impl', 'none');

/** Single precision, whatever it is called. */
export const FP32 = ['fp32', 'float32', 'torch.float32', 'float'] as const;

export const isDeepEp = is('moe_flex_dispatcher_backend', 'deepep');

/** GPUs that share NVLink: 72 in an NVL72 rack, 8 in what else is known; null where the device is not. */
function nvlinkDomain({ facts }: View): number | null {
  const { name, capability } = facts.device;
  if (name === null && capability === null) return null;
  return name !== null && /gb[23]00|nvl72/i.test(name) ? 72 : 8;
}

/** The product of these sizes is larger than what NVLink joins. */
export function beyondNvlink(...keys: readonly string[]): Condition {
  return where(`${keys.join(' · ')} > GPUs of an NVLink domain`, (view) => {
    const found = keys.map((key) => view.setting(key));
    const device = view.device();
    if (found.some(({ by }) => by === 'unknown')) return [null, ...found];
    const size = found.reduce((product, { value }) => product * (asNumber(value) ?? 1), 1);
    // Eight fit into every node, and more than 72 into no rack.
    if (size <= 8) return [false, ...found];
    if (size > 72) return [true, ...found];
    const domain = nvlinkDomain(view);
    return [domain === null ? null : size > domain, ...found, device];
  });
}

export const NVL72: Condition = where('GB200 or GB300 NVL72', (view) => {
  const domain = nvlinkDomain(view);
  return [domain === null ? null : domain === 72, view.device()];
});

/** The variable that torch reads its allocator's settings from: the first that is set. Null: none is; undefined: nothing tells. */
function allocatorVariable(view: View): Looked | null | undefined {
  for (const name of ALLOCATOR_VARIABLES) {
    const found = view.env(name);
    if (found.by === 'unknown') return undefined;
    if (found.value !== null) return found;
  }
  return null;
}

/** As torch reads it, which skips white space and takes `True` only. */
export function expands(text: string): boolean {
  return /(?:^|,)expandable_segments:True(?:,|$)/.test(text.replace(/\s+/g, ''));
}

/** Torch expands segments, whichever variable says so. */
export const EXPANDABLE: Condition = where('expandable_segments on', (view) => {
  const found = allocatorVariable(view);
  if (found === undefined) return [null, view.env(ALLOCATOR_VARIABLES[0]!)];
  return found === null ? [false, view.env(ALLOCATOR_VARIABLES[0]!)] : [expands(found.value!), found];
});

/** Only the newer name of the variable says so, which no guard of Megatron-Core reads. */
export const EXPANDABLE_BY_ALIAS: Condition = all(
  EXPANDABLE,
  where('PYTORCH_CUDA_ALLOC_CONF without expandable_segments:True', (view) => {
    const found = view.env('PYTORCH_CUDA_ALLOC_CONF');
    return [found.by === 'unknown' ? null : found.value === null, found, view.env('PYTORCH_ALLOC_CONF')];
  }),
);

/** The text of a variable passes a test; a variable that is not set does not. */
export function envTest(name: string, text: string, test: (value: string) => boolean): Condition {
  return where(`${name} ${text}`, (view) => {
    const found = view.env(name);
    return [found.by === 'unknown' ? null : found.value !== null && test(found.value), found];
  });
}
