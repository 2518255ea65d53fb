/**
 * Tables of schema 3.28.1 (Nsight Systems 2026.4): columns in the exporter's order, without its comments. Of the tables that hold nothing here the
 * exporter writes none.
 */

const ENUMERATION = 'id ! key, name text, label text';

/** `!`: NOT NULL; `key`: part of the primary key. Integers where nothing else is said. */
const COLUMNS = {
  StringIds: 'id ! key, value text !',
  TARGET_INFO_SYSTEM_ENV: 'globalVid, devStateName text !, name text !, nameEnum !, value text !',
  TARGET_INFO_SESSION_START_TIME: 'utcEpochNs, utcTime text, localTime text, systemClockNs, sessionStartCntVctNs',
  ANALYSIS_DETAILS: 'globalVid !, duration !, startTime !, stopTime !',
  DIAGNOSTIC_EVENT: 'timestamp !, timestampType !, source !, severity !, text text !, globalPid',
  CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: `start !, end !, deviceId !, contextId !, greenContextId, streamId !, correlationId, globalPid, deprecatedSyncType,
    syncType !, eventId !, eventSyncId`,
  CUPTI_ACTIVITY_KIND_MEMSET: `start !, end !, deviceId !, contextId !, greenContextId, streamId !, correlationId, globalPid, value !, bytes !,
    graphNodeId, memKind`,
  CUPTI_ACTIVITY_KIND_MEMCPY: `start !, end !, deviceId !, contextId !, greenContextId, streamId !, correlationId, globalPid, bytes !, copyKind !,
    deprecatedSrcId, srcKind, dstKind, srcDeviceId, srcContextId, dstDeviceId, dstContextId, migrationCause, graphNodeId,
    virtualAddress, copyCount`,
  CUPTI_ACTIVITY_KIND_KERNEL: `start !, end !, deviceId !, contextId !, greenContextId, streamId !, correlationId, globalPid, demangledName !,
    shortName !, mangledName, launchType, cacheConfig, registersPerThread !, gridX !, gridY !, gridZ !, blockX !,
    blockY !, blockZ !, staticSharedMemory !, dynamicSharedMemory !, localMemoryPerThread !, localMemoryTotal !,
    gridId !, sharedMemoryExecuted, graphNodeId, sharedMemoryLimitConfig, qmdBulkReleaseDone, qmdPreexitDone,
    qmdLastCtaDone, graphId, clusterX, clusterY, clusterZ, clusterSchedulingPolicy, maxPotentialClusterSize,
    maxActiveClusters, sharedMemoryRequestedPercentage, tensorSizeMinusOneElements text !`,
  PROCESSES: 'globalPid, pid, name text',
  CUPTI_ACTIVITY_KIND_RUNTIME:
    'start !, end !, eventClass !, globalTid, correlationId, nameId !, returnValue !, callchainId',
  NVTX_EVENTS: `start !, end, eventType !, rangeId, category, color, text text, globalTid, endGlobalTid, textId, domainId,
    uint64Value, int64Value, doubleValue real, uint32Value, int32Value, floatValue real, jsonTextId, jsonText text,
    binaryData text`,
  CUDA_GPU_MEMORY_USAGE_EVENTS: `start !, globalPid !, deviceId !, contextId !, address !, pc !, bytes !, memKind !, memoryOperationType !, name text,
    correlationId, streamId, localMemoryPoolAddress, localMemoryPoolReleaseThreshold, localMemoryPoolSize,
    localMemoryPoolUtilizedSize, importedMemoryPoolAddress, importedMemoryPoolProcessId`,
  CUDA_CALLCHAINS: 'id ! key, symbol !, module !, unresolved, originalIP, stackDepth ! key',
  CUBLAS_EVENTS: 'start !, end !, eventClass !, globalTid, nameId !',
  ThreadNames: 'nameId !, priority, globalTid',
  TARGET_INFO_GPU: `vmId !, id !, name text, busLocation text, isDiscrete, l2CacheSize, totalMemory, memoryBandwidth, clockRate, smCount,
    pwGpuId, uuid text, luid, chipName text, cuDevice, ctxswDevPath text, ctrlDevPath text, revision, nodeMask,
    constantMemory, maxIPC, maxRegistersPerBlock, maxShmemPerBlock, maxShmemPerBlockOptin, maxShmemPerSm,
    maxRegistersPerSm, threadsPerWarp, asyncEngines, maxWarpsPerSm, maxBlocksPerSm, maxThreadsPerBlock, maxBlockDimX,
    maxBlockDimY, maxBlockDimZ, maxGridDimX, maxGridDimY, maxGridDimZ, computeMajor, computeMinor, smMajor, smMinor,
    numaNodeId`,
  TARGET_INFO_CUDA_DEVICE: 'gpuId, cudaId !, pid !, uuid text, numMultiprocessors',
  TARGET_INFO_CUDA_CONTEXT_INFO: `nullStreamId !, hwId !, vmId !, processId !, deviceId !, contextId !, parentContextId, isGreenContext,
    numMultiprocessors`,
  ENUM_NSYS_EVENT_TYPE: ENUMERATION,
  ENUM_CUDA_MEMCPY_OPER: ENUMERATION,
  ENUM_CUDA_MEM_KIND: ENUMERATION,
  ENUM_CUDA_DEV_MEM_EVENT_OPER: ENUMERATION,
  ENUM_CUPTI_SYNC_TYPE: ENUMERATION,
  ENUM_DIAGNOSTIC_SEVERITY_LEVEL: ENUMERATION,
  META_DATA_CAPTURE: 'name text !, value text',
  META_DATA_EXPORT: 'name text !, value text',
} as const;

export type NsysTable = keyof typeof COLUMNS;
/** In the order in which they are written. */
export const NSYS_TABLES = Object.keys(COLUMNS) as NsysTable[];

export type Cell = number | bigint | string | null;
export type Row = Readonly<Record<string, Cell>>;
export type NsysRows = Readonly<Partial<Record<NsysTable, readonly Row[]>>>;

interface Column {
  readonly name: string;
  readonly ddl: string;
  readonly isKey: boolean;
}

function columnsOf(table: NsysTable): Column[] {
  return COLUMNS[table].split(/,\s*/).map((text) => {
    const [name = '', ...rest] = text.split(' ');
    const type = rest.includes('text') ? 'TEXT' : rest.includes('real') ? 'REAL' : 'INTEGER';
    return { name, ddl: `${name} ${type}${rest.includes('!') ? ' NOT NULL' : ''}`, isKey: rest.includes('key') };
  });
}

const ROWS_PER_INSERT = 250;

/** What makes the database out of an empty one. */
export function nsysSql(contents: NsysRows): string {
  const tables = NSYS_TABLES.filter((table) => (contents[table] ?? []).length > 0);
  return `${['PRAGMA synchronous=OFF;', 'BEGIN;', ...tables.map(definition), ...tables.flatMap((table) => inserts(table, contents[table]!)), 'COMMIT;'].join('\n')}\n`;
}

function definition(table: NsysTable): string {
  const columns = columnsOf(table);
  const keys = columns.filter(({ isKey }) => isKey).map(({ name }) => name);
  // One integer alone is the rowid, if it is declared on the column.
  const lines = columns.map(({ ddl, isKey }) => `${ddl}${isKey && keys.length === 1 ? ' PRIMARY KEY' : ''}`);
  if (keys.length > 1) lines.push(`PRIMARY KEY (${keys.join(', ')})`);
  return `CREATE TABLE ${table} (\n    ${lines.join(',\n    ')}\n);`;
}

function inserts(table: NsysTable, rows: readonly Row[]): string[] {
  const names = columnsOf(table).map(({ name }) => name);
  const statements: string[] = [];
  for (let first = 0; first < rows.length; first += ROWS_PER_INSERT) {
    const values = rows.slice(first, first + ROWS_PER_INSERT).map((row) => {
      for (const key of Object.keys(row)) if (!names.includes(key)) throw new Error(`${table} has no column ${key}`);
      return `(${names.map((name) => literal(row[name])).join(',')})`;
    });
    statements.push(`INSERT INTO ${table} VALUES\n${values.join(',\n')};`);
  }
  return statements;
}

function literal(cell: Cell | undefined): string {
  if (cell === null || cell === undefined) return 'NULL';
  return typeof cell === 'string' ? `'${cell.replaceAll("'", "''")}'` : String(cell);
}
