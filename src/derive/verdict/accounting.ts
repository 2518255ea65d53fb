/** Every byte of the device, in parts that add up exactly to a stated total, each with the source of its number. */
import { pushAll, sumOf } from '../../model/lists.js';
import type { Place } from '../../model/place.js';
import type { AccountingFrom, Part, Total } from '../../model/verdict.js';
import type { Store } from '../../store/store.js';
import type { StateKey } from '../trace/state-at.js';
import { CAPACITY, type Figure, type OomFacts } from './facts.js';
import type { JobProcess } from './job-processes.js';

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
 */
export function account(facts: OomFacts): Accounting {
  const { place, printedPlace, total, jobProcesses, device_free_bytes: deviceFree } = facts;
  const { reserved_bytes: reserved, process_bytes: process, allowed_bytes: allowed, other_processes_bytes } = facts;
  if (deviceFree === null || (reserved === null && process === null)) return NOTHING;
  const inside = facts.parts === null ? insideParts(facts) : partsOfState(facts.parts, place, true);
  const usable = allowed === null ? deviceFree : Math.min(deviceFree, Math.max(0, allowed - (reserved ?? 0)));
  const free: readonly Part[] = [
    { part: 'device_free', bytes: usable, place: facts.freePlace },
    { part: 'above_limit', bytes: deviceFree - usable, place: printedPlace },
  ];
  const isTraced = facts.snapshot_id !== null;
  if (total === null) {
    if (reserved === null) return NOTHING;
    return {
      total: { kind: 'reserved_and_free', bytes: reserved + deviceFree, place },
      parts: nonZero([...inside, ...free]),
      from: isTraced ? 'snapshot' : 'log',
    };
  }
  const parts = [...inside];
  if (process !== null) {
    const bytes = process - (reserved ?? 0);
    parts.push(
      reserved === null
        ? { part: 'this_process', bytes, place: printedPlace }
        : {
            part: 'outside_pytorch_this_process',
            bytes,
            place: printedPlace,
            rest_of: 'process',
            ...driverShares(facts, bytes),
          },
    );
  }
  const otherBytes = other_processes_bytes ?? 0;
  parts.push({
    part: 'other_processes',
    bytes: otherBytes,
    place: printedPlace,
    ...jobShares(jobProcesses, otherBytes),
  });
  pushAll(parts, free);
  // Only figures of the sum: where the process is printed, its figure includes the reserve.
  const precisions = [
    facts.total_precision_bytes,
    facts.device_free_precision_bytes,
    process === null ? facts.reserved_precision_bytes : facts.process_precision_bytes,
    otherBytes === 0 ? 0 : facts.other_processes_precision_bytes,
  ];
  const left = total.bytes - (process ?? reserved ?? 0) - otherBytes - deviceFree;
  parts.push(remainder(left, sumOf(precisions.map((bytes) => bytes ?? 0)), process, total));
  const isGiven = total.source === CAPACITY;
  return {
    total: { kind: isGiven ? 'total_given' : 'total_printed', bytes: total.bytes, place: total.source },
    parts: nonZero(parts),
    from: !isTraced ? 'log' : isGiven && process === null ? 'snapshot' : 'joined',
  };
}

/**
 * Owners of the bytes outside PyTorch, where a profile of the driver names them; what it did not record keeps its own
 * part.
 */
function driverShares({ driver }: OomFacts, bytes: number): { readonly of?: readonly Part[] } {
  if (driver === null) return {};
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
      ...processes.map(({ pid, name, bytes, display_path: path, line }) => ({
        part: `${name} (pid ${pid})`,
        bytes,
        place: { path, line },
      })),
      { part: 'unnamed_processes', bytes: unnamed, place: null, rest_of: 'shares' },
    ]),
  };
}

function remainder(bytes: number, precision: number, process: number | null, { source: place }: Figure): Part {
  const left = (part: string): Part => ({ part, bytes, place, rest_of: 'total' });
  if (Math.abs(bytes) <= precision) return left('rounding_of_message');
  if (bytes < 0) return left(place === CAPACITY ? 'more_than_given_capacity' : 'contradiction_in_message');
  return left(process === null ? 'outside_pytorch' : 'other_processes_or_driver');
}

/** The reserve as a message prints it. */
function insideParts({ place, reserved_bytes: reserved, allocated_bytes: allocated, ...facts }: OomFacts): Part[] {
  if (reserved === null) return [];
  if (allocated === null) return [{ part: 'reserved', bytes: reserved, place }];
  const idle = facts.private_free_bytes ?? 0;
  return [
    { part: 'allocated', bytes: allocated, place },
    { part: 'private_pools_free', bytes: idle, place },
    { part: 'cached', bytes: reserved - allocated - idle, place, rest_of: 'reserved' },
  ];
}

/** Bytes by part of a reserve, as `account_at` and `oom_account` name them; parts of 0 bytes are left out. */
export type StateParts = ReadonlyMap<string, number>;

/** Of each state. */
export async function statePartsAt(store: Store, states: readonly StateKey[]): Promise<StateParts[]> {
  const accounts = await store.allOf('verdict.account_at', states);
  return accounts.map((rows) => new Map(rows.map(({ part, bytes }) => [part, bytes])));
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
