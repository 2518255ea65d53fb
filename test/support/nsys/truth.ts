/**
 * What is true of planted rows, found by walking through them with a list of open allocations; nothing of it comes from
 * SQL or from code under test.
 */
import type { MemoryKind } from '../../../src/model/nsys-rows.js';
import type { SimulatedProcess } from './process.js';
import { type FailedRequest, type MemoryEvent, NVTX, type Owner, type Recording } from './rows.js';

type Numbers<Name extends string> = Readonly<Record<Name, number>>;

/**
 * `end: 'replaced'`: its free is missing, and `endNs` is when the address was given out again. `api`: the call as
 * StringIds has it. `nvtxPath`: of the calling thread, outermost first. `module`: library in the call chain (only
 * schema 3.28 has chains).
 */
export type PlantedAllocation = Numbers<'rank'> &
  Pick<MemoryEvent, 'pid' | 'device' | 'kind' | 'address' | 'bytes' | 'startNs' | 'correlation'> &
  MemoryEvent['label'] & {
    readonly endNs: number | null;
    readonly end: 'freed' | 'replaced' | 'live';
  };

/** A free of what was allocated before the capture: its bytes belong to the starting footprint. */
export type PreCaptureFree = Pick<MemoryEvent, 'pid' | 'device' | 'kind' | 'address' | 'bytes'> &
  Numbers<'freeNs'> & { readonly owner: Owner };

export type BytesByOwner = Readonly<Partial<Record<Owner, number>>>;

/** Order of the operations: rows come process by process, and each process's calls are numbered. */
export function inOrder(events: readonly MemoryEvent[]): MemoryEvent[] {
  return [...events].sort((a, b) => a.startNs - b.startNs || a.correlation - b.correlation);
}

export function walkAllocations(events: readonly MemoryEvent[], rankOf: (pid: number) => number) {
  const allocations: { -readonly [Field in keyof PlantedAllocation]: PlantedAllocation[Field] }[] = [];
  const preCaptureFrees: PreCaptureFree[] = [];
  let open: typeof allocations = [];
  for (const event of inOrder(events)) {
    const { pid, device, kind, address, bytes, startNs, correlation, isFree, label } = event;
    const old = open.find((block) => block.pid === pid && block.address === address);
    if (old !== undefined) {
      open = open.filter((block) => block !== old);
      old.endNs = startNs;
      old.end = isFree ? 'freed' : 'replaced';
    }
    const what = { pid, device, kind, address, bytes };
    if (!isFree) {
      const block = { rank: rankOf(pid), ...what, startNs, correlation, ...label, endNs: null, end: 'live' as const };
      open.push(block);
      allocations.push(block);
    } else if (old === undefined) {
      preCaptureFrees.push({ ...what, freeNs: startNs, owner: label.owner });
    }
  }
  return { allocations: allocations as readonly PlantedAllocation[], preCaptureFrees };
}
export type Walk = ReturnType<typeof walkAllocations>;

/** Bytes live just after `ns`, or at the start (before anything) for null. */
function liveAt(walk: Walk, pid: number, kind: MemoryKind, ns: number | null): Map<Owner, number> {
  const at = ns ?? Number.NEGATIVE_INFINITY;
  const live = [
    ...walk.allocations.filter(({ startNs, endNs }) => startNs <= at && (endNs === null || endNs > at)),
    ...walk.preCaptureFrees.filter(({ freeNs }) => freeNs > at),
  ];
  const sums = new Map<Owner, number>();
  for (const { owner, bytes } of live.filter((one) => one.pid === pid && one.kind === kind))
    sums.set(owner, (sums.get(owner) ?? 0) + bytes);
  return sums;
}

export function ownersAt(walk: Walk, pid: number, ns: number | null): BytesByOwner {
  return Object.fromEntries(liveAt(walk, pid, 'device', ns));
}

function footprint(walk: Walk, events: readonly MemoryEvent[], pid: number, device: number, kind: MemoryKind) {
  const mine = inOrder(events).filter((event) => event.pid === pid && event.device === device && event.kind === kind);
  const sum = (ns: number | null): number => [...liveAt(walk, pid, kind, ns).values()].reduce((a, b) => a + b, 0);
  const startBytes = sum(null);
  let peakBytes = startBytes;
  let peakNs: number | null = null;
  for (const { startNs } of mine) {
    const now = sum(startNs);
    if (now <= peakBytes) continue;
    peakBytes = now;
    peakNs = startNs;
  }
  const frees = mine.filter(({ isFree }) => isFree).length;
  const endBytes = sum(Number.POSITIVE_INFINITY);
  return {
    ...{ pid, device, kind, startBytes, peakBytes, peakNs, endBytes, allocations: mine.length - frees, frees },
  };
}
export type Footprint = ReturnType<typeof footprint>;

/** Everything but the OOM, the snapshots and the row counts. Records by pid where nothing else has the pid. */
export function truthOf(
  recording: Recording,
  walk: Walk,
  processes: readonly SimulatedProcess[],
  oom: { pid: number; atNs: number },
) {
  const { memory } = recording;
  const footprints = processes.flatMap(({ plan: { pid, device } }) => {
    const kinds = new Set(memory.filter((event) => event.pid === pid).map(({ kind }) => kind));
    return [...kinds].map((kind) => footprint(walk, memory, pid, device, kind));
  });
  return {
    ...walk,
    footprints,
    /** Holders of the memory of kind `device`; `atOom` is null for processes that did not run out of memory. */
    deviceOwners: processes.map(({ plan: { pid, rank, device } }) => ({
      ...{ pid, rank, device, atEnd: ownersAt(walk, pid, Number.POSITIVE_INFINITY) },
      atPeak: ownersAt(walk, pid, footprints.find((one) => one.pid === pid && one.kind === 'device')!.peakNs),
      atOom: oom.pid === pid ? ownersAt(walk, pid, oom.atNs) : null,
    })),
    pools: processes.flatMap(({ plan: { pid, device } }) => poolTruth(recording, pid, device)),
    failedCalls: failedCalls(recording),
    steps: stepsOf(recording),
  };
}

function poolTruth({ pool, memory }: Recording, pid: number, device: number) {
  const events = [...pool, ...memory].filter((event) => event.pid === pid && event.pool !== null);
  const states = events.sort((a, b) => a.startNs - b.startNs).map((event) => event.pool!);
  const end = states.at(-1);
  if (end === undefined) return [];
  return [{ pid, device, address: end.address, peakBytes: Math.max(...states.map(({ bytes }) => bytes)), end }];
}

/** Calls for memory that returned 2; queries that returned 600 are not failures. */
function failedCalls({ failures, api: calls }: Recording) {
  const isSame = (a: FailedRequest) => (b: FailedRequest) => a.pid === b.pid && a.api === b.api;
  const firsts = failures.filter((one, i) => failures.findIndex(isSame(one)) === i);
  return firsts.map(({ pid, api, atNs }, i) => {
    const { returnValue } = calls.find((made) => made.pid === pid && made.startNs === atNs && made.name === api)!;
    const group = failures.filter(isSame(firsts[i]!));
    return { pid, api, returnValue, count: group.length, firstNs: Math.min(...group.map((one) => one.atNs)) };
  });
}

/** By pid. */
function stepsOf({ nvtx }: Recording) {
  const steps: Record<number, { index: number; startNs: number; endNs: number }[]> = {};
  for (const { pid, type, text, startNs, endNs } of nvtx) {
    const [, index] = /^iteration (\d+)$/.exec(text) ?? [];
    if (type === NVTX.pushPop && index !== undefined && endNs !== null)
      steps[pid] = [...(steps[pid] ?? []), { index: Number(index), startNs, endNs }];
  }
  return steps;
}
