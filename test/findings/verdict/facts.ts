/** Facts of one OOM made by hand: a full 80 GiB device, live 70 GiB, a request of 4 GiB, everything exact. */
import { GIB, MIB } from '../../../src/model/units.js';
import type { Figure, FreeSpace, OomFacts, RunSide, TraceFacts } from './hand-facts.js';

export const exact = (bytes: number, path = 'snapshot'): Figure => ({
  ...{ bytes, precisionBytes: 0, source: { path, entry: 7 } },
});
export const printed = (bytes: number, precisionBytes = 0.005 * GIB): Figure => ({
  ...{ bytes, precisionBytes, source: { path: 'train.log', line: 9 } },
});

const NO_FREE = { bytes: 0, largestBytes: 0, count: 0 };

export const freeSpaceOf = (changes: Partial<FreeSpace> = {}): FreeSpace => ({
  ...{ usable: NO_FREE, otherStream: NO_FREE, otherClass: NO_FREE, privatePool: NO_FREE },
  ...{ pinnedSegments: 0, pinningBytes: 0, ...changes },
});

/** An OOM seen in a snapshot, whose device total is known: 78 GiB reserved, 1 GiB free, 1 GiB outside PyTorch. */
export function tracedFacts(changes: Partial<OomFacts> = {}): OomFacts {
  return {
    ...{ rank: 3, device: 0, requestSite: 'forward model.py:12', freedAfterOom: true },
    ...{ request: exact(4 * GIB), requestAtLeastBytes: 4 * GIB, segmentBytes: 4 * GIB },
    ...{ reserved: exact(78 * GIB), allocated: exact(77 * GIB), pending: exact(0), freedByWait: exact(0) },
    ...{ deviceFree: exact(GIB), total: printed(80 * GIB), process: null, otherProcesses: [], allowed: null },
    ...{ privatePools: exact(0), privatePoolFree: exact(0), oversizeSlack: exact(0), growth: null },
    free: freeSpaceOf({ usable: { bytes: GIB, largestBytes: 100 * MIB, count: 40 } }),
    allocator: { expandableSegments: false, maxSplitBytes: Number.POSITIVE_INFINITY, source: { path: 'snapshot' } },
    walk: { exact: true, violations: 0, uncertainBlocks: 0, uncertainBytes: 0 },
    ...changes,
  };
}

/** The same from a message alone. */
export function messageFacts(changes: Partial<OomFacts> = {}): OomFacts {
  return {
    ...tracedFacts(),
    ...{ request: printed(4 * GIB), requestAtLeastBytes: 4 * GIB - 2 * MIB, freedAfterOom: false },
    ...{ reserved: printed(78 * GIB, 0.01 * GIB), allocated: printed(77 * GIB), pending: null, freedByWait: null },
    ...{ deviceFree: printed(GIB, 0.005 * MIB), privatePools: null, privatePoolFree: null, oversizeSlack: null },
    ...{ free: null, allocator: null, growth: null, walk: null, ...changes },
  };
}

/** Four whole steps that end at 40 GiB and peak at 60, with nothing left over of any. */
export function traceOf(changes: Partial<TraceFacts> = {}): TraceFacts {
  return {
    steps: Array.from({ length: 5 }, (_, i) => ({ settled: i > 0, peakBytes: 60 * GIB, endBytes: 40 * GIB })),
    ...{ stepsBy: 'steps by ProfilerStep#N', whole: true, hasEarlierStates: false, keeping: [], wholeStep: null },
    ...{ repeatedBytes: 70 * GIB, activity: null, activityBytes: 0, copiedBytes: 0 },
    ...{ source: { path: 'snapshot', entry: 7 }, ...changes },
  };
}

/** Stage 0 of two, six iterations in, in nothing in particular. */
export function runSideOf(changes: Partial<RunSide> = {}): RunSide {
  return {
    ...{ completed: 6, activity: null, activitySource: null, highestBytes: null, stage: 0, stages: 2, otherStages: [] },
    ...{ ownStage: null, onlyThisStage: true, severalReplicas: false, early: null, nccl: [] },
    ...{ source: { path: 'train.log', line: 5 }, ...changes },
  };
}

// ---- as they are in cases.yaml

/** GiB, or a sum like `500 GiB - 2 MiB`. */
function bytesOf(size: number | string): number {
  if (typeof size === 'number') return Math.round(size * GIB);
  const terms = [...size.matchAll(/([+-]? ?\d+) (GiB|MiB)/g)];
  return terms.reduce(
    (sum, [, count, unit]) => sum + Number(count!.replace(' ', '')) * (unit === 'GiB' ? GIB : MIB),
    0,
  );
}

/** Every number under a name with `bytes` becomes bytes. */
export function withBytes(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) return value.map((one) => withBytes(one));
  if (/bytes/i.test(name) && value !== null && value !== Number.POSITIVE_INFINITY) return bytesOf(value as number);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withBytes(inner, key)]));
}

const FIGURES =
  /^(?:request|reserved|allocated|pending|freedByWait|deviceFree|total|process|allowed|privatePools|privatePoolFree|oversizeSlack|roundingWaste)$/;

type Written = Readonly<Record<string, unknown>>;
type WrittenFigure = number | string | readonly [size: number, precision: number] | null;

function figureOf(isExact: boolean, figure: WrittenFigure): Figure | null {
  if (figure === null) return null;
  if (typeof figure === 'object') return printed(bytesOf(figure[0]), figure[1] * GIB);
  if (typeof figure === 'string' && figure.startsWith('~')) return printed(Number(figure.slice(1)) * GIB);
  return isExact ? exact(bytesOf(figure)) : printed(bytesOf(figure));
}

/** `count` of the steps of {@link traceOf}, or as many as there are peaks or ends. */
function stepsOf({ count, peaks, ends }: { count?: number; peaks?: number[]; ends?: number[] }): TraceFacts['steps'] {
  return traceOf()
    .steps!.slice(0, count)
    .map((step, i) => ({
      ...step,
      ...(peaks === undefined ? {} : { peakBytes: bytesOf(peaks[i]!) }),
      ...(ends === undefined ? {} : { endBytes: bytesOf(ends[i]!) }),
    }));
}

function traceFrom({ steps, ...rest }: Written): TraceFacts {
  const known = steps === undefined || steps === null ? { steps: steps as null } : { steps: stepsOf(steps) };
  return traceOf({ ...(withBytes(rest) as object), ...(steps === undefined ? {} : known) });
}

export function factsFrom(base: 'traced' | 'message', written: Written): OomFacts {
  const isExact = base === 'traced';
  const source = { path: 'log' };
  const facts = Object.entries(written).map(([key, value]) => {
    if (FIGURES.test(key)) return [key, figureOf(isExact, value as WrittenFigure)];
    if (key === 'otherProcesses') return [key, (value as string[]).map((one) => figureOf(isExact, one))];
    if (key === 'trace') return [key, traceFrom(value as Written)];
    const changes = withBytes(value, key) as Written;
    if (key === 'free') return [key, freeSpaceOf(changes)];
    if (/rowth$|^allocator$/.test(key)) return [key, { source, ...changes }];
    if (key !== 'run') return [key, changes];
    return [
      key,
      runSideOf(changes['early'] === undefined ? changes : { early: { source, ...(changes['early'] as object) } }),
    ];
  });
  return (isExact ? tracedFacts : messageFacts)(Object.fromEntries(facts));
}
