/** Every byte of the device, in parts that add up exactly to a stated total, each with the source of its number. */
import { pushAll, sumOf } from '../../model/lists.js';
import type { Place } from '../../model/place.js';
import type { AccountingFrom, Part, Total } from '../../model/verdict.js';
import type { Store } from '../../store/store.js';
import { CAPACITY, type Figure, type OomFacts } from './facts.js';
import type { JobProcess } from './job-processes.js';

const placeOf = (figure: Figure | null | undefined): Place | null => figure?.source ?? null;

export interface Accounting {
  readonly total: Total | null;
  readonly parts: readonly Part[];
  readonly from: AccountingFrom | null;
}

const NOTHING: Accounting = { total: null, parts: [], from: null };

/**
 * With a message, the parts add up to the device's total as printed. Figures of the snapshot are exact and come first.
 * What the printed figures leave over is `rounding_of_message` if it is at most their rounding together; otherwise it
 * gets its own part. With a snapshot alone the total is unknown, and the parts add up to reserved + device free.
 * `state` are the parts of the reserve, if known: they distinguish more kinds of holes than the facts do.
 */
export function account(facts: OomFacts, state?: StateParts): Accounting {
  const inside = state === undefined ? insideParts(facts) : partsOfState(state, placeOf(facts.reserved), true);
  const { reserved, deviceFree, total } = facts;
  if (deviceFree === null || (reserved === null && facts.process === null)) return NOTHING;
  const allowedFree =
    facts.allowed === null ? deviceFree.bytes : Math.max(0, facts.allowed.bytes - (reserved?.bytes ?? 0));
  const usable = Math.min(deviceFree.bytes, allowedFree);
  const free: readonly Part[] = [
    { part: 'device_free', bytes: usable, place: deviceFree.source },
    { part: 'above_limit', bytes: deviceFree.bytes - usable, place: placeOf(facts.allowed) },
  ];
  const isTraced = facts.free !== null || state !== undefined;
  if (total === null) {
    if (reserved === null) return NOTHING;
    return {
      total: { kind: 'reserved_and_free', bytes: reserved.bytes + deviceFree.bytes, place: reserved.source },
      parts: nonZero([...inside, ...free]),
      from: isTraced ? 'snapshot' : 'log',
    };
  }
  const parts = [...inside];
  const figures: (Figure | null)[] = [total, deviceFree];
  let held = reserved?.bytes ?? 0;
  // Only figures of the sum: where the process is printed, its figure includes the reserve.
  if (reserved !== null && facts.process === null) figures.push(reserved);
  if (facts.process !== null) {
    figures.push(facts.process);
    parts.push({
      part: reserved === null ? 'this_process' : 'outside_pytorch_this_process',
      bytes: facts.process.bytes - held,
      place: facts.process.source,
      ...(reserved === null ? {} : { rest_of: 'process', ...driverShares(facts, facts.process.bytes - held) }),
    });
    held = facts.process.bytes;
  }
  for (const figure of facts.otherProcesses) {
    figures.push(figure);
    held += figure.bytes;
  }
  const otherBytes = sumOf(facts.otherProcesses.map(({ bytes }) => bytes));
  parts.push({
    part: 'other_processes',
    bytes: otherBytes,
    place: placeOf(facts.otherProcesses[0]),
    ...jobShares(facts.jobProcesses ?? [], otherBytes),
  });
  pushAll(parts, free);
  const precision = sumOf(figures.map((figure) => figure?.precisionBytes ?? 0));
  const left = total.bytes - held - deviceFree.bytes;
  parts.push(remainder(left, precision, facts, total));
  const isGiven = total.source === CAPACITY;
  return {
    total: { kind: isGiven ? 'total_given' : 'total_printed', bytes: total.bytes, place: total.source },
    parts: nonZero(parts),
    from: !isTraced ? 'log' : isGiven && facts.process === null ? 'snapshot' : 'joined',
  };
}

/**
 * Owners of the bytes outside PyTorch, where a profile of the driver names them; what it did not record keeps its own
 * part.
 */
function driverShares({ driver }: OomFacts, bytes: number): { readonly of?: readonly Part[] } {
  if (driver === null || driver === undefined) return {};
  const seen = sumOf(driver.outside.map((share) => share.bytes));
  // Of another moment, or of memory outside the device: it does not fit, so the bytes are not divided.
  if (seen === 0 || seen > bytes) return {};
  return {
    of: nonZero([
      ...driver.outside.map((share) => ({ part: `driver_${share.owner}`, bytes: share.bytes, place: driver.source })),
      { part: 'driver_not_seen', bytes: bytes - seen, place: null, rest_of: 'shares' },
    ]),
  };
}

/** Those that the log names, by their names. */
function jobShares(processes: readonly JobProcess[], all: number): { readonly of?: readonly Part[] } {
  const unnamed = all - sumOf(processes.map(({ bytes }) => bytes));
  if (processes.length === 0 || unnamed < 0) return {};
  return {
    of: nonZero([
      ...processes.map(({ pid, name, bytes, source }) => ({ part: `${name} (pid ${pid})`, bytes, place: source })),
      { part: 'unnamed_processes', bytes: unnamed, place: null, rest_of: 'shares' },
    ]),
  };
}

function remainder(bytes: number, precision: number, { process }: OomFacts, { source: place }: Figure): Part {
  const left = (part: string): Part => ({ part, bytes, place, rest_of: 'total' });
  if (Math.abs(bytes) <= precision) return left('rounding_of_message');
  if (bytes < 0) return left(place === CAPACITY ? 'more_than_given_capacity' : 'contradiction_in_message');
  return left(process === null ? 'outside_pytorch' : 'other_processes_or_driver');
}

/** The reserve by the coarser classes of the facts. */
function insideParts(facts: OomFacts): Part[] {
  const { reserved, allocated, free } = facts;
  if (reserved === null) return [];
  const place = reserved.source;
  if (allocated === null) return [{ part: 'reserved', bytes: reserved.bytes, place }];
  const pending = facts.pending?.bytes ?? 0;
  const privatePools = facts.privatePools?.bytes ?? 0;
  if (free === null) {
    const idle = facts.privatePoolFree?.bytes ?? 0;
    return [
      { part: 'allocated', bytes: allocated.bytes, place: allocated.source },
      { part: 'private_pools_free', bytes: idle, place: placeOf(facts.privatePoolFree) },
      {
        part: 'cached',
        bytes: reserved.bytes - allocated.bytes - idle,
        place,
        rest_of: 'reserved',
      },
    ];
  }
  const cached = free.usable.bytes + free.otherStream.bytes + free.otherClass.bytes;
  return [
    { part: 'allocated', bytes: reserved.bytes - privatePools - cached - pending, place },
    { part: 'pending_free', bytes: pending, place },
    { part: 'private_pools', bytes: privatePools, place },
    { part: 'cached_too_small', bytes: free.usable.bytes, place },
    { part: 'cached_other_stream', bytes: free.otherStream.bytes, place },
    { part: 'cached_other_size_class', bytes: free.otherClass.bytes, place },
  ];
}

/** Bytes by part of a reserve, as `account_at` and `oom_account` name them; parts of 0 bytes are left out. */
export type StateParts = ReadonlyMap<string, number>;

/** After an entry; −1 is before the first. */
export async function statePartsAt(store: Store, snapshotId: number, device: number, seq: number): Promise<StateParts> {
  const rows = await store.all('verdict.account_at', { snapshot_id: snapshotId, device, at_seq: seq });
  return new Map(rows.map(({ part, bytes }) => [part, bytes]));
}

/** In the order of screens. */
const CACHED_PARTS = [
  'cached_too_small',
  'cached_page_pinned',
  'cached_kept_for_larger',
  'cached_large_enough',
  'cached_other_stream',
  'cached_other_size_class',
  'cached_between_live_blocks',
  'cached_releasable',
  'cached_small_pool',
];

/**
 * Holes searched for the request, all too small for it: in segments that hold live blocks, and on pages of 20 MiB that
 * live blocks keep mapped.
 */
const TOO_SMALL = ['cached_too_small', 'cached_page_pinned'];

/**
 * The parts of a reserve. `place` is the entry of the divided state; `asked` is true if it was divided for a failed
 * request.
 */
export function partsOfState(state: StateParts, place: Place | null, asked: boolean): Part[] {
  const part = (name: string): Part => ({ part: name, bytes: state.get(name) ?? 0, place });
  const group = (name: string, names: readonly string[]): Part => {
    const of = nonZero(names.map(part));
    return { part: name, bytes: sumOf(of.map(({ bytes }) => bytes)), place, of };
  };
  const isDivided = asked && (state.get('cached_page_pinned') ?? 0) > 0;
  return nonZero([
    group('allocated', ['requested', 'rounding', 'request_not_recorded']),
    part('pending_free'),
    group('private_pools', ['private_pools_live', 'private_pools_free']),
    ...(isDivided
      ? [group('cached_too_small', TOO_SMALL), ...CACHED_PARTS.filter((name) => !TOO_SMALL.includes(name)).map(part)]
      : CACHED_PARTS.map(part)),
  ]);
}

/** Parts of 0 bytes are left out. */
function nonZero(parts: readonly Part[]): Part[] {
  return parts.filter((part) => part.bytes !== 0);
}
