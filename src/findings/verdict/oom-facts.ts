/** Facts of one OOM, from the state at its entry in a snapshot, from a message, or from both joined. */

import { allocationSize, isSmall, roundSize, roundUp } from '../../allocator/rounding.js';
import { type AllocatorSettings, MIN_BLOCK_BYTES } from '../../allocator/settings.js';
import { type AllocatorState, freeHoles, stateTotals } from '../../allocator/walk/allocator-state.js';
import { readProcesses, reservedOf } from '../../knowledge/oom-figures.js';
import { MIB } from '../../model/units.js';
import type { Message } from '../run/message.js';
import {
  CAPACITY_OPTION,
  type Figure,
  type FreeClass,
  type FreeSpace,
  type OomFacts,
  type TraceFacts,
  type Walk,
} from './facts.js';

/** An OOM entry of a trace and the allocator's state just before it. */
export interface TracedOom {
  readonly rank: number | null;
  readonly device: number;
  readonly seq: number;
  readonly requestedBytes: number;
  readonly deviceFreeBytes: number | null;
  readonly stream: number | null;
  readonly site: string | null;
  readonly source: string;
  readonly state: AllocatorState;
  readonly settings: AllocatorSettings;
  readonly walk: Walk;
  /** See `bytesFreedByLastWait`. */
  readonly freedByWaitBytes: number;
  readonly freedAfterOom: boolean;
  /** See `readTraceFacts`; absent if the trace was not read. */
  readonly trace?: TraceFacts | null | undefined;
}

const EMPTY: FreeClass = { bytes: 0, largestBytes: 0, count: 0 };

/**
 * The free blocks at the OOM by the reason the request could not have them. Torch searches only one pool, size class
 * and stream.
 */
export function freeSpace(oom: TracedOom): FreeSpace {
  const { state } = oom;
  const { segments, blocks } = state;
  const small = isSmall(oom.requestedBytes) ? 1 : 0;
  const holes = freeHoles(state);
  const classes = {
    usable: { ...EMPTY },
    otherStream: { ...EMPTY },
    otherClass: { ...EMPTY },
    privatePool: { ...EMPTY },
  };
  const pinned = new Set<number>();
  for (let i = 0; i < holes.count; i++) {
    const segment = holes.segment[i]!;
    const stream = segments.stream[segment]!;
    const sameStream = oom.stream === null || Number.isNaN(stream) || stream === oom.stream;
    const kind =
      segments.pool[segment] !== 0
        ? 'privatePool'
        : segments.small[segment] !== small
          ? 'otherClass'
          : sameStream
            ? 'usable'
            : 'otherStream';
    const target = classes[kind] as { bytes: number; largestBytes: number; count: number };
    target.bytes += holes.bytes[i]!;
    target.count += 1;
    target.largestBytes = Math.max(target.largestBytes, holes.bytes[i]!);
    if (kind === 'usable' && segments.firstBlock[segment]! < segments.firstBlock[segment + 1]!) pinned.add(segment);
  }
  let pinningBytes = 0;
  for (const segment of pinned) {
    for (let row = segments.firstBlock[segment]!; row < segments.firstBlock[segment + 1]!; row++)
      pinningBytes += blocks.sizeBytes[row]!;
  }
  return { ...classes, pinnedSegments: pinned.size, pinningBytes };
}

/** Facts from a traced OOM, with what its message adds: the device's total, the process, others. */
export function factsOfTrace(
  oom: TracedOom,
  message: Message | undefined,
  capacityBytes: number | undefined,
): OomFacts {
  const totals = stateTotals(oom.state);
  const exact = (bytes: number): Figure => ({ bytes, precisionBytes: 0, source: oom.source });
  const free = freeSpace(oom);
  let privateBytes = 0;
  for (let i = 0; i < oom.state.segments.count; i++) {
    if (oom.state.segments.pool[i] !== 0) privateBytes += oom.state.segments.totalBytes[i]!;
  }
  const printed = message === undefined ? undefined : factsOfMessage(message, capacityBytes);
  return {
    rank: oom.rank,
    device: oom.device,
    request: exact(oom.requestedBytes),
    requestAtLeastBytes: oom.requestedBytes,
    segmentBytes: allocationSize(oom.requestedBytes, oom.settings),
    requestSite: oom.site,
    reserved: exact(totals.reservedBytes),
    allocated: exact(totals.allocatedBytes),
    pending: exact(totals.pendingBytes),
    freedByWait: exact(oom.freedByWaitBytes),
    deviceFree: oom.deviceFreeBytes === null ? (printed?.deviceFree ?? null) : exact(oom.deviceFreeBytes),
    total: printed?.total ?? capacityFigure(capacityBytes),
    process: printed?.process ?? null,
    otherProcesses: printed?.otherProcesses ?? [],
    allowed: printed?.allowed ?? null,
    privatePools: exact(privateBytes),
    privatePoolFree: exact(free.privatePool.bytes),
    oversizeSlack: exact(oversizeSlack(oom)),
    free,
    allocator: {
      expandableSegments: oom.settings.expandableSegments,
      maxSplitBytes: oom.settings.maxSplitBytes,
      source: oom.source,
    },
    growth: null,
    walk: oom.walk,
    freedAfterOom: oom.freedAfterOom,
    roundingWaste: roundingWaste(oom),
    trace: oom.trace ?? null,
  };
}

function oversizeSlack({ state, settings }: TracedOom): number {
  const { blocks } = state;
  let slack = 0;
  for (let row = 0; row < blocks.count; row += 1) {
    const size = blocks.sizeBytes[row]!;
    const requested = blocks.requestedBytes[row]!;
    if (size >= settings.maxSplitBytes && requested > 0) slack += Math.max(0, size - roundSize(requested, settings));
  }
  return slack;
}

/** Beyond the usual rounding to 512 bytes; null where no `roundup_power2_divisions` are set. */
function roundingWaste({ state, settings, source }: TracedOom): Figure | null {
  if (settings.roundupPower2Divisions.every((divisions) => divisions <= 1)) return null;
  const { blocks } = state;
  let bytes = 0;
  for (let row = 0; row < blocks.count; row += 1) {
    const requested = blocks.requestedBytes[row]!;
    if (requested > 0) bytes += Math.max(0, roundSize(requested, settings) - roundUp(requested, MIN_BLOCK_BYTES));
  }
  return { bytes, precisionBytes: 0, source };
}

function capacityFigure(capacityBytes: number | undefined): Figure | null {
  return capacityBytes === undefined ? null : { bytes: capacityBytes, precisionBytes: 0, source: CAPACITY_OPTION };
}

/** Facts from a message alone. Everything it does not print is null. */
export function factsOfMessage(message: Message, capacityBytes: number | undefined): OomFacts {
  const figure = (printed: { bytes: number; precisionBytes: number } | null | undefined): Figure | null =>
    printed === null || printed === undefined
      ? null
      : { bytes: printed.bytes, precisionBytes: printed.precisionBytes, source: message.source };
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
    otherProcesses: processes.others === null ? [] : [{ ...processes.others, source: message.source }],
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
  const expected = allocationSize(oom.requestedBytes, oom.settings);
  return Math.abs(printed.bytes - expected) <= printed.precisionBytes + 1;
}
