/** What a report must find in a planted capture: worked out by walking over all of it for each question. */
import type { MemoryKind } from '../../../src/model/nsys-rows.js';
import type {
  DriverOwner,
  NsysBudget,
  NsysMemoryCall,
  NsysOwnerShare,
  NsysRangeWork,
  NsysStorm,
} from '../../../src/model/results/nsys.js';
import { COPY, NVTX, type Owner } from '../../support/nsys/rows.js';
import type { Scenario } from '../../support/nsys/scenario.js';
import type { Footprint, PlantedAllocation, PreCaptureFree } from '../../support/nsys/truth.js';

/** What the report at hand can tell owners by. */
export interface Evidence {
  readonly hasSnapshots: boolean;
  readonly hasCalls: boolean;
  readonly hasRanges: boolean;
  readonly hasChains: boolean;
  readonly hasLibraries: boolean;
  /** Whether a life that ended then can be in the snapshot's recording at all. Default: any. */
  readonly records?: (pid: number, endNs: number | null) => boolean;
}

const isRecorded = (has: Evidence, pid: number, endNs: number | null): boolean =>
  has.hasSnapshots && (has.records?.(pid, endNs) ?? true);

export const ALL_BUT_CHAINS: Evidence = {
  ...{ hasSnapshots: true, hasCalls: true, hasRanges: true, hasChains: false, hasLibraries: true },
};

const MIB = 2 ** 20;
/** Versions at the ends of the names of calls say nothing. */
export const plainApi = (api: string): string => api.replace(/_v\d+$/, '');
export const template = (text: string): string => text.replace(/\d+/g, '#');
const ON_DEVICE: readonly MemoryKind[] = ['device', 'array', 'managed', 'device_static', 'managed_static'];

/** The owner that an honest reader of this report can name. */
export function knowableOwner(block: PlantedAllocation, has: Evidence): DriverOwner {
  const { pid, owner, kind, nvtxPath, threadName, bytes, endNs } = block;
  const hasSnapshot = isRecorded(has, pid, endNs);
  const isSegmentSized = kind === 'device' && bytes % (2 * MIB) === 0 && (bytes === 2 * MIB || bytes >= 10 * MIB);
  const isPlain = !has.hasCalls || plainApi(block.api) === 'cudaMalloc';
  const unknown = !hasSnapshot && isSegmentSized && isPlain ? 'torch_unmatched' : 'other';
  const known = (isKnown: boolean, name: DriverOwner): DriverOwner => (isKnown ? name : unknown);
  const byChain = has.hasCalls && has.hasChains;
  const byLibrary = has.hasCalls && has.hasLibraries;
  switch (owner) {
    case 'torch':
      return known(hasSnapshot, 'torch');
    case 'graph':
      return known(has.hasCalls, 'graph');
    case 'cublas':
    case 'cudnn':
      return known(byChain || byLibrary, owner);
    case 'nccl': {
      const byRange = has.hasCalls && has.hasRanges && nvtxPath.some((text) => text.startsWith('nccl'));
      const byThread = has.hasCalls && (threadName ?? '').startsWith('NCCL');
      return known(byChain || byRange || byThread, 'nccl');
    }
    case 'other':
      return unknown;
    default:
      return OWNER_NAMES[owner];
  }
}

/** Of what was only freed nothing is known but its address, size and kind, and who freed it. */
export function knowableOwnerOfFree({ pid, owner, bytes, freeNs }: PreCaptureFree, has: Evidence): DriverOwner {
  const hasSnapshot = isRecorded(has, pid, freeNs);
  if (owner === 'torch' && hasSnapshot) return 'torch';
  if (owner === 'nccl' && has.hasCalls && has.hasChains) return 'nccl';
  return !hasSnapshot && bytes % (2 * MIB) === 0 && bytes >= 10 * MIB ? 'torch_unmatched' : 'other';
}

const isOpenAt = ({ startNs, endNs }: PlantedAllocation, ns: number): boolean =>
  startNs <= ns && (endNs === null || endNs > ns);

/** What lies on the device at a time, by owner, largest first; pools by what they hold. */
export function sharesAt({ truth, recording }: Scenario, pid: number, ns: number, has: Evidence): NsysOwnerShare[] {
  const shares = new Map<DriverOwner, { bytes: number; blocks: number }>();
  const add = (owner: DriverOwner, bytes: number): void => {
    const share = shares.get(owner) ?? { bytes: 0, blocks: 0 };
    shares.set(owner, { bytes: share.bytes + bytes, blocks: share.blocks + 1 });
  };
  for (const block of truth.allocations) {
    if (block.pid === pid && ON_DEVICE.includes(block.kind) && isOpenAt(block, ns))
      add(knowableOwner(block, has), block.bytes);
  }
  for (const free of truth.preCaptureFrees) {
    if (free.pid === pid && ON_DEVICE.includes(free.kind) && free.freeNs > ns)
      add(knowableOwnerOfFree(free, has), free.bytes);
  }
  const states = [...recording.pool, ...recording.memory]
    .filter((event) => event.pid === pid && event.pool !== null && event.startNs <= ns)
    .sort((a, b) => a.startNs - b.startNs);
  const pool = states.at(-1)?.pool;
  if (pool != null && pool.bytes > pool.usedBytes) add('async_pool_unused', pool.bytes - pool.usedBytes);
  return byBytes([...shares].map(([owner, share]) => ({ owner, ...share })));
}

export const byBytes = (shares: readonly NsysOwnerShare[]): NsysOwnerShare[] =>
  [...shares].sort((a, b) => b.bytes - a.bytes || (a.owner < b.owner ? -1 : 1));

/** Sums by owner, call, thread and ranges; the key is the four of them. `oom`: null where it did not run out. */
export type GroupSums = Readonly<Record<'allocations' | 'allocated' | 'peak' | 'end', number>> & { oom: number | null };

export function addGroup(
  groups: Record<string, GroupSums>,
  key: readonly [owner: string, api: string | null, thread: string | null, ranges: readonly string[]],
  { allocations, allocated, peak, oom, end }: GroupSums,
): void {
  const name = JSON.stringify(key);
  const known = groups[name] ?? { allocations: 0, allocated: 0, peak: 0, oom: 0, end: 0 };
  groups[name] = {
    ...{ allocations: known.allocations + allocations, allocated: known.allocated + allocated },
    ...{ peak: known.peak + peak, end: known.end + end },
    oom: oom === null || known.oom === null ? null : known.oom + oom,
  };
}

export function groupsOf({ truth, durationNs }: Scenario, pid: number, peakNs: number, has: Evidence) {
  const groups: Record<string, GroupSums> = {};
  const oomNs = truth.oom.pid === pid && has.hasCalls ? truth.oom.atNs : null;
  const add = (key: Parameters<typeof addGroup>[1], allocated: number, live: (ns: number) => number): void => {
    const moments = { peak: live(peakNs), oom: oomNs === null ? null : live(oomNs), end: live(durationNs) };
    addGroup(groups, key, { allocations: 1, allocated, ...moments });
  };
  for (const block of truth.allocations.filter((one) => one.pid === pid)) {
    const path = has.hasCalls && has.hasRanges ? block.nvtxPath.map(template) : [];
    const [api, thread] = has.hasCalls ? [plainApi(block.api), block.threadName] : [null, null];
    const live = (ns: number): number => (isOpenAt(block, ns) ? block.bytes : 0);
    add([knowableOwner(block, has), api, thread, path], block.bytes, live);
  }
  for (const free of truth.preCaptureFrees.filter((one) => one.pid === pid))
    add([knowableOwnerOfFree(free, has), null, null, []], 0, (ns) => (free.freeNs > ns ? free.bytes : 0));
  return groups;
}

type Span = Readonly<Record<'startNs' | 'endNs', number>>;

/**
 * Length of the time in [from, to) at which `isWanted` holds of what is under way, looked at between any two
 * neighbouring moments.
 */
function timeWhere(
  classes: Readonly<Record<string, readonly Span[]>>,
  from: number,
  to: number,
  isWanted: (under: (name: string) => boolean) => boolean,
): number {
  const spans = Object.values(classes).flat();
  const moments = [...new Set([from, to, ...spans.flatMap(({ startNs, endNs }) => [startNs, endNs])])]
    .filter((ns) => ns >= from && ns <= to)
    .sort((a, b) => a - b);
  let time = 0;
  for (const [i, moment] of moments.slice(0, -1).entries()) {
    const under = (name: string): boolean =>
      (classes[name] ?? []).some(({ startNs, endNs }) => startNs <= moment && endNs > moment);
    if (isWanted(under)) time += moments[i + 1]! - moment;
  }
  return time;
}

/** Work of one process by what it is. */
export function workOf({ recording }: Scenario, pid: number, hasGraphs = true): Record<string, readonly Span[]> {
  const { kernels, graphs, copies, memsets } = recording;
  const own = <Row extends { readonly pid: number }>(rows: readonly Row[]): Row[] =>
    rows.filter((row) => row.pid === pid);
  const isOfNccl = ({ shortName }: (typeof kernels)[number]): boolean => shortName.startsWith('nccl');
  return {
    compute: [...own(kernels).filter((kernel) => !isOfNccl(kernel)), ...(hasGraphs ? own(graphs) : [])],
    communication: own(kernels).filter(isOfNccl),
    copy: [...own(copies), ...own(memsets)],
  };
}

export function budgetOf(work: Readonly<Record<string, readonly Span[]>>, from: number, to: number): NsysBudget {
  const where = (isWanted: (under: (name: string) => boolean) => boolean): number =>
    timeWhere(work, from, to, isWanted);
  return {
    window_ns: to - from,
    compute_ns: where((under) => under('compute')),
    exposed_communication_ns: where((under) => under('communication') && !under('compute')),
    exposed_copy_ns: where((under) => under('copy') && !under('compute') && !under('communication')),
    idle_ns: where((under) => !under('compute') && !under('communication') && !under('copy')),
    communication_ns: where((under) => under('communication')),
    copy_ns: where((under) => under('copy')),
  };
}

const MEMORY_CALL =
  /^(?:cudaMalloc|cudaFree|cudaHostAlloc|cudaMemPool|cuMemAlloc|cuMemFree|cuMemCreate|cuMemMap|cuMemUnmap|cuMemRelease)/;

export function memoryCallsOf({ recording, truth }: Scenario): NsysMemoryCall[] {
  const actual: NsysMemoryCall[] = [];
  const calls = recording.api.filter(({ name }) => MEMORY_CALL.test(name));
  const [pace] = Object.values(truth.steps);
  for (const key of new Set(calls.map(({ pid, name }) => JSON.stringify([pid, plainApi(name)])))) {
    const [pid, api] = JSON.parse(key) as [number, string];
    const mine = calls.filter((call) => call.pid === pid && plainApi(call.name) === api);
    const inSteps = mine.filter(({ startNs }) => startNs >= pace![1]!.startNs && startNs < pace!.at(-1)!.endNs);
    actual.push({
      ...{ api, pid, count: mine.length, failed: mine.filter(({ returnValue }) => returnValue === 2).length },
      busy_ns: timeWhere({ mine }, 0, Number.MAX_SAFE_INTEGER, (under) => under('mine')),
      longest_ns: Math.max(...mine.map(({ startNs, endNs }) => endNs - startNs)),
      per_step: inSteps.length / (pace!.length - 1),
    });
  }
  return actual;
}

/** Work whose call was made inside a push/pop range with this in its text, on the range's thread. */
export function rangeWorkOf({ recording }: Scenario, text: string): NsysRangeWork[] {
  const ranges = recording.nvtx.filter(
    (range) => range.type === NVTX.pushPop && range.text.toLowerCase().includes(text),
  );
  const calls = recording.api.filter(({ pid, tid, startNs }) =>
    ranges
      .filter((range) => range.pid === pid && range.tid === tid && range.startNs <= startNs)
      .some(({ endNs }) => endNs === null || endNs > startNs),
  );
  const isInside = (work: { readonly pid: number; readonly correlation: number }): boolean =>
    calls.some(({ pid, correlation }) => pid === work.pid && correlation === work.correlation);
  const sums = new Map<string, NsysRangeWork>();
  const add = (work: NsysRangeWork['work'], name: string, { startNs, endNs }: Span, added: number | null): void => {
    const { count, total_ns, bytes } = sums.get(`${work} ${name}`) ?? { count: 0, total_ns: 0, bytes: 0 };
    const sum = { count: count + 1, total_ns: total_ns + endNs - startNs };
    sums.set(`${work} ${name}`, { work, name, ...sum, bytes: added === null ? null : (bytes ?? 0) + added });
  };
  for (const kernel of recording.kernels.filter(isInside)) add('kernel', kernel.shortName, kernel, null);
  for (const copy of recording.copies.filter(isInside)) add('memcpy', COPY_NAMES[copy.copyKind]!, copy, copy.bytes);
  for (const set of recording.memsets.filter(isInside)) add('memset', 'device', set, set.bytes);
  return [...sums.values()];
}

/** The most held in each of equal slices of the time between the first and the last event of the whole report. */
export function curveOf({ recording, truth }: Scenario, { pid, kind }: Footprint, slices: number): number[] {
  const times = recording.memory.map(({ startNs }) => startNs);
  const first = Math.min(...times);
  const length = Math.max(...times) - first + 1;
  const own = <Row extends { readonly pid: number; readonly kind: string }>(rows: readonly Row[]): Row[] =>
    rows.filter((row) => row.pid === pid && row.kind === kind);
  const [mine, blocks, frees] = [own(recording.memory), own(truth.allocations), own(truth.preCaptureFrees)];
  const held = (ns: number): number =>
    [...blocks.filter((block) => isOpenAt(block, ns)), ...frees.filter(({ freeNs }) => freeNs > ns)].reduce(
      (sum, { bytes }) => sum + bytes,
      0,
    );
  return Array.from({ length: slices }, (_, slice) => {
    const isInSlice = (ns: number): boolean => Math.floor(((ns - first) * slices) / length) === slice;
    const inside = mine.map(({ startNs }) => startNs).filter(isInSlice);
    const begin = first + Math.ceil((slice * length) / slices);
    return Math.max(held(begin - 1), ...inside.map(held));
  });
}

const STORM_GAP_NS = 5_000_000;
const STORM_CALLS = 8;
const SECOND_NS = 1_000_000_000;

/** Eight frees of one thread or more with no allocation between them and at most 5 ms apart. */
export function stormsOf({ recording }: Scenario): NsysStorm[] {
  const actual: NsysStorm[] = [];
  const isFree = (name: string): boolean => /^(?:cudaFree|cuMemFree|cuMemUnmap|cuMemRelease)$/.test(plainApi(name));
  const isAsk = (name: string): boolean => /^(?:cudaMalloc|cuMemAlloc|cuMemCreate)/.test(name);
  const calls = recording.api.filter(({ name }) => isFree(name) || isAsk(name)).sort((a, b) => a.startNs - b.startNs);
  for (const tid of new Set(calls.map((call) => call.tid))) {
    const mine = calls.filter((call) => call.tid === tid);
    let burst: typeof mine = [];
    const finish = (): void => {
      const [first] = burst;
      if (first !== undefined && burst.length >= STORM_CALLS) {
        const since = first.startNs - SECOND_NS;
        const isCause = ({ returnValue, startNs }: typeof first): boolean =>
          returnValue === 2 && startNs >= since && startNs <= first.startNs;
        actual.push({
          ...{ pid: first.pid, tid, start_ns: first.startNs, end_ns: burst.at(-1)!.endNs, calls: burst.length },
          busy_ns: burst.reduce((sum, { startNs, endNs }) => sum + endNs - startNs, 0),
          is_retry: mine.some(isCause),
        });
      }
      burst = [];
    };
    for (const call of mine) {
      const last = burst.at(-1);
      if (!isFree(call.name) || (last !== undefined && call.startNs - last.endNs > STORM_GAP_NS)) finish();
      if (isFree(call.name)) burst.push(call);
    }
    finish();
  }
  return actual.sort((a, b) => a.start_ns - b.start_ns);
}

/** Directions of copies by their numbers. */
export const COPY_NAMES: Readonly<Record<number, string>> = {
  [COPY.hostToDevice]: 'host_to_device',
  [COPY.deviceToHost]: 'device_to_host',
  [COPY.deviceToDevice]: 'device_to_device',
  [COPY.peerToPeer]: 'peer_to_peer',
};

/** The owners of the planted truth by the names that a report has for them. */
export const OWNER_NAMES: Readonly<Record<Owner, DriverOwner>> = {
  ...{ torch: 'torch', nccl: 'nccl', cublas: 'cublas', cudnn: 'cudnn', pinned: 'pinned_host', managed: 'managed' },
  ...{ static: 'static', async_pool: 'async_pool', graph: 'graph', other: 'other' },
};
