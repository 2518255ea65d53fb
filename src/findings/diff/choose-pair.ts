/** Which snapshot of each side, and which of their devices, are compared. */
import { basename } from 'node:path';
import { type Moment, momentText } from '../../derive/trace/moment.js';
import { MbfError } from '../../model/errors.js';
import type { Candidate, CandidateDevice } from './side.js';

export interface SnapshotPair {
  readonly a: Candidate;
  readonly b: Candidate;
}

/**
 * The latest snapshot of every rank that both sides have, in order of rank; those without a rank pair by the names of
 * their files. Where the sides have none in common, and each has only one, these two. Throws MBF1002 where nothing can
 * be paired, or not `rank`.
 */
export function choosePairs(a: readonly Candidate[], b: readonly Candidate[], rank?: number): SnapshotPair[] {
  const latestA = latest(a);
  const latestB = latest(b);
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
  throw new MbfError(
    'MBF1002',
    `no rank or file name has a snapshot on both sides: ${both(latestA, latestB)}; name two snapshots`,
  );
}

/** By rank, or by the name of the file. They come in order of time. */
function latest(candidates: readonly Candidate[]): Map<string, Candidate> {
  return new Map(
    candidates.map((candidate) => [
      candidate.rank === null ? basename(candidate.path) : `rank ${candidate.rank}`,
      candidate,
    ]),
  );
}

function both(a: ReadonlyMap<string, Candidate>, b: ReadonlyMap<string, Candidate>): string {
  const list = (side: ReadonlyMap<string, Candidate>): string =>
    side.size === 0
      ? 'none'
      : [...side]
          .slice(0, 16)
          .map(([name, { rank }]) => rank ?? name)
          .join(', ');
  return `a has ${list(a)}, b has ${list(b)}`;
}

/**
 * The devices that both snapshots have, the one to compare first: one that ran out of memory, then one with traces,
 * then the largest. Where they have none in common, the first of each by the same rule.
 */
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
  const both = a.devices.flatMap((mine) => {
    const theirs = has(b, mine.device);
    if (theirs === undefined) return [];
    return [{ a: mine.device, b: mine.device, parts: [mine, theirs] }];
  });
  const ranked = (entries: readonly RankedDevices[]): RankedDevices[] =>
    entries.toSorted((x, y) => {
      const sum = (entry: RankedDevices, of: (part: CandidateDevice) => number): number =>
        entry.parts.reduce((total, part) => total + of(part), 0);
      return (
        Math.sign(sum(y, (part) => part.ooms)) - Math.sign(sum(x, (part) => part.ooms)) ||
        sum(y, (part) => Number(part.has_trace)) - sum(x, (part) => Number(part.has_trace)) ||
        sum(y, (part) => part.reserved_bytes) - sum(x, (part) => part.reserved_bytes) ||
        x.a - y.a
      );
    });
  if (both.length > 0) return ranked(both).map((entry) => ({ a: entry.a, b: entry.b }));
  const first = (candidate: Candidate): number =>
    ranked(candidate.devices.map((entry) => ({ a: entry.device, b: entry.device, parts: [entry] })))[0]!.a;
  return [{ a: first(a), b: first(b) }];
}

interface RankedDevices {
  readonly a: number;
  readonly b: number;
  readonly parts: readonly CandidateDevice[];
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
