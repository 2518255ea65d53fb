/** Which snapshot of each side, and which of their devices, are compared. */
import { MbfError } from '../../model/errors.js';
import { type Moment, momentText } from '../history/moment.js';
import type { Candidate, CandidateDevice } from './side.js';

export interface SnapshotPair {
  readonly a: Candidate;
  readonly b: Candidate;
}

const rankText = (rank: number | null): string => (rank === null ? 'unknown' : String(rank));

/**
 * The latest snapshot of every rank that both sides have, in order of rank. Where they have none in common, and each side has only one rank,
 * these two. Throws MBF1002 where nothing can be paired, or not `rank`.
 */
export function choosePairs(a: readonly Candidate[], b: readonly Candidate[], rank?: number): SnapshotPair[] {
  const latestA = latestByRank(a);
  const latestB = latestByRank(b);
  const common = [...latestA.keys()].filter((key) => latestB.has(key));
  const pairs = common.map((key): SnapshotPair => ({ a: latestA.get(key)!, b: latestB.get(key)! }));
  if (rank !== undefined) {
    const chosen = pairs.find((pair) => pair.a.rank === rank);
    if (chosen === undefined)
      throw new MbfError('MBF1002', `not both have a snapshot of rank ${rank}: ${both(latestA, latestB)}`);
    return [chosen];
  }
  if (pairs.length > 0) return pairs;
  if (latestA.size === 1 && latestB.size === 1) return [{ a: [...latestA.values()][0]!, b: [...latestB.values()][0]! }];
  throw new MbfError('MBF1002', `no rank has a snapshot on both sides: ${both(latestA, latestB)}; name two snapshots`);
}

function latestByRank(candidates: readonly Candidate[]): Map<number | null, Candidate> {
  // They come in order of time.
  return new Map(candidates.map((candidate) => [candidate.rank, candidate]));
}

function both(a: ReadonlyMap<number | null, Candidate>, b: ReadonlyMap<number | null, Candidate>): string {
  const list = (side: ReadonlyMap<number | null, Candidate>): string =>
    side.size === 0 ? 'none' : [...side.keys()].slice(0, 16).map(rankText).join(', ');
  return `a has ${list(a)}, b has ${list(b)}`;
}

/** The devices that both snapshots have, the one to compare first; where ordinals differ, the largest of each. */
export function chooseDevices(pair: SnapshotPair, device?: number): { readonly a: number; readonly b: number }[] {
  const { a, b } = pair;
  const has = (candidate: Candidate, wanted: number): CandidateDevice | undefined =>
    candidate.devices.find((entry) => entry.device === wanted);
  if (device !== undefined) {
    for (const side of [a, b]) {
      if (has(side, device) === undefined) {
        const known = side.devices.map((entry) => entry.device).join(', ');
        throw new MbfError('MBF1002', `${side.handle} has no memory of device ${device}; it has ${known}`);
      }
    }
    return [{ a: device, b: device }];
  }
  const common = a.devices.flatMap((mine) => {
    const theirs = has(b, mine.device);
    if (theirs === undefined) return [];
    return [
      {
        device: mine.device,
        traces: Number(mine.hasTrace) + Number(theirs.hasTrace),
        bytes: mine.reservedBytes + theirs.reservedBytes,
      },
    ];
  });
  if (common.length === 0) return [{ a: largest(a), b: largest(b) }];
  return common
    .sort((x, y) => y.traces - x.traces || y.bytes - x.bytes || x.device - y.device)
    .map((entry) => ({ a: entry.device, b: entry.device }));
}

function largest(candidate: Candidate): number {
  const [first] = [...candidate.devices].sort(
    (x, y) => Number(y.hasTrace) - Number(x.hasTrace) || y.reservedBytes - x.reservedBytes || x.device - y.device,
  );
  return first!.device;
}

/** The last step that both have whole. Throws MBF1002 where there is none. */
export function commonStep(a: readonly number[], b: readonly number[]): Moment {
  const known = new Set(b);
  const step = a.filter((one) => known.has(one)).at(-1);
  if (step === undefined) {
    const list = (steps: readonly number[]): string =>
      steps.length === 0 ? 'no whole step' : `${momentText({ kind: 'step', step: steps[0]! })} to ${steps.at(-1)}`;
    throw new MbfError('MBF1002', `no step is whole on both sides: a has ${list(a)}, b has ${list(b)}`);
  }
  return { kind: 'step', step };
}
