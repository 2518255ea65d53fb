/** Facts of one OOM, from the state at its entry in a snapshot, from a message, or from both joined. */

import { readProcesses, reservedOf } from '../../knowledge/oom-figures.js';
import { MIB } from '../../model/units.js';
import type { Message } from '../run/message.js';
import { CAPACITY, type Figure, type OomFacts } from './facts.js';
import type { TracedOom } from './traced-ooms.js';

/** Facts from a traced OOM, with what its message adds: the device's total, the process, others. */
export function factsOfTrace(
  oom: TracedOom,
  message: Message | undefined,
  capacityBytes: number | undefined,
): OomFacts {
  const exact = (bytes: number): Figure => ({ bytes, precisionBytes: 0, source: oom.source });
  const printed = message === undefined ? undefined : factsOfMessage(message, capacityBytes);
  return {
    rank: oom.rank,
    device: oom.device,
    request: exact(oom.requestedBytes),
    requestAtLeastBytes: oom.requestedBytes,
    segmentBytes: oom.segmentBytes,
    requestSite: oom.site,
    reserved: exact(oom.reservedBytes),
    allocated: exact(oom.allocatedBytes),
    pending: exact(oom.pendingBytes),
    freedByWait: exact(oom.freedByWaitBytes),
    deviceFree: oom.deviceFreeBytes === null ? (printed?.deviceFree ?? null) : exact(oom.deviceFreeBytes),
    total: printed?.total ?? capacityFigure(capacityBytes),
    process: printed?.process ?? null,
    otherProcesses: printed?.otherProcesses ?? [],
    allowed: printed?.allowed ?? null,
    privatePools: exact(oom.privateBytes),
    privatePoolFree: exact(oom.free.privatePool.bytes),
    oversizeSlack: exact(oom.oversizeSlackBytes),
    free: oom.free,
    allocator: {
      expandableSegments: oom.expandableSegments,
      maxSplitBytes: oom.maxSplitBytes,
      source: oom.source,
    },
    growth: null,
    walk: oom.walk,
    freedAfterOom: oom.freedAfterOom,
    roundingWaste: oom.roundingWasteBytes === null ? null : exact(oom.roundingWasteBytes),
    trace: oom.trace ?? null,
  };
}

function capacityFigure(capacityBytes: number | undefined): Figure | null {
  return capacityBytes === undefined ? null : { bytes: capacityBytes, precisionBytes: 0, source: CAPACITY };
}

/** Facts from a message alone. Everything it does not print is null. */
export function factsOfMessage(message: Message, capacityBytes: number | undefined): OomFacts {
  const figure = (printed: { bytes: number; precisionBytes: number } | null | undefined): Figure | null =>
    printed === null || printed === undefined
      ? null
      : { bytes: printed.bytes, precisionBytes: printed.precisionBytes, source: message.place };
  const { bytes } = message;
  const processes = readProcesses(message);
  const request = figure(bytes.requested);
  const idle = bytes.privatePool;
  const allocated = bytes.allocated;
  return {
    rank: message.rank,
    device: message.device,
    request,
    requestAtLeastBytes: request === null ? 0 : smallestRequest(request),
    segmentBytes: request?.bytes ?? null,
    requestSite: null,
    reserved: figure(reservedOf(message)),
    // Since torch 2.4 the printed "allocated" contains the free blocks of private pools.
    allocated: figure(
      allocated === undefined || idle === undefined
        ? allocated
        : { bytes: allocated.bytes - idle.bytes, precisionBytes: allocated.precisionBytes + idle.precisionBytes },
    ),
    pending: null,
    freedByWait: null,
    deviceFree: figure(bytes.free),
    total: figure(bytes.total) ?? capacityFigure(capacityBytes),
    process: figure(processes.self),
    otherProcesses: processes.others === null ? [] : [{ ...processes.others, source: message.place }],
    allowed: figure(bytes.allowed),
    privatePools: null,
    privatePoolFree: figure(idle),
    oversizeSlack: null,
    free: null,
    allocator: null,
    growth: null,
    walk: null,
    freedAfterOom: false,
  };
}

/**
 * A message prints the segment torch wanted, not the request: 2 MiB for up to 1 MiB, 20 MiB for 1 to 10 MiB; others are
 * rounded up to 2 MiB.
 */
function smallestRequest(printed: Figure): number {
  if (printed.bytes <= 2 * MIB) return 512;
  if (Math.abs(printed.bytes - 20 * MIB) <= printed.precisionBytes) return MIB + 512;
  return Math.max(0, printed.bytes - printed.precisionBytes - 2 * MIB + 512);
}

/**
 * Whether a message can be the text of a traced OOM: the same device where both give one, and the printed segment is
 * that of the traced request.
 */
export function describesSame(oom: TracedOom, message: Message): boolean {
  if (message.rank !== null && oom.rank !== null && message.rank !== oom.rank) return false;
  if (message.device !== null && message.device !== oom.device) return false;
  const printed = message.bytes.requested;
  if (printed === undefined) return false;
  return Math.abs(printed.bytes - oom.segmentBytes) <= printed.precisionBytes + 1;
}
