/** Every byte of the device, in parts that add up exactly to a stated total. */
import type { AccountingPart } from '../../model/results.js';
import { CAPACITY_OPTION, type Figure, type OomFacts } from './facts.js';

export interface Accounting {
  readonly total: { readonly text: string; readonly bytes: number } | null;
  readonly parts: readonly AccountingPart[];
}

/**
 * With a message: to the device's total as printed. Figures of the snapshot are exact and come first; what the printed figures leave over
 * is `rounding_of_message` if it is no larger than their rounding together, else it gets a name of its own. With a snapshot alone the
 * total is not in the evidence, and the parts add up to reserved + device free.
 */
export function account(facts: OomFacts): Accounting {
  const inside = insideParts(facts);
  const { reserved, deviceFree, total } = facts;
  if (deviceFree === null || (reserved === null && facts.process === null)) return { total: null, parts: [] };
  const free: AccountingPart = { part: 'device_free', bytes: deviceFree.bytes };
  if (total === null) {
    if (reserved === null) return { total: null, parts: [] };
    return {
      total: {
        text: 'reserved + device free (device total not in the evidence)',
        bytes: reserved.bytes + deviceFree.bytes,
      },
      parts: nonZero([...inside, free]),
    };
  }
  const parts = [...inside];
  const figures: (Figure | null)[] = [total, deviceFree];
  let held = reserved?.bytes ?? 0;
  // Only what the sum is made of: where the process is printed, its reserve is a part of that figure.
  if (reserved !== null && facts.process === null) figures.push(reserved);
  if (facts.process !== null) {
    figures.push(facts.process);
    parts.push({
      part: reserved === null ? 'this_process' : 'outside_pytorch_this_process',
      bytes: facts.process.bytes - held,
    });
    held = facts.process.bytes;
  }
  for (const other of facts.otherProcesses) {
    figures.push(other);
    held += other.bytes;
  }
  const others = facts.otherProcesses.reduce((sum, figure) => sum + figure.bytes, 0);
  parts.push({ part: 'other_processes', bytes: others }, free);
  const precision = figures.reduce((sum, figure) => sum + (figure?.precisionBytes ?? 0), 0);
  const left = total.bytes - held - deviceFree.bytes;
  parts.push(remainder(left, precision, facts));
  const origin = total.source === CAPACITY_OPTION ? `as given by ${CAPACITY_OPTION}` : 'as printed in the message';
  return { total: { text: `device total, ${origin}`, bytes: total.bytes }, parts: nonZero(parts) };
}

function remainder(left: number, precision: number, facts: OomFacts): AccountingPart {
  if (Math.abs(left) <= precision) return { part: 'rounding_of_message', bytes: left };
  if (left < 0)
    return {
      part: facts.total?.source === CAPACITY_OPTION ? 'more_than_given_capacity' : 'contradiction_in_message',
      bytes: left,
    };
  if (facts.process === null) return { part: 'outside_pytorch', bytes: left };
  return { part: 'other_processes_or_driver', bytes: left };
}

function insideParts(facts: OomFacts): AccountingPart[] {
  const { reserved, allocated, free } = facts;
  if (reserved === null) return [];
  if (allocated === null) return [{ part: 'reserved', bytes: reserved.bytes }];
  const pending = facts.pending?.bytes ?? 0;
  const privatePools = facts.privatePools?.bytes ?? 0;
  if (free === null) {
    const idle = facts.privatePoolFree?.bytes ?? 0;
    return [
      { part: 'allocated', bytes: allocated.bytes },
      { part: 'private_pools_free', bytes: idle },
      { part: 'cached', bytes: reserved.bytes - allocated.bytes - idle },
    ];
  }
  const cached = free.usable.bytes + free.otherStream.bytes + free.otherClass.bytes;
  return [
    { part: 'allocated', bytes: reserved.bytes - privatePools - cached - pending },
    { part: 'pending_free', bytes: pending },
    { part: 'private_pools', bytes: privatePools },
    { part: 'cached_too_small', bytes: free.usable.bytes },
    { part: 'cached_other_stream', bytes: free.otherStream.bytes },
    { part: 'cached_other_size_class', bytes: free.otherClass.bytes },
  ];
}

/** Parts of 0 bytes say nothing. */
function nonZero(parts: readonly AccountingPart[]): AccountingPart[] {
  return parts.filter((part) => part.bytes !== 0);
}
