/**
 * Which setting moves which bytes, and in which direction: `knob-effects.yaml`. Directions and sizes are those of the
 * guides and of Megatron's own documentation. Keys are canonical (`src/knowledge/config-keys.ts`); variables have their
 * own names.
 */
import { loadData } from '../../knowledge/load-data.js';
import type { Cause, Component } from '../../model/vocabulary.js';

/**
 * The values with which it grows. A list orders values from the least to the most; those in an inner list are equal,
 * and `none` means null and an empty text. Values outside the list: unknown. `list_longer` counts the entries of a
 * list.
 */
export type Towards =
  | 'larger'
  | 'smaller'
  | 'on'
  | 'off'
  | 'list_longer'
  | 'list_shorter'
  | readonly (string | readonly string[])[];

export type CauseTowards = Readonly<Partial<Record<Cause, Towards | null>>>;

export interface KnobEffect {
  /** Parts of a rank's memory that it can make grow and shrink. Empty: no live tensors. */
  readonly components: readonly Component[];
  /** Values with which memory grows; null where that depends on more than the value. */
  readonly memory: Towards | null;
  /**
   * It is a factor of these components: with twice the value they are about twice (`linear`) or half (`inverse`) as
   * large.
   */
  readonly factor?: { readonly kind: 'linear' | 'inverse'; readonly of: readonly Component[] };
  /** It moves reserved memory, or memory outside torch, regardless of live tensors. */
  readonly beyond?: true;
  /**
   * Causes of failures that it bears on other than by live tensors, with the values that make each likelier; null where
   * that depends on more than the value.
   */
  readonly causes: CauseTowards;
  /** In force where it is not set, if that is another value than none. */
  readonly unset: string | null;
  /** Values with which a step takes longer; null: it affects time, in either direction. Absent: it does not. */
  readonly time?: Towards | null;
}

/** As in `knob-effects.yaml`: names of sets are replaced by their components, `dtypes` by a list of values. */
interface EffectData {
  readonly components: readonly string[];
  readonly memory?: Towards | 'dtypes';
  readonly factor?: { readonly linear?: readonly string[]; readonly inverse?: readonly string[] };
  readonly beyond?: true;
  readonly causes?: CauseTowards;
  readonly unset?: string;
  readonly time?: Towards | 'dtypes' | null;
}

const DATA = loadData('knob-effects') as {
  readonly sets: Readonly<Record<string, readonly string[]>>;
  readonly dtypes: Towards;
  readonly allocator_options: Readonly<Record<string, CauseTowards>>;
  readonly effects: Readonly<Record<string, EffectData>>;
};

function componentsOf(names: readonly string[]): Component[] {
  return names.flatMap((name) => {
    const set = DATA.sets[name];
    return set === undefined ? [name as Component] : componentsOf(set);
  });
}

function effectOf({ components, memory, factor, beyond, causes = {}, unset, time }: EffectData): KnobEffect {
  const valuesOf = (towards: Towards | 'dtypes'): Towards => (towards === 'dtypes' ? DATA.dtypes : towards);
  const kind = factor?.linear === undefined ? 'inverse' : 'linear';
  return {
    components: componentsOf(components),
    memory: memory === undefined ? null : valuesOf(memory),
    ...(factor === undefined ? {} : { factor: { kind, of: componentsOf(factor[kind] ?? []) } }),
    ...(beyond === undefined ? {} : { beyond }),
    causes,
    unset: unset ?? null,
    ...(time === undefined ? {} : { time: time === null ? null : valuesOf(time) }),
  };
}

/** All keys; a test compares them with the keys that affect memory. */
export const KNOB_EFFECTS: ReadonlyMap<string, KnobEffect> = new Map(
  Object.entries(DATA.effects).map(([key, effect]) => [key, effectOf(effect)]),
);

/** The effect of a key, by its last part if the whole key is unknown (`model.recompute_granularity`). */
export function knobEffect(key: string): KnobEffect | undefined {
  return KNOB_EFFECTS.get(key) ?? KNOB_EFFECTS.get(key.split('.').at(-1)!.replaceAll('-', '_'));
}

/** By the name of an option within the allocator's variables. */
export const ALLOCATOR_OPTIONS = DATA.allocator_options;

/**
 * The direction of a change: `up` towards the given values, `down` away from them; `unknown` if the values do not
 * determine it.
 */
export type Way = 'up' | 'down' | 'unknown';

/** Values in plain spelling; null: not set. */
export function wayOf(towards: Towards | null, a: string | null, b: string | null): Way {
  if (towards === null) return 'unknown';
  const [before, after] = [position(towards, a), position(towards, b)];
  if (before === undefined || after === undefined || before === after) return 'unknown';
  return after > before ? 'up' : 'down';
}

/** Whether two values are the same to it, such as a switch that is off and one that is not set. */
export function isSameTowards(towards: Towards | null, a: string | null, b: string | null): boolean {
  if (towards === null) return a === b;
  const before = position(towards, a);
  return before !== undefined && before === position(towards, b);
}

function position(towards: Towards, value: string | null): number | undefined {
  if (towards === 'larger' || towards === 'smaller') {
    const number = numberOf(value);
    return number === undefined ? undefined : towards === 'larger' ? number : -number;
  }
  if (towards === 'on' || towards === 'off') {
    const on = isOn(value);
    return on === undefined ? undefined : Number(on === (towards === 'on'));
  }
  if (towards === 'list_longer' || towards === 'list_shorter') {
    const length = entriesOf(value);
    return towards === 'list_longer' ? length : -length;
  }
  const word = wordOf(value);
  const at = towards.findIndex((one) => (typeof one === 'string' ? [one] : one).some((each) => wordOf(each) === word));
  return at < 0 ? undefined : at;
}

const isNothing = (value: string | null): boolean => value === null || /^(?:null|none|)$/i.test(value.trim());

/** Undefined for anything other than a plain number. */
export function numberOf(value: string | null): number | undefined {
  return value !== null && /^\s*[-+]?\d[\d_]*(?:\.\d*)?(?:e[-+]?\d+)?\s*$/i.test(value)
    ? Number(value.replaceAll('_', ''))
    : undefined;
}

/** A switch that is not set is off; a word such as `hybrid` is on. */
function isOn(value: string | null): boolean | undefined {
  if (isNothing(value) || /^(?:false|0|no|off)$/i.test(value!.trim())) return false;
  return true;
}

function entriesOf(value: string | null): number {
  if (isNothing(value)) return 0;
  const inner = value!.trim().replace(/^[[(]|[\])]$/g, '');
  return inner.trim() === '' ? 0 : inner.split(',').filter((entry) => entry.trim() !== '').length;
}

/** `torch.bfloat16`, `AttnBackend.flash`, `"full"` → their last word. */
function wordOf(value: string | null): string {
  if (isNothing(value)) return 'none';
  return value!
    .trim()
    .replace(/^['"]|['"]$/g, '')
    .split('.')
    .at(-1)!
    .toLowerCase();
}
