/** Every byte of the device, in parts that add up exactly to a stated total, each with the source of its number. */
import { placeText } from '../../model/place.js';
import {
  type AccountingFrom,
  type AccountingPart,
  type AccountingTotal,
  BY_SUBTRACTION,
} from '../../model/results/common.js';
import type { Store } from '../../store/store.js';
import { CAPACITY, type Figure, type OomFacts } from './facts.js';

const textOf = (figure: Figure | null | undefined): string => (figure == null ? '' : placeText(figure.source));

export interface Accounting {
  readonly total: AccountingTotal | null;
  readonly parts: readonly AccountingPart[];
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
  const inside = state === undefined ? insideParts(facts) : partsOfState(state, textOf(facts.reserved), true);
  const { reserved, deviceFree, total } = facts;
  if (deviceFree === null || (reserved === null && facts.process === null)) return NOTHING;
  const free: AccountingPart = { part: 'device_free', bytes: deviceFree.bytes, source: textOf(deviceFree) };
  const isTraced = facts.free !== null || state !== undefined;
  if (total === null) {
    if (reserved === null) return NOTHING;
    return {
      total: {
        text: 'reserved + device free (device total not in the evidence)',
        bytes: reserved.bytes + deviceFree.bytes,
        source: textOf(reserved),
      },
      parts: nonZero([...inside, free]),
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
      source:
        reserved === null
          ? textOf(facts.process)
          : `${BY_SUBTRACTION}: the process (${textOf(facts.process)}) − reserved`,
      ...(reserved === null ? {} : driverShares(facts, facts.process.bytes - held)),
    });
    held = facts.process.bytes;
  }
  for (const figure of facts.otherProcesses) {
    figures.push(figure);
    held += figure.bytes;
  }
  const otherBytes = facts.otherProcesses.reduce((sum, figure) => sum + figure.bytes, 0);
  parts.push({ part: 'other_processes', bytes: otherBytes, source: textOf(facts.otherProcesses[0]) }, free);
  const precision = figures.reduce((sum, figure) => sum + (figure?.precisionBytes ?? 0), 0);
  const left = total.bytes - held - deviceFree.bytes;
  parts.push(remainder(left, precision, facts));
  const isGiven = total.source === CAPACITY;
  const origin = isGiven ? `as given by ${placeText(CAPACITY)}` : 'as printed in the message';
  return {
    total: { text: `device total, ${origin}`, bytes: total.bytes, source: textOf(total) },
    parts: nonZero(parts),
    from: !isTraced ? 'log' : isGiven && facts.process === null ? 'snapshot' : 'joined',
  };
}

/**
 * Owners of the bytes outside PyTorch, where a profile of the driver names them; what it did not record keeps its own
 * part.
 */
function driverShares({ driver }: OomFacts, bytes: number): { readonly of?: readonly AccountingPart[] } {
  if (driver === null || driver === undefined) return {};
  const seen = driver.outside.reduce((sum, share) => sum + share.bytes, 0);
  // Of another moment, or of memory outside the device: it does not fit, so the bytes are not divided.
  if (seen === 0 || seen > bytes) return {};
  const source = placeText(driver.source);
  return {
    of: nonZero([
      ...driver.outside.map((share) => ({ part: `driver_${share.owner}`, bytes: share.bytes, source })),
      { part: 'driver_not_seen', bytes: bytes - seen, source: BY_SUBTRACTION },
    ]),
  };
}

function remainder(bytes: number, precision: number, facts: OomFacts): AccountingPart {
  const source = `${BY_SUBTRACTION} from the total (${textOf(facts.total)})`;
  if (Math.abs(bytes) <= precision) return { part: 'rounding_of_message', bytes, source };
  if (bytes < 0)
    return {
      part: facts.total?.source === CAPACITY ? 'more_than_given_capacity' : 'contradiction_in_message',
      bytes,
      source,
    };
  if (facts.process === null) return { part: 'outside_pytorch', bytes, source };
  return { part: 'other_processes_or_driver', bytes, source };
}

/** The reserve by the coarser classes of the facts. */
function insideParts(facts: OomFacts): AccountingPart[] {
  const { reserved, allocated, free } = facts;
  if (reserved === null) return [];
  const source = textOf(reserved);
  if (allocated === null) return [{ part: 'reserved', bytes: reserved.bytes, source }];
  const pending = facts.pending?.bytes ?? 0;
  const privatePools = facts.privatePools?.bytes ?? 0;
  if (free === null) {
    const idle = facts.privatePoolFree?.bytes ?? 0;
    return [
      { part: 'allocated', bytes: allocated.bytes, source: textOf(allocated) },
      { part: 'private_pools_free', bytes: idle, source: textOf(facts.privatePoolFree) },
      {
        part: 'cached',
        bytes: reserved.bytes - allocated.bytes - idle,
        source: `${BY_SUBTRACTION}: reserved (${source}) − allocated`,
      },
    ];
  }
  const cached = free.usable.bytes + free.otherStream.bytes + free.otherClass.bytes;
  return [
    { part: 'allocated', bytes: reserved.bytes - privatePools - cached - pending, source },
    { part: 'pending_free', bytes: pending, source },
    { part: 'private_pools', bytes: privatePools, source },
    { part: 'cached_too_small', bytes: free.usable.bytes, source },
    { part: 'cached_other_stream', bytes: free.otherStream.bytes, source },
    { part: 'cached_other_size_class', bytes: free.otherClass.bytes, source },
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
 * The parts of a reserve. `source` is the entry of the divided state; `asked` is true if it was divided for a failed
 * request.
 */
export function partsOfState(state: StateParts, source: string, asked: boolean): AccountingPart[] {
  const part = (name: string): AccountingPart => ({ part: name, bytes: state.get(name) ?? 0, source });
  const group = (name: string, names: readonly string[]): AccountingPart => {
    const of = nonZero(names.map(part));
    return { part: name, bytes: of.reduce((sum, { bytes }) => sum + bytes, 0), source, of };
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
function nonZero(parts: readonly AccountingPart[]): AccountingPart[] {
  return parts.filter((part) => part.bytes !== 0);
}
