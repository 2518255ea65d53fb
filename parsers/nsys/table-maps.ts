/**
 * The tables of an export that the questions need, and where each of their columns goes. Names of tables and columns
 * are the same in SQLite and Parquet exports; columns come and go between releases (FORMAT.md), so every one may be
 * missing.
 */
import {
  COPY_KINDS,
  COPY_OPERATIONS,
  MEMORY_KINDS,
  MEMORY_OPERATIONS,
  type NsysKind,
  NVTX_TYPES,
  type NvtxType,
  POOL_OPERATIONS,
  POOL_TYPES,
  TRACED_LIBRARIES,
  type TracedLibrary,
} from '../../src/model/nsys-rows.js';
import { always, type ColumnMap, codes, labelled, narrow, processOf, product, threadOf, wide } from './column-maps.js';

export interface TableMap {
  readonly table: string;
  readonly kind: NsysKind;
  /** Columns of the layout, by name; `source_id` and `seq` are filled by the reader, and so is what `special` names. */
  readonly columns: Readonly<Record<string, ColumnMap>>;
  /** Columns without which a row is useless: an export whose table lacks one is another format. */
  readonly needs: readonly string[];
}

const text = (name: string): ColumnMap => wide(name, { isText: true });
const neededText = (name: string): ColumnMap => wide(name, { isText: true, orZero: true });
const needed = (name: string): ColumnMap => wide(name, { orZero: true });

const SPAN = { start_ns: needed('start'), end_ns: needed('end') };
const ON_DEVICE = {
  pid: processOf('globalPid'),
  device: narrow('deviceId'),
  context: narrow('contextId'),
  stream: narrow('streamId'),
  correlation: wide('correlationId'),
};
const ON_THREAD = { pid: processOf('globalTid'), tid: threadOf('globalTid') };

/** ENUM_NSYS_EVENT_TYPE. */
export const NVTX_TYPE_NUMBERS: ReadonlyMap<number, NvtxType> = new Map([
  [33, 'category'],
  [34, 'mark'],
  [39, 'thread_name'],
  [59, 'push_pop'],
  [60, 'start_end'],
  [75, 'domain'],
  [76, 'domain_end'],
]);
const NVTX_CODES = new Map([...NVTX_TYPE_NUMBERS].map(([number, type]) => [number, NVTX_TYPES.indexOf(type)]));

function library(table: string, name: TracedLibrary): TableMap {
  const columns = { ...SPAN, library: always(TRACED_LIBRARIES.indexOf(name)), ...ON_THREAD, name_id: text('nameId') };
  return { table, kind: 'library', columns, needs: ['start', 'end'] };
}

export const TABLE_MAPS: readonly TableMap[] = [
  {
    table: 'CUDA_GPU_MEMORY_USAGE_EVENTS',
    kind: 'memory',
    needs: ['start', 'address', 'bytes', 'memoryOperationType'],
    columns: {
      start_ns: needed('start'),
      ...ON_DEVICE,
      operation: labelled('memoryOperationType', MEMORY_OPERATIONS, 'other', 'other'),
      // Exports before 2022 lack memKind: all their events concern device memory.
      kind: labelled('memKind', MEMORY_KINDS, 'unknown', 'device'),
      address: wide('address'),
      bytes: needed('bytes'),
      pc: wide('pc'),
      // A text of the row itself; see `RowText`.
      name_id: { from: [], fill: () => undefined },
      pool_address: wide('localMemoryPoolAddress'),
      pool_bytes: wide('localMemoryPoolSize'),
      pool_used_bytes: wide('localMemoryPoolUtilizedSize'),
    },
  },
  {
    table: 'CUDA_GPU_MEMORY_POOL_EVENTS',
    kind: 'pool',
    needs: ['start', 'operationType'],
    columns: {
      start_ns: needed('start'),
      pid: processOf('globalPid'),
      device: narrow('deviceId'),
      correlation: wide('correlationId'),
      operation: labelled('operationType', POOL_OPERATIONS, 'other', 'other'),
      pool_type: labelled('poolType', POOL_TYPES, 'other', 'other'),
      address: wide('address'),
      threshold_bytes: wide('localMemoryPoolReleaseThreshold'),
      pool_bytes: wide('localMemoryPoolSize'),
      pool_used_bytes: wide('localMemoryPoolUtilizedSize'),
    },
  },
  {
    table: 'CUPTI_ACTIVITY_KIND_RUNTIME',
    kind: 'api',
    needs: ['start', 'end', 'nameId'],
    columns: {
      ...SPAN,
      ...ON_THREAD,
      correlation: wide('correlationId'),
      name_id: neededText('nameId'),
      return_value: narrow('returnValue'),
      event_class: narrow('eventClass'),
      callchain: wide('callchainId'),
    },
  },
  {
    table: 'CUPTI_ACTIVITY_KIND_KERNEL',
    kind: 'kernel',
    needs: ['start', 'end', 'shortName'],
    columns: {
      ...SPAN,
      ...ON_DEVICE,
      name_id: neededText('shortName'),
      demangled_id: text('demangledName'),
      blocks: product('gridX', 'gridY', 'gridZ'),
      threads: product('blockX', 'blockY', 'blockZ'),
      registers: narrow('registersPerThread'),
      local_memory_bytes: wide('localMemoryTotal'),
      graph_node: wide('graphNodeId'),
    },
  },
  {
    table: 'CUPTI_ACTIVITY_KIND_MEMCPY',
    kind: 'copy',
    needs: ['start', 'end', 'bytes'],
    columns: {
      ...SPAN,
      ...ON_DEVICE,
      operation: always(COPY_OPERATIONS.indexOf('memcpy')),
      copy_kind: labelled('copyKind', COPY_KINDS, 'other'),
      bytes: needed('bytes'),
      source_kind: labelled('srcKind', MEMORY_KINDS, 'unknown'),
      target_kind: labelled('dstKind', MEMORY_KINDS, 'unknown'),
      source_device: narrow('srcDeviceId'),
      target_device: narrow('dstDeviceId'),
      migration_cause: narrow('migrationCause'),
      graph_node: wide('graphNodeId'),
    },
  },
  {
    table: 'CUPTI_ACTIVITY_KIND_MEMSET',
    kind: 'copy',
    needs: ['start', 'end', 'bytes'],
    columns: {
      ...SPAN,
      ...ON_DEVICE,
      operation: always(COPY_OPERATIONS.indexOf('memset')),
      copy_kind: always(255),
      bytes: needed('bytes'),
      source_kind: always(255),
      target_kind: labelled('memKind', MEMORY_KINDS, 'unknown'),
      source_device: always(-1),
      target_device: always(-1),
      migration_cause: always(-1),
      graph_node: wide('graphNodeId'),
    },
  },
  {
    table: 'CUPTI_ACTIVITY_KIND_SYNCHRONIZATION',
    kind: 'sync',
    needs: ['start', 'end'],
    columns: { ...SPAN, ...ON_DEVICE, sync_type: narrow('syncType') },
  },
  {
    table: 'CUPTI_ACTIVITY_KIND_GRAPH_TRACE',
    kind: 'graph',
    needs: ['start', 'end'],
    columns: { ...SPAN, ...ON_DEVICE, graph: wide('graphId'), graph_exec: wide('graphExecId') },
  },
  {
    table: 'NVTX_EVENTS',
    kind: 'nvtx',
    needs: ['start', 'eventType'],
    columns: {
      start_ns: needed('start'),
      end_ns: wide('end'),
      type: codes('eventType', NVTX_CODES, NVTX_TYPES.indexOf('other')),
      ...ON_THREAD,
      end_tid: threadOf('endGlobalTid'),
      domain: wide('domainId'),
      range_id: wide('rangeId'),
      category: narrow('category'),
      text_id: text('textId'),
    },
  },
  {
    table: 'CUDA_CALLCHAINS',
    kind: 'frame',
    needs: ['id', 'stackDepth'],
    columns: {
      callchain: needed('id'),
      depth: narrow('stackDepth'),
      symbol_id: text('symbol'),
      module_id: text('module'),
    },
  },
  library('CUBLAS_EVENTS', 'cublas'),
  library('CUDNN_EVENTS', 'cudnn'),
  library('CUSOLVER_EVENTS', 'cusolver'),
  library('CUSPARSE_EVENTS', 'cusparse'),
  library('CUFFT_EVENTS', 'cufft'),
  library('MPI_OTHER_EVENTS', 'mpi'),
  library('MPI_COLLECTIVES_EVENTS', 'mpi'),
  library('NVSHMEM_EVENTS', 'nvshmem'),
  library('UCP_EVENTS', 'ucx'),
];

/** Texts inside the row itself. If the cell is NULL, the value of the column map is kept. */
export const ROW_TEXTS: Readonly<Record<string, { readonly from: string; readonly to: string }>> = {
  NVTX_EVENTS: { from: 'text', to: 'text_id' },
  CUDA_GPU_MEMORY_USAGE_EVENTS: { from: 'name', to: 'name_id' },
};
