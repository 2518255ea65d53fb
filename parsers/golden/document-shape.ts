/**
 * The shape of our own golden documents. Comparisons use the values without further checks, so every field is checked
 * here; unknown fields are kept for newer versions.
 */
import {
  type Disturbance,
  ENDINGS,
  type GoldenDocument,
  type MeasuredBridge,
  type Measurement,
} from '../../src/model/measurement.js';
import { isList, isObject, type JsonObject, type JsonValue, kindOf } from './python-json.js';
import { quote, type Refuse } from './refuse.js';

const SCHEMA = 'mbforensics/golden@1' satisfies GoldenDocument['schema'];

/** What is wrong with a value, `where` being its path; undefined: nothing. */
type Check = (value: JsonValue | undefined, where: string) => string | undefined;

const wrong = (value: JsonValue | undefined, where: string, expected: string): string =>
  `has ${kindOf(value)} as ${where}, where ${expected} belongs`;

const text: Check = (value, where) => (typeof value === 'string' ? undefined : wrong(value, where, 'a text'));
const number: Check = (value, where) => (typeof value === 'number' ? undefined : wrong(value, where, 'a number'));
const orNull =
  (check: Check): Check =>
  (value, where) =>
    value === null ? undefined : check(value, where);
const optional =
  (check: Check): Check =>
  (value, where) =>
    value === undefined ? undefined : check(value, where);
const textOrNull = orNull(text);
const numberOrNull = orNull(number);

const oneOf =
  (words: readonly string[]): Check =>
  (value, where) =>
    typeof value === 'string' && words.includes(value) ? undefined : wrong(value, where, `one of ${words.join(', ')}`);

const listOf =
  (check: Check): Check =>
  (value, where) => {
    if (!isList(value)) return wrong(value, where, 'a list');
    for (const [i, item] of value.entries()) {
      const fault = check(item, `${where}[${i}]`);
      if (fault !== undefined) return fault;
    }
    return undefined;
  };

const tableOf =
  (check: Check): Check =>
  (value, where) => {
    if (!isObject(value)) return wrong(value, where, 'an object');
    for (const [key, item] of value) {
      const fault = check(item, `${where}.${quote(key)}`);
      if (fault !== undefined) return fault;
    }
    return undefined;
  };

const record =
  (fields: Readonly<Record<string, Check>>): Check =>
  (value, where) => {
    if (!isObject(value)) return wrong(value, where, 'an object');
    for (const [key, check] of Object.entries(fields)) {
      const fault = check(value.get(key), where === '' ? key : `${where}.${key}`);
      if (fault !== undefined) return fault;
    }
    return undefined;
  };

/** A field added to the type without its check here is a compile error. */
type Fields<T> = { readonly [Name in keyof T]-?: Check };
/** The same check of several fields. */
const each = <Name extends string>(check: Check, ...names: readonly Name[]): Readonly<Record<Name, Check>> =>
  Object.fromEntries(names.map((name) => [name, check])) as Record<Name, Check>;
type Item<T> = T extends readonly (infer U)[] ? U : never;

const STATUS: Fields<Measurement['status']> = {
  ending: oneOf(ENDINGS),
  failure: orNull(
    record({
      kind: text,
      ...each(numberOrNull, 'rank', 'stage', 'iteration'),
      text,
      file: text,
      line: number,
    } satisfies Fields<NonNullable<Measurement['status']['failure']>>),
  ),
  verdict: orNull(
    record({
      cause: text,
      detail: textOrNull,
      confidence: text,
      summary: text,
      requested_bytes: numberOrNull,
      live_bytes: numberOrNull,
    } satisfies Fields<NonNullable<Measurement['status']['verdict']>>),
  ),
  attempts: number,
  ...each(numberOrNull, 'first_iteration', 'last_iteration', 'target_iterations'),
};

const RANK: Fields<Item<Measurement['ranks']>> = {
  ...each(numberOrNull, 'rank', 'stage', 'first_iteration', 'last_iteration', 'first_peak_allocated_bytes'),
  ...each(numberOrNull, 'peak_allocated_bytes', 'first_allocated_bytes', 'allocated_bytes', 'peak_reserved_bytes'),
  alloc_retries: numberOrNull,
  precision_bytes: number,
};

const frame: Check = (value, where) =>
  isList(value) &&
  value.length === 3 &&
  typeof value[0] === 'string' &&
  typeof value[1] === 'string' &&
  typeof value[2] === 'number'
    ? undefined
    : wrong(value, where, 'a frame of function, file and line');

const PEAK: Fields<Item<Measurement['peaks']>> = {
  handle: text,
  rank: numberOrNull,
  device: number,
  moment: oneOf(['peak', 'oom', 'dump']),
  basis: oneOf(['actual', 'approximate']),
  active_bytes: number,
  requested_bytes: numberOrNull,
  reserved_bytes: number,
  components: tableOf(number),
  frames: listOf(frame),
  sites: listOf(
    record({
      stack: listOf(number),
      kind: text,
      component: text,
      bytes: number,
      count: number,
    } satisfies Fields<Item<Item<Measurement['peaks']>['sites']>>),
  ),
  rest_bytes: number,
  rest_count: number,
  settings: tableOf(text),
};

const STEPS: Fields<NonNullable<Measurement['steps']>> = {
  ...each(number, 'from', 'to', 'count'),
  independent: optional(number),
  ...each(number, 'warm_up', 'median_ms', 'spread_ms', 'min_ms', 'max_ms'),
  median_tflops: numberOrNull,
  spread_tflops: numberOrNull,
};

const BRIDGE: Fields<MeasuredBridge> = {
  steps: listOf(number),
  ...each(listOf(numberOrNull), 'lm_loss', 'step_ms', 'gpu_utilization'),
  grad_norm: listOf((value, where) => (value === 'nan' ? undefined : numberOrNull(value, where))),
  ...each(numberOrNull, 'alloc', 'max_alloc', 'max_reserved'),
};

const SERIES: Fields<Measurement['series']> = {
  iteration: listOf(number),
  ...each(listOf(numberOrNull), 'loss', 'step_ms', 'tflops', 'grad_norm'),
  ...each(optional(listOf(numberOrNull)), 'allocated_bytes', 'max_allocated_bytes', 'num_zeros'),
  bridge: optional(record(BRIDGE)),
};

const MEASUREMENT: Fields<Measurement> = {
  run: text,
  label: textOrNull,
  commit: textOrNull,
  status: record(STATUS),
  world_size: numberOrNull,
  parallel: record({
    ...each(numberOrNull, 'tp', 'pp', 'vpp', 'cp', 'ep', 'dp', 'etp'),
  } satisfies Fields<Measurement['parallel']>),
  gpu: record({ name: textOrNull, total_bytes: numberOrNull } satisfies Fields<Measurement['gpu']>),
  versions: tableOf(text),
  commits: tableOf(text),
  allocator_conf: textOrNull,
  ranks: listOf(record(RANK)),
  peaks: listOf(record(PEAK)),
  steps: orNull(record(STEPS)),
  series: (value, where) => record(SERIES)(value, where) ?? unequalSeries(value as JsonObject, where),
  config: tableOf(text),
  env: tableOf(textOrNull),
  disturbances: listOf(
    record({
      kind: oneOf([
        'straggler',
        'throttling',
        'other_process',
        'alloc_retries',
        'uneven_steps',
      ] satisfies Disturbance['kind'][]),
      text,
    } satisfies Fields<Disturbance>),
  ),
};

/** Values are paired with their iteration by position: a list cut short would shift nothing and go unnoticed. */
function unequalSeries(series: JsonObject, where: string): string | undefined {
  const bridge = series.get('bridge');
  return (
    unequalLists(series, Object.keys(SERIES), where, 'iterations') ??
    (isObject(bridge) ? unequalLists(bridge, Object.keys(BRIDGE), `${where}.bridge`, 'steps') : undefined)
  );
}

/** The lists of these names are as long as the first. */
function unequalLists(lists: JsonObject, names: readonly string[], where: string, what: string): string | undefined {
  const count = (key: string): number => (lists.get(key) as readonly JsonValue[]).length;
  const [first = ''] = names;
  const odd = names.find((key) => isList(lists.get(key)) && count(key) !== count(first));
  return odd === undefined ? undefined : `has ${count(odd)} values as ${where}.${odd} of ${count(first)} ${what}`;
}

const DOCUMENT: Fields<Omit<GoldenDocument, 'schema'>> = {
  name: text,
  written_at: text,
  runs: listOf(record(MEASUREMENT)),
};

/** A document whose `schema` is ours, checked field by field. */
export function goldenDocument(top: JsonObject, refuse: Refuse): GoldenDocument {
  const schema = top.get('schema');
  if (schema !== SCHEMA) return refuse(`has schema ${quote(String(schema))}; this version reads ${SCHEMA}`);
  const fault = record(DOCUMENT)(top, '');
  if (fault !== undefined) return refuse(fault);
  const runs = top.get('runs');
  if (isList(runs) && runs.length === 0) return refuse('holds no run');
  return plain(top) as unknown as GoldenDocument;
}

/** Maps as objects. Only here can a key `__proto__` do harm, by being copied on; nothing of ours is called so. */
function plain(value: JsonValue): unknown {
  if (isList(value)) return value.map(plain);
  if (!isObject(value)) return value;
  return Object.fromEntries([...value].filter(([key]) => key !== '__proto__').map(([key, item]) => [key, plain(item)]));
}
