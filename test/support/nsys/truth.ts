/** What is true of planted rows, found by walking through them with a list of open allocations; nothing of it comes from SQL or from code under test. */
import type { MemoryKind } from '../../../src/model/nsys-rows.js';
import type { SimulatedProcess } from './process.js';
import { type MemoryEvent, NVTX, type Owner, type PoolState, type Recording } from './rows.js';

export interface PlantedAllocation {
  readonly pid: number;
  readonly rank: number;
  readonly device: number;
  readonly kind: MemoryKind;
  readonly address: number;
  readonly bytes: number;
  readonly startNs: number;
  readonly endNs: number | null;
  /** `replaced`: its free is missing, and `endNs` is when the address was given out again. */
  readonly end: 'freed' | 'replaced' | 'live';
  readonly owner: Owner;
  /** Name of the call as StringIds has it. */
  readonly api: string;
  /** Of the calling thread, outermost first. */
  readonly nvtxPath: readonly string[];
  readonly tid: number;
  readonly threadName: string | null;
  readonly correlation: number;
  /** Library in the call chain; null where none was recorded. Only schema 3.28 has call chains. */
  readonly module: string | null;
  /** A part of a cudaMallocAsync pool, not memory of its own. */
  readonly isInPool: boolean;
}

/** A free of what was allocated before the capture: its bytes belong to the starting footprint. */
export interface PreCaptureFree {
  readonly pid: number;
  readonly device: number;
  readonly kind: MemoryKind;
  readonly address: number;
  readonly bytes: number;
  readonly freeNs: number;
  readonly owner: Owner;
}

/** Live bytes of one kind on one device of one process. Pre-capture frees count from the beginning on. */
export interface Footprint {
  readonly pid: number;
  readonly device: number;
  readonly kind: MemoryKind;
  readonly startBytes: number;
  readonly peakBytes: number;
  /** Null: the start is the peak. */
  readonly peakNs: number | null;
  readonly endBytes: number;
  readonly allocations: number;
  readonly frees: number;
  /** The same without parts of pools: what plain cudaMalloc gave. */
  readonly plainPeakBytes: number;
  readonly plainEndBytes: number;
}

export type BytesByOwner = Readonly<Partial<Record<Owner, number>>>;

/** Who holds the memory of kind `device`. */
export interface DeviceOwners {
  readonly pid: number;
  readonly rank: number;
  readonly device: number;
  readonly atPeak: BytesByOwner;
  readonly atEnd: BytesByOwner;
  /** When torch ran out of memory; null where it did not. */
  readonly atOom: BytesByOwner | null;
}

export interface FailedCalls {
  readonly pid: number;
  readonly api: string;
  readonly returnValue: number;
  readonly count: number;
  readonly firstNs: number;
}

export interface PlantedStep {
  readonly index: number;
  readonly startNs: number;
  readonly endNs: number;
}

export interface PoolTruth {
  readonly pid: number;
  readonly device: number;
  readonly address: number;
  readonly peakBytes: number;
  readonly end: PoolState;
}

export interface KernelTotal {
  readonly pid: number;
  readonly name: string;
  readonly count: number;
  readonly totalNs: number;
}

export interface CopyTotal {
  readonly pid: number;
  readonly copyKind: number;
  readonly sourceKind: MemoryKind;
  readonly count: number;
  readonly bytes: number;
}

/** What torch's message says, and what lies beside it. */
export interface PlantedOom {
  readonly pid: number;
  readonly rank: number;
  readonly device: number;
  /** When the last cudaMalloc failed, on the report's clock. */
  readonly atNs: number;
  readonly requestedBytes: number;
  /** What cudaMalloc was asked for and the message prints. */
  readonly segmentBytes: number;
  readonly deviceTotalBytes: number;
  readonly deviceFreeBytes: number;
  /** This process, as NVML sees it. */
  readonly processBytes: number;
  readonly reservedBytes: number;
  readonly allocatedBytes: number;
  /** Live memory of kind `device`, pools by what they hold. */
  readonly driverLiveBytes: number;
  /** Of that, not torch's. */
  readonly nonTorchBytes: number;
  readonly staticBytes: number;
  /** Context and modules, which no event shows: `processBytes` = this + `driverLiveBytes` + `staticBytes`. */
  readonly invisibleBytes: number;
}

export interface TorchTruth {
  readonly pid: number;
  readonly rank: number;
  readonly device: number;
  /** When the snapshot was taken, on the report's clock. */
  readonly atNs: number;
  readonly reservedBytes: number;
  readonly allocatedBytes: number;
  readonly traceEntries: number;
  /** Its segments; `startNs` of the driver's allocation, and whether the trace has its segment_alloc. */
  readonly segments: readonly {
    readonly address: number;
    readonly bytes: number;
    readonly startNs: number;
    readonly isInTrace: boolean;
  }[];
}

export interface Truth {
  readonly allocations: readonly PlantedAllocation[];
  readonly preCaptureFrees: readonly PreCaptureFree[];
  readonly footprints: readonly Footprint[];
  readonly deviceOwners: readonly DeviceOwners[];
  readonly pools: readonly PoolTruth[];
  /** Calls for memory that returned 2; queries that returned 600 are no failures. */
  readonly failedCalls: readonly FailedCalls[];
  /** By pid. */
  readonly steps: Readonly<Record<number, readonly PlantedStep[]>>;
  readonly kernels: readonly KernelTotal[];
  readonly copies: readonly CopyTotal[];
  /** By pid: ns in which at least one kernel ran. */
  readonly kernelBusyNs: Readonly<Record<number, number>>;
  readonly oom: PlantedOom;
  readonly torch: readonly TorchTruth[];
  /** Rows of the tables of events and of what was captured, where the schema has the table. */
  readonly rows: Readonly<Record<string, number>>;
}

interface OpenBlock {
  readonly event: MemoryEvent;
  readonly place: number;
}

type Finished = Pick<PlantedAllocation, 'endNs' | 'end'>;

interface Walk {
  readonly allocations: PlantedAllocation[];
  readonly preCaptureFrees: PreCaptureFree[];
}

/** Order of what happened: rows lie process by process, and each process's calls are numbered. */
export function inOrder(events: readonly MemoryEvent[]): MemoryEvent[] {
  return [...events].sort((a, b) => a.startNs - b.startNs || a.correlation - b.correlation);
}

export function walkAllocations(events: readonly MemoryEvent[], rankOf: (pid: number) => number): Walk {
  const started: MemoryEvent[] = [];
  const finished: Finished[] = [];
  const preCaptureFrees: PreCaptureFree[] = [];
  let open: OpenBlock[] = [];
  for (const event of inOrder(events)) {
    const { pid, device, kind, address, bytes } = event;
    const old = open.find(({ event: other }) => other.pid === pid && other.address === address);
    if (old !== undefined) {
      open = open.filter((block) => block !== old);
      finished[old.place] = { endNs: event.startNs, end: event.isFree ? 'freed' : 'replaced' };
    }
    if (!event.isFree) {
      open.push({ event, place: started.length });
      started.push(event);
      finished.push({ endNs: null, end: 'live' });
    } else if (old === undefined) {
      preCaptureFrees.push({ pid, device, kind, address, bytes, freeNs: event.startNs, owner: event.label.owner });
    }
  }
  const allocations = started.map((event, i): PlantedAllocation => {
    const { pid, device, kind, address, bytes, startNs, correlation, pool } = event;
    const isInPool = pool !== null;
    return {
      pid,
      rank: rankOf(pid),
      device,
      kind,
      address,
      bytes,
      startNs,
      correlation,
      isInPool,
      ...event.label,
      ...finished[i]!,
    };
  });
  return { allocations, preCaptureFrees };
}

/** Bytes live just after `ns`, or at the start (before anything) for null. */
function liveAt(walk: Walk, pid: number, kind: MemoryKind, ns: number | null): Map<Owner, number> {
  const sums = new Map<Owner, number>();
  const add = (owner: Owner, bytes: number): void => {
    sums.set(owner, (sums.get(owner) ?? 0) + bytes);
  };
  for (const block of walk.allocations) {
    if (block.pid !== pid || block.kind !== kind || ns === null || block.startNs > ns) continue;
    if (block.endNs === null || block.endNs > ns) add(block.owner, block.bytes);
  }
  for (const free of walk.preCaptureFrees) {
    if (free.pid === pid && free.kind === kind && (ns === null || free.freeNs > ns)) add(free.owner, free.bytes);
  }
  return sums;
}

export function ownersAt(walk: Walk, pid: number, ns: number | null): BytesByOwner {
  return Object.fromEntries(liveAt(walk, pid, 'device', ns));
}

function footprint(walk: Walk, events: readonly MemoryEvent[], pid: number, device: number, kind: MemoryKind) {
  const mine = inOrder(events).filter((event) => event.pid === pid && event.device === device && event.kind === kind);
  const sum = (ns: number | null): number => [...liveAt(walk, pid, kind, ns).values()].reduce((a, b) => a + b, 0);
  const inPool = (ns: number): number => {
    const parts = walk.allocations.filter((block) => block.pid === pid && block.kind === kind && block.isInPool);
    const here = parts.filter(({ startNs, endNs }) => startNs <= ns && (endNs === null || endNs > ns));
    return here.reduce((bytes, block) => bytes + block.bytes, 0);
  };
  const startBytes = sum(null);
  let peakBytes = startBytes;
  let plainPeakBytes = startBytes;
  let peakNs: number | null = null;
  for (const { startNs } of mine) {
    const now = sum(startNs);
    if (now > peakBytes) {
      peakBytes = now;
      peakNs = startNs;
    }
    plainPeakBytes = Math.max(plainPeakBytes, now - inPool(startNs));
  }
  const endBytes = sum(Number.POSITIVE_INFINITY);
  const result: Footprint = {
    pid,
    device,
    kind,
    startBytes,
    peakBytes,
    peakNs,
    endBytes,
    allocations: mine.filter(({ isFree }) => !isFree).length,
    frees: mine.filter(({ isFree }) => isFree).length,
    plainPeakBytes,
    plainEndBytes: endBytes - inPool(Number.POSITIVE_INFINITY),
  };
  return result;
}

/** Everything but the rows of tables that only the writer knows. */
export function truthOf(
  recording: Recording,
  processes: readonly SimulatedProcess[],
  found: { readonly oom: PlantedOom; readonly torch: readonly TorchTruth[]; readonly rows: Truth['rows'] },
): Truth {
  const { memory } = recording;
  const rankOf = (pid: number): number => processes.find(({ plan }) => plan.pid === pid)!.plan.rank;
  const walk = walkAllocations(memory, rankOf);
  const footprints: Footprint[] = [];
  const deviceOwners: DeviceOwners[] = [];
  for (const { plan } of processes) {
    const { pid, rank, device } = plan;
    const kinds = new Set(memory.filter((event) => event.pid === pid).map(({ kind }) => kind));
    const here = [...kinds].map((kind) => footprint(walk, memory, pid, device, kind));
    footprints.push(...here);
    const peak = here.find(({ kind }) => kind === 'device')!;
    deviceOwners.push({
      pid,
      rank,
      device,
      atPeak: ownersAt(walk, pid, peak.peakNs),
      atEnd: ownersAt(walk, pid, Number.POSITIVE_INFINITY),
      atOom: found.oom.pid === pid ? ownersAt(walk, pid, found.oom.atNs) : null,
    });
  }
  return {
    ...walk,
    footprints,
    deviceOwners,
    pools: processes.flatMap(({ plan }) => poolTruth(recording, plan.pid, plan.device)),
    failedCalls: failedCalls(recording),
    steps: Object.fromEntries(processes.map(({ plan }) => [plan.pid, steps(recording, plan.pid)])),
    kernels: kernelTotals(recording),
    copies: copyTotals(recording),
    kernelBusyNs: Object.fromEntries(processes.map(({ plan }) => [plan.pid, busyNs(recording, plan.pid)])),
    ...found,
  };
}

function poolTruth({ pool, memory }: Recording, pid: number, device: number): PoolTruth[] {
  const states = [
    ...pool.filter((event) => event.pid === pid).map((event) => ({ at: event.startNs, state: event.pool })),
    ...memory.flatMap((event) =>
      event.pid === pid && event.pool !== null ? [{ at: event.startNs, state: event.pool }] : [],
    ),
  ].sort((a, b) => a.at - b.at);
  const last = states.at(-1);
  if (last === undefined) return [];
  const peakBytes = Math.max(...states.map(({ state }) => state.bytes));
  return [{ pid, device, address: last.state.address, peakBytes, end: last.state }];
}

function failedCalls({ failures, api }: Recording): FailedCalls[] {
  const groups = new Map<string, { -readonly [K in keyof FailedCalls]: FailedCalls[K] }>();
  for (const { pid, api: name, atNs } of failures) {
    const { returnValue } = api.find((made) => made.pid === pid && made.startNs === atNs && made.name === name)!;
    const key = `${pid} ${name}`;
    const group = groups.get(key) ?? { pid, api: name, returnValue, count: 0, firstNs: atNs };
    group.count += 1;
    group.firstNs = Math.min(group.firstNs, atNs);
    groups.set(key, group);
  }
  return [...groups.values()];
}

function steps({ nvtx }: Recording, pid: number): PlantedStep[] {
  return nvtx.flatMap(({ pid: owner, type, text, startNs, endNs }) => {
    const [, index] = /^iteration (\d+)$/.exec(text) ?? [];
    if (owner !== pid || type !== NVTX.pushPop || index === undefined || endNs === null) return [];
    return [{ index: Number(index), startNs, endNs }];
  });
}

function kernelTotals({ kernels }: Recording): KernelTotal[] {
  const totals = new Map<string, { -readonly [K in keyof KernelTotal]: KernelTotal[K] }>();
  for (const { pid, shortName, startNs, endNs } of kernels) {
    const key = `${pid} ${shortName}`;
    const total = totals.get(key) ?? { pid, name: shortName, count: 0, totalNs: 0 };
    total.count += 1;
    total.totalNs += endNs - startNs;
    totals.set(key, total);
  }
  return [...totals.values()];
}

function copyTotals({ copies }: Recording): CopyTotal[] {
  const totals = new Map<string, { -readonly [K in keyof CopyTotal]: CopyTotal[K] }>();
  for (const { pid, copyKind, sourceKind, bytes } of copies) {
    const key = `${pid} ${copyKind} ${sourceKind}`;
    const total = totals.get(key) ?? { pid, copyKind, sourceKind, count: 0, bytes: 0 };
    total.count += 1;
    total.bytes += bytes;
    totals.set(key, total);
  }
  return [...totals.values()];
}

/** Length of the union: kernels of several streams run at once. */
function busyNs({ kernels }: Recording, pid: number): number {
  let busy = 0;
  let reached = Number.NEGATIVE_INFINITY;
  for (const { startNs, endNs } of kernels
    .filter((kernel) => kernel.pid === pid)
    .sort((a, b) => a.startNs - b.startNs)) {
    if (endNs <= reached) continue;
    busy += endNs - Math.max(startNs, reached);
    reached = endNs;
  }
  return busy;
}
