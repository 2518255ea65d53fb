/** Records of the JSON export as rows: `src/knowledge/inputs/nsys-records.yaml`. */
import { loadData } from '../../src/knowledge/load-data.js';
import { ENUMS } from '../../src/model/columns.js';
import { getOrAdd } from '../../src/model/group-by.js';
import type { NsysKind } from '../../src/model/nsys-rows.js';
import { processNumber, threadNumber } from './emit.js';
import type { RowField } from './row-builder.js';
import { labelsOf, NVTX_TYPE_NUMBERS } from './table-maps.js';

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined;
}

/** Gives the number of a text: of one in the string table (by its index there), or of one inside the record. */
export interface TextNumbers {
  indexed(value: JsonValue | undefined): number | null;
  own(value: JsonValue | undefined): number | null;
}

/** A row, and the table of the SQL exports that it belongs to. */
export interface JsonRow {
  readonly table: string;
  readonly kind: NsysKind;
  readonly fields: Readonly<Record<string, RowField>>;
}

/** What became of a record: a row, a row of a table that is only counted, or nothing known. */
export type Recognised = JsonRow | { readonly table: string; readonly fields: null } | undefined;

interface RecordData {
  readonly types: readonly number[];
  readonly event: readonly string[];
  readonly is_loose?: true;
  readonly classes?: readonly number[];
  readonly has?: string;
  readonly needs?: readonly string[];
  readonly table: string;
  readonly kind?: NsysKind;
  readonly with?: readonly string[];
  readonly columns?: Readonly<Record<string, string>>;
}

const DATA = loadData('inputs/nsys-records') as {
  readonly counted: Readonly<Record<string, string>>;
  readonly groups: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly records: readonly RecordData[];
};

/** Tables of the SQL exports whose records are counted and not read. */
export const COUNTED: ReadonlyMap<number, string> = new Map(
  Object.entries(DATA.counted).map(([type, table]) => [Number(type), table]),
);

const RECORDS = DATA.records.map(({ with: groups = [], columns = {}, ...record }) => ({
  ...record,
  columns: [...groups.map((name) => DATA.groups[name]!), columns].flatMap((group) =>
    Object.entries(group).map(([column, source]) => [column, source.split(' ')] as const),
  ),
}));

export function recognise(type: number, record: JsonObject, texts: TextNumbers): Recognised {
  for (const { types, event: names, is_loose: isLoose, classes, has, needs = [], table, kind, columns } of RECORDS) {
    if (!types.includes(type)) continue;
    const event = names.map((name) => object(record[name])).find((inner) => inner !== undefined) ?? anyObject(record);
    if (event === undefined) return undefined;
    if (classes !== undefined && !classes.includes(Number(integer(event['eventClass']) ?? 0n))) continue;
    if (has !== undefined && object(event[has]) === undefined) continue;
    const get = isLoose === true ? looseFields(event) : strictFields(event);
    if (needs.some((name) => integer(get(name)) === null)) continue;
    if (kind === undefined) return { table, fields: null };
    const fields: Record<string, RowField> = {};
    for (const [column, source] of columns) fields[column] = fieldOf(source, type, get, texts);
    return { table, kind, fields };
  }
  return undefined;
}

/** The value of the first of the names, separated by `|`, that is there. */
type Get = (names: string | undefined) => JsonValue | undefined;

function fieldOf(source: readonly string[], type: number, get: Get, texts: TextNumbers): RowField {
  const [what, name, second, third] = source;
  const orDefault = (value: RowField): RowField => value ?? (second === undefined ? null : BigInt(second));
  switch (what) {
    case 'int':
      return orDefault(integer(get(name)));
    case 'time':
      return orDefault(time(get(name)));
    case 'text':
      return orDefault(texts.indexed(get(name)));
    case 'own':
      return texts.own(get(name)) ?? texts.indexed(get(second));
    case 'process':
      return processNumber(id(get(name)));
    case 'thread':
      return threadNumber(id(get(name)));
    case 'label':
      return label(get(name), labelsOf(second!), third!);
    case 'is':
      return labelsOf(name!).indexOf(second!);
    case 'always':
      return Number(name);
    case 'product': {
      const all = source.slice(1).reduce((value, axis) => value * (integer(get(axis)) ?? 0n), 1n);
      return all >= 0n && all < 2n ** 53n ? all : 0n;
    }
    default:
      return ENUMS.nsys_nvtx_type.indexOf(NVTX_TYPE_NUMBERS.get(type) ?? 'other');
  }
}

const PATHS = new Map<string, readonly (readonly string[])[]>();

/** Fields of an object, and of those in it as `object.field`. */
function strictFields(event: JsonObject): Get {
  return (names = '') => {
    const paths = getOrAdd(PATHS, names, () => names.split('|').map((name) => name.split('.')));
    for (const [outer = '', inner] of paths) {
      const value = inner === undefined ? event[outer] : object(event[outer])?.[inner];
      if (value !== undefined) return value;
    }
    return undefined;
  };
}

/** Fields of an object and of the objects in it, by lower-case name; the outer one wins. */
function looseFields(event: JsonObject): Get {
  const fields = new Map<string, JsonValue>();
  const add = (from: JsonObject, depth: number): void => {
    for (const [name, value] of Object.entries(from)) {
      const inner = object(value);
      if (inner !== undefined && depth < 3) add(inner, depth + 1);
      else if (value !== undefined && !fields.has(name.toLowerCase())) fields.set(name.toLowerCase(), value);
    }
  };
  add(event, 0);
  return (names) =>
    names
      ?.split('|')
      .map((name) => fields.get(name))
      .find((value) => value !== undefined);
}

function anyObject(record: JsonObject): JsonObject | undefined {
  for (const value of Object.values(record)) {
    const inner = object(value);
    if (inner !== undefined) return inner;
  }
  return undefined;
}

export function object(value: JsonValue | undefined): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

export function id(value: JsonValue | undefined): number | string | null {
  return typeof value === 'number' || typeof value === 'string' ? value : null;
}

/** 64-bit integers are strings, 32-bit ones numbers. Signed and unsigned: what counts is their bits. */
export function integer(value: JsonValue | undefined): bigint | null {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  if (typeof value !== 'string' || !/^-?\d{1,20}$/.test(value)) return null;
  const wide = BigInt(value);
  return wide < -(2n ** 63n) || wide >= 2n ** 64n ? null : wide;
}

/** A time is a number, or an object that names its clock. */
export function time(value: JsonValue | undefined): bigint | null {
  return integer(object(value)?.['Time'] ?? (object(value) === undefined ? value : undefined));
}

function label(value: JsonValue | undefined, labels: readonly string[], other: string): number | null {
  if (value === undefined) return 0;
  const number = integer(value);
  if (number === null) return labels.indexOf(other);
  return number >= 0n && number < BigInt(labels.length) ? Number(number) : labels.indexOf(other);
}
