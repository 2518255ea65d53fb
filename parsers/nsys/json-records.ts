/**
 * Records of the JSON export: which become rows of which table, by their `Type`. The numbers are those of
 * ENUM_NSYS_EVENT_TYPE.
 */
import {
  COPY_KINDS,
  COPY_OPERATIONS,
  MEMORY_KINDS,
  MEMORY_OPERATIONS,
  type NsysKind,
  NVTX_TYPES,
  POOL_OPERATIONS,
  POOL_TYPES,
  TRACED_LIBRARIES,
  type TracedLibrary,
} from '../../src/model/nsys-rows.js';
import { processNumber, threadNumber } from './emit.js';
import type { RowField } from './row-builder.js';
import { NVTX_TYPE_NUMBERS } from './table-maps.js';

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

/** Tables of the SQL exports whose records are counted and not read. */
export const COUNTED: ReadonlyMap<number, string> = new Map([
  [31, 'COMPOSITE_EVENTS'],
  [41, 'SCHED_EVENTS'],
  [127, 'CUPTI_ACTIVITY_KIND_CUDA_EVENT'],
]);

/**
 * `eventClass` of a TraceProcessEvent (ENUM_NSYS_EVENT_CLASS) → its table. Others are marks of when tracing began and
 * ended, which no table has.
 */
const API_CLASSES: ReadonlySet<number> = new Set([0, 1, 26]);
const LIBRARY_CLASSES: ReadonlyMap<number, TracedLibrary> = new Map([
  [28, 'cudnn'],
  [29, 'cublas'],
  [48, 'openacc'],
]);
const COUNTED_CLASSES: ReadonlyMap<number, string> = new Map([
  [3, 'PROFILER_OVERHEAD'],
  [27, 'OSRT_API'],
]);

/** What became of a record: a row, a row of a table that is only counted, or nothing known. */
export type Recognised = JsonRow | { readonly table: string; readonly fields: null } | undefined;

export function recognise(type: number, record: JsonObject, texts: TextNumbers): Recognised {
  switch (type) {
    case 47:
    case 48:
    case 152:
      return call(field(record, 'TraceProcessEvent', 'CudaApiEvent'), texts, type === 152);
    case 79:
    case 80:
    case 106:
    case 130:
      return deviceWork(field(record, 'CudaEvent', 'CudaGraphTrace'), texts, type);
    case 117:
      return memoryEvent(anyObject(record), texts);
    case 129:
      return poolEvent(anyObject(record));
    default:
      return NVTX_TYPE_NUMBERS.has(type) ? nvtx(field(record, 'NvtxEvent'), texts, type) : undefined;
  }
}

function call(event: JsonObject | undefined, texts: TextNumbers, isCuda: boolean): Recognised {
  if (event === undefined) return undefined;
  const eventClass = isCuda ? 26 : Number(integer(event['eventClass']) ?? 0n);
  const counted = COUNTED_CLASSES.get(eventClass);
  if (counted !== undefined) return { table: counted, fields: null };
  const span = { start_ns: integer(event['startNs']) ?? 0n, end_ns: integer(event['endNs']) ?? 0n };
  const thread = threadOf(event['globalTid']);
  const library = LIBRARY_CLASSES.get(eventClass);
  if (library !== undefined) {
    const fields = {
      ...span,
      ...thread,
      library: TRACED_LIBRARIES.indexOf(library),
      name_id: texts.indexed(event['name']),
    };
    return { table: `${library.toUpperCase()}_EVENTS`, kind: 'library', fields };
  }
  if (!API_CLASSES.has(eventClass)) return undefined;
  const fields = {
    ...span,
    ...thread,
    correlation: integer(event['correlationId']) ?? 0n,
    name_id: texts.indexed(event['name']) ?? 0,
    return_value: integer(event['returnValue']) ?? 0n,
    event_class: eventClass,
  };
  return { table: 'CUPTI_ACTIVITY_KIND_RUNTIME', kind: 'api', fields };
}

function deviceWork(event: JsonObject | undefined, texts: TextNumbers, type: number): Recognised {
  if (event === undefined) return undefined;
  const common = {
    start_ns: integer(event['startNs']) ?? 0n,
    end_ns: integer(event['endNs']) ?? 0n,
    pid: processNumber(id(event['globalPid'])),
    device: integer(event['deviceId']) ?? 0n,
    context: integer(event['contextId']) ?? 0n,
    stream: integer(event['streamId']) ?? 0n,
    correlation: integer(event['correlationId']) ?? 0n,
  };
  const kernel = object(event['kernel']);
  if (kernel !== undefined) {
    const size = (axis: string): bigint => {
      const all = ['X', 'Y', 'Z'].reduce((value, name) => value * (integer(kernel[axis + name]) ?? 0n), 1n);
      return all >= 0n && all < 2n ** 53n ? all : 0n;
    };
    const fields = {
      ...common,
      name_id: texts.indexed(kernel['shortName']) ?? 0,
      demangled_id: texts.indexed(kernel['demangledName']),
      blocks: size('grid'),
      threads: size('block'),
      registers: integer(kernel['registersPerThread']) ?? 0n,
      local_memory_bytes: integer(kernel['localMemoryTotal']) ?? 0n,
      graph_node: integer(kernel['graphNodeId']),
    };
    return { table: 'CUPTI_ACTIVITY_KIND_KERNEL', kind: 'kernel', fields };
  }
  const copy = object(event['memcpy']);
  if (copy !== undefined) {
    const fields = {
      ...common,
      operation: COPY_OPERATIONS.indexOf('memcpy'),
      copy_kind: label(copy['copyKind'], COPY_KINDS, 'other'),
      bytes: integer(copy['sizebytes']) ?? 0n,
      source_kind: label(copy['srcKind'], MEMORY_KINDS, 'unknown'),
      target_kind: label(copy['dstKind'], MEMORY_KINDS, 'unknown'),
      source_device: integer(copy['srcDeviceId']),
      target_device: integer(copy['dstDeviceId']),
      migration_cause: integer(copy['migrationCause']),
    };
    return { table: 'CUPTI_ACTIVITY_KIND_MEMCPY', kind: 'copy', fields };
  }
  const set = object(event['memset']);
  if (set !== undefined) {
    const fields = {
      ...common,
      operation: COPY_OPERATIONS.indexOf('memset'),
      bytes: integer(set['sizebytes']) ?? 0n,
      target_kind: label(set['memKind'], MEMORY_KINDS, 'unknown'),
    };
    return { table: 'CUPTI_ACTIVITY_KIND_MEMSET', kind: 'copy', fields };
  }
  if (type === 106) {
    const sync = object(event['sync']);
    const fields = { ...common, sync_type: integer(sync?.['syncType']) ?? 0n };
    return { table: 'CUPTI_ACTIVITY_KIND_SYNCHRONIZATION', kind: 'sync', fields };
  }
  if (type !== 130) return undefined;
  const graph = object(event['graphTrace']) ?? object(event['graph']) ?? event;
  const fields = { ...common, graph: integer(graph['graphId']), graph_exec: integer(graph['graphExecId']) };
  return { table: 'CUPTI_ACTIVITY_KIND_GRAPH_TRACE', kind: 'graph', fields };
}

function nvtx(event: JsonObject | undefined, texts: TextNumbers, type: number): Recognised {
  if (event === undefined) return undefined;
  const domain = event['DomainId'];
  const end = integer(event['EndTimestamp']);
  const fields = {
    start_ns: time(event['Timestamp']) ?? 0n,
    end_ns: end,
    type: NVTX_TYPES.indexOf(NVTX_TYPE_NUMBERS.get(type) ?? 'other'),
    ...threadOf(event['GlobalTid']),
    end_tid: threadNumber(id(event['EndGlobalTid'])),
    domain: integer(domain) ?? 0n,
    range_id: integer(event['RangeId']),
    category: integer(event['Category']),
    text_id: texts.own(event['Text']) ?? texts.indexed(event['TextId']),
  };
  return { table: 'NVTX_EVENTS', kind: 'nvtx', fields };
}

/**
 * Records of device memory: no public file has any, so their spelling is not known for sure. The names are compared
 * without case, with those of the SQL columns; a record without an address or a size is not recognised.
 */
function memoryEvent(event: JsonObject | undefined, texts: TextNumbers): Recognised {
  const get = looseFields(event);
  const address = integer(get('address', 'deviceaddress'));
  const bytes = integer(get('bytes', 'sizebytes', 'size'));
  if (event === undefined || address === null || bytes === null) return undefined;
  const fields = {
    start_ns: integer(get('startns', 'start', 'timestamp', 'time')) ?? 0n,
    ...ownerOf(get),
    operation: label(get('memoryoperationtype', 'operationtype', 'operation'), MEMORY_OPERATIONS, 'other') ?? 0,
    kind: label(get('memkind', 'memorykind', 'kind'), MEMORY_KINDS, 'unknown') ?? MEMORY_KINDS.indexOf('unknown'),
    address,
    bytes,
    pc: integer(get('pc')),
    name_id: texts.own(get('name')),
    pool_address: integer(get('localmemorypooladdress')),
    pool_bytes: integer(get('localmemorypoolsize')),
    pool_used_bytes: integer(get('localmemorypoolutilizedsize')),
  };
  return { table: 'CUDA_GPU_MEMORY_USAGE_EVENTS', kind: 'memory', fields };
}

function poolEvent(event: JsonObject | undefined): Recognised {
  const get = looseFields(event);
  const address = integer(get('address'));
  if (event === undefined || address === null) return undefined;
  const owner = ownerOf(get);
  const fields = {
    start_ns: integer(get('startns', 'start', 'timestamp', 'time')) ?? 0n,
    pid: owner.pid,
    device: owner.device,
    correlation: owner.correlation,
    operation: label(get('operationtype', 'memorypooloperationtype', 'operation'), POOL_OPERATIONS, 'other') ?? 0,
    pool_type: label(get('pooltype', 'memorypooltype'), POOL_TYPES, 'other') ?? 0,
    address,
    threshold_bytes: integer(get('localmemorypoolreleasethreshold')),
    pool_bytes: integer(get('localmemorypoolsize')),
    pool_used_bytes: integer(get('localmemorypoolutilizedsize')),
  };
  return { table: 'CUDA_GPU_MEMORY_POOL_EVENTS', kind: 'pool', fields };
}

type Get = (...names: readonly string[]) => JsonValue | undefined;

function ownerOf(get: Get) {
  return {
    pid: processNumber(id(get('globalpid'))),
    device: integer(get('deviceid')) ?? 0n,
    context: integer(get('contextid')) ?? 0n,
    stream: integer(get('streamid')),
    correlation: integer(get('correlationid')) ?? 0n,
  };
}

/** Fields of an object and of the objects in it, by lower-case name; the outer one wins. */
function looseFields(event: JsonObject | undefined): Get {
  const fields = new Map<string, JsonValue>();
  const add = (from: JsonObject, depth: number): void => {
    for (const [name, value] of Object.entries(from)) {
      const inner = object(value);
      if (inner !== undefined && depth < 3) add(inner, depth + 1);
      else if (value !== undefined && !fields.has(name.toLowerCase())) fields.set(name.toLowerCase(), value);
    }
  };
  if (event !== undefined) add(event, 0);
  return (...names) => {
    for (const name of names) if (fields.has(name)) return fields.get(name);
    return undefined;
  };
}

function field(record: JsonObject, ...names: readonly string[]): JsonObject | undefined {
  for (const name of names) {
    const inner = object(record[name]);
    if (inner !== undefined) return inner;
  }
  return anyObject(record);
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

function threadOf(value: JsonValue | undefined) {
  return { pid: processNumber(id(value)), tid: threadNumber(id(value)) };
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
