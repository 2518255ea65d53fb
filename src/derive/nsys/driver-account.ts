/** The driver's memory of each process and device, by owner: at the peak, when an allocation failed, and at the end. */
import { groupBy } from '../../model/group-by.js';
import type {
  DriverOwner,
  NsysAllocationGroup,
  NsysDriverAccount,
  NsysMomentShares,
  NsysOwnerShare,
} from '../../model/results/nsys.js';
import type { Store } from '../../store/store.js';
import { type DriverAllocation, isLiveAt, ON_DEVICE } from './driver-allocation.js';
import { matchProcess, readMatchedSnapshots } from './match-process.js';
import { NO_RULE, type OwnerFacts, ownerOf } from './owner-rules.js';

/** Most groups of one device that are listed; the shares include the rest. */
const MOST_GROUPS = 200;

interface Owned {
  readonly allocation: DriverAllocation;
  readonly owner: DriverOwner;
  readonly rule: string;
}

export interface AccountSources {
  readonly sourceId: number;
  /** UTC of time 0, µs. */
  readonly clockOffsetUs: number | null;
  /** Of the last failed call for memory, by process. */
  readonly oomNs: ReadonlyMap<number, number>;
  readonly endNs: number;
  /** The second step begins; null without steps. */
  readonly steadyNs: number | null;
  /** Known ranks of processes. */
  readonly ranks: ReadonlyMap<number, number>;
  /** Calls that map memory page by page, by process. */
  readonly vmmCalls: ReadonlyMap<number, number>;
}

/** Every allocation with its owner, and the accounts made of them. */
export interface DriverAccounts {
  readonly accounts: readonly NsysDriverAccount[];
  /** Processes whose rank is known from the addresses of a snapshot. */
  readonly ranksFound: ReadonlyMap<number, number>;
}

export async function driverAccounts(
  store: Store,
  runId: number,
  allocations: readonly DriverAllocation[],
  about: AccountSources,
): Promise<DriverAccounts> {
  const snapshots = await readMatchedSnapshots(store, runId);
  const accounts: NsysDriverAccount[] = [];
  const ranksFound = new Map<number, number>();
  for (const [pid, ofProcess] of byNumber(allocations, ({ pid: process }) => process)) {
    const match = await matchProcess(store, snapshots, pid, ofProcess, about);
    if (match?.snapshot.rank !== null && match?.snapshot.rank !== undefined) ranksFound.set(pid, match.snapshot.rank);
    const owned = ofProcess.map((allocation, index): Owned => {
      const facts: OwnerFacts = {
        ...allocation,
        isTorchSegment: match?.result.matched.has(index) ?? false,
        hasSnapshot: match !== undefined && !match.result.unrecorded.has(index),
      };
      return { allocation, ...ownerOf(facts) };
    });
    for (const [device, ofDevice] of byNumber(owned, ({ allocation }) => allocation.device)) {
      const isOfSnapshot = match !== undefined && match.device === device;
      accounts.push({
        pid: pid < 0 ? null : pid,
        device: device < 0 ? null : device,
        rank: about.ranks.get(pid) ?? ranksFound.get(pid) ?? null,
        snapshot: isOfSnapshot ? match.snapshot.handle : null,
        alignment: isOfSnapshot ? match.result.alignment : null,
        torch_unseen_bytes: isOfSnapshot ? match.result.unseenBytes : null,
        vmm_calls: about.vmmCalls.get(pid) ?? 0,
        ...(await withPools(
          store,
          about.sourceId,
          { pid: pid < 0 ? null : pid, device: device < 0 ? null : device },
          describe(ofDevice, about.oomNs.get(pid) ?? null, about),
        )),
      });
    }
  }
  return { accounts, ranksFound };
}

function describe(
  owned: readonly Owned[],
  oomNs: number | null,
  { endNs, steadyNs }: AccountSources,
): Pick<NsysDriverAccount, 'moments' | 'groups'> {
  const onDevice = owned.filter(({ allocation }) => ON_DEVICE.has(allocation.kind));
  const peakNs = timeOfPeak(onDevice.map(({ allocation }) => allocation));
  const times = [
    ...(steadyNs === null ? [] : [{ moment: 'first step' as const, timeNs: steadyNs }]),
    { moment: 'peak' as const, timeNs: peakNs },
    ...(oomNs === null ? [] : [{ moment: 'oom' as const, timeNs: oomNs }]),
    { moment: 'end' as const, timeNs: endNs },
  ];
  return {
    moments: times.map(({ moment, timeNs }) => sharesAt(onDevice, moment, timeNs)),
    groups: groupsOf(owned, peakNs, oomNs, endNs),
  };
}

/**
 * Adds what the pools of cudaMallocAsync kept beyond what was in use: held from the driver, but not an allocation of
 * the program.
 */
async function withPools(
  store: Store,
  sourceId: number,
  owner: { readonly pid: number | null; readonly device: number | null },
  described: ReturnType<typeof describe>,
): Promise<ReturnType<typeof describe>> {
  const moments: NsysMomentShares[] = [];
  for (const moment of described.moments) {
    const kept = await store.one('nsys.pools_at', { source_id: sourceId, time_ns: moment.time_ns, ...owner });
    if (kept === undefined || kept.bytes === 0) {
      moments.push(moment);
      continue;
    }
    const shares = [...moment.shares, { owner: 'async_pool_unused' as const, bytes: kept.bytes, blocks: kept.pools }];
    moments.push({
      ...moment,
      total_bytes: moment.total_bytes + kept.bytes,
      shares: shares.sort((a, b) => b.bytes - a.bytes),
    });
  }
  return { ...described, moments };
}

/** When most was held. Memory held since before the capture counts until it is freed. */
function timeOfPeak(allocations: readonly DriverAllocation[]): number {
  const changes = allocations.flatMap(({ origin, allocNs, freeNs, bytes }) =>
    origin === 'allocation_lost'
      ? []
      : [
          ...(allocNs === null ? [{ timeNs: Number.NEGATIVE_INFINITY, bytes }] : [{ timeNs: allocNs, bytes }]),
          ...(freeNs === null ? [] : [{ timeNs: freeNs, bytes: -bytes }]),
        ],
  );
  changes.sort((a, b) => a.timeNs - b.timeNs || a.bytes - b.bytes);
  let total = 0;
  let most = -1;
  let peakNs = 0;
  for (const { timeNs, bytes } of changes) {
    total += bytes;
    if (total <= most) continue;
    most = total;
    peakNs = timeNs;
  }
  const first = changes.find(({ timeNs }) => timeNs !== Number.NEGATIVE_INFINITY)?.timeNs ?? 0;
  return peakNs === Number.NEGATIVE_INFINITY ? Math.min(0, first - 1) : peakNs;
}

function sharesAt(owned: readonly Owned[], moment: NsysMomentShares['moment'], timeNs: number): NsysMomentShares {
  const shares = new Map<DriverOwner, NsysOwnerShare>();
  let total = 0;
  for (const { allocation, owner } of owned) {
    if (!isLiveAt(allocation, timeNs)) continue;
    const known = shares.get(owner);
    shares.set(owner, { owner, bytes: (known?.bytes ?? 0) + allocation.bytes, blocks: (known?.blocks ?? 0) + 1 });
    total += allocation.bytes;
  }
  const sorted = [...shares.values()].sort((a, b) => b.bytes - a.bytes);
  return { moment, time_ns: timeNs, total_bytes: total, shares: sorted, ranges: [] };
}

type Mutable<Row> = { -readonly [Field in keyof Row]: Row[Field] };

function groupsOf(owned: readonly Owned[], peakNs: number, oomNs: number | null, endNs: number): NsysAllocationGroup[] {
  const groups = new Map<string, Mutable<NsysAllocationGroup>>();
  for (const { allocation, owner, rule } of owned) {
    const ranges = allocation.ranges.map((text) => text.replace(/\d+/g, '#'));
    const key = [owner, rule, allocation.api, allocation.thread, ...ranges].join('\0');
    let known = groups.get(key);
    if (known === undefined) {
      known = {
        owner,
        rule: rule === NO_RULE ? 'none' : rule,
        api: allocation.api,
        ranges,
        thread: allocation.thread,
        allocations: 0,
        allocated_bytes: 0,
        live_at_peak_bytes: 0,
        live_at_oom_bytes: oomNs === null ? null : 0,
        live_at_end_bytes: 0,
      };
      groups.set(key, known);
    }
    known.allocations += 1;
    if (allocation.origin === 'traced') known.allocated_bytes += allocation.bytes;
    const isDevice = ON_DEVICE.has(allocation.kind) || owner === 'pinned_host';
    if (isDevice && isLiveAt(allocation, peakNs)) known.live_at_peak_bytes += allocation.bytes;
    if (isDevice && oomNs !== null && isLiveAt(allocation, oomNs)) known.live_at_oom_bytes! += allocation.bytes;
    if (isDevice && isLiveAt(allocation, endNs)) known.live_at_end_bytes += allocation.bytes;
  }
  return [...groups.values()]
    .sort((a, b) => b.live_at_peak_bytes - a.live_at_peak_bytes || b.allocated_bytes - a.allocated_bytes)
    .slice(0, MOST_GROUPS);
}

/** Ascending; −1 for rows without a number. */
function byNumber<Row>(rows: readonly Row[], numberOf: (row: Row) => number | null): [number, Row[]][] {
  return [...groupBy(rows, (row) => numberOf(row) ?? -1)].sort((a, b) => a[0] - b[0]);
}
