/** Facts of one OOM made by hand: a full 80 GiB device, live 70 GiB, a request of 4 GiB, everything exact. */
import type { Figure, FreeSpace, OomFacts, RunSide, TraceFacts } from '../../../src/findings/verdict/facts.js';
import { GIB, MIB } from '../../../src/model/units.js';

export const exact = (bytes: number, path = 'snapshot'): Figure => ({
  bytes,
  precisionBytes: 0,
  source: { path, entry: 7 },
});
export const printed = (bytes: number, precisionBytes = 0.005 * GIB): Figure => ({
  bytes,
  precisionBytes,
  source: { path: 'train.log', line: 9 },
});

const NO_FREE = { bytes: 0, largestBytes: 0, count: 0 };

export function freeSpaceOf(changes: Partial<FreeSpace> = {}): FreeSpace {
  return {
    usable: NO_FREE,
    otherStream: NO_FREE,
    otherClass: NO_FREE,
    privatePool: NO_FREE,
    pinnedSegments: 0,
    pinningBytes: 0,
    ...changes,
  };
}

/** An OOM seen in a snapshot, whose device total is known: 78 GiB reserved, 1 GiB free, 1 GiB outside PyTorch. */
export function tracedFacts(changes: Partial<OomFacts> = {}): OomFacts {
  return {
    rank: 3,
    device: 0,
    request: exact(4 * GIB),
    requestAtLeastBytes: 4 * GIB,
    segmentBytes: 4 * GIB,
    requestSite: 'forward model.py:12',
    reserved: exact(78 * GIB),
    allocated: exact(77 * GIB),
    pending: exact(0),
    freedByWait: exact(0),
    deviceFree: exact(GIB),
    total: printed(80 * GIB),
    process: null,
    otherProcesses: [],
    allowed: null,
    privatePools: exact(0),
    privatePoolFree: exact(0),
    oversizeSlack: exact(0),
    free: freeSpaceOf({ usable: { bytes: GIB, largestBytes: 100 * MIB, count: 40 } }),
    allocator: { expandableSegments: false, maxSplitBytes: Number.POSITIVE_INFINITY, source: { path: 'snapshot' } },
    growth: null,
    walk: { exact: true, violations: 0, uncertainBlocks: 0, uncertainBytes: 0 },
    freedAfterOom: true,
    ...changes,
  };
}

/** The same from a message alone. */
export function messageFacts(changes: Partial<OomFacts> = {}): OomFacts {
  return {
    ...tracedFacts(),
    request: printed(4 * GIB),
    requestAtLeastBytes: 4 * GIB - 2 * MIB,
    reserved: printed(78 * GIB, 0.01 * GIB),
    allocated: printed(77 * GIB),
    pending: null,
    freedByWait: null,
    deviceFree: printed(GIB, 0.005 * MIB),
    privatePools: null,
    privatePoolFree: null,
    oversizeSlack: null,
    free: null,
    allocator: null,
    growth: null,
    walk: null,
    freedAfterOom: false,
    ...changes,
  };
}

/** Four whole steps that end at 40 GiB and peak at 60, with nothing left over of any. */
export function traceOf(changes: Partial<TraceFacts> = {}): TraceFacts {
  const steps = Array.from({ length: 5 }, (_, i) => ({
    settled: i > 0,
    peakBytes: 60 * GIB,
    endBytes: 40 * GIB,
  }));
  return {
    steps,
    stepsBy: 'steps by ProfilerStep#N',
    whole: true,
    hasEarlierStates: false,
    keeping: [],
    repeatedBytes: 70 * GIB,
    activity: null,
    activityBytes: 0,
    copiedBytes: 0,
    wholeStep: null,
    source: { path: 'snapshot', entry: 7 },
    ...changes,
  };
}

/** Stage 0 of two, six iterations in, in nothing in particular. */
export function runSideOf(changes: Partial<RunSide> = {}): RunSide {
  return {
    completed: 6,
    activity: null,
    activitySource: null,
    highestBytes: null,
    stage: 0,
    stages: 2,
    otherStages: [],
    ownStage: null,
    onlyThisStage: true,
    severalReplicas: false,
    early: null,
    nccl: [],
    source: { path: 'train.log', line: 5 },
    ...changes,
  };
}
