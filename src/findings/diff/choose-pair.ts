/** Which snapshot of each side, and which of their devices, are compared: the macro `device_pairs` of the library. */
import { basename } from 'node:path';
import { type Moment, momentText } from '../../derive/trace/moment.js';
import { MbfError } from '../../model/errors.js';
import { groupBy } from '../../model/group-by.js';
import type { Store } from '../../store/store.js';
import type { Candidate } from './side.js';

export interface DevicePair {
  readonly a: number;
  readonly b: number;
}

export interface SnapshotPair {
  readonly a: Candidate;
  readonly b: Candidate;
  /** The one to compare first. */
  readonly devices: readonly DevicePair[];
}

/** Any store will do. Throws MBF1002 where nothing can be paired, or not `rank`. */
export async function choosePairs(
  store: Store,
  a: readonly Candidate[],
  b: readonly Candidate[],
  rank?: number,
): Promise<SnapshotPair[]> {
  const rows = await store.all('diff.pairs', { left: listOf(a), right: listOf(b) });
  const find = (side: readonly Candidate[], id: number): Candidate => side.find((one) => one.snapshotId === id)!;
  const pairs = [...groupBy(rows, (row) => `${row.a} ${row.b}`).values()].map(
    (devices): SnapshotPair => ({
      a: find(a, devices[0]!.a),
      b: find(b, devices[0]!.b),
      devices: devices.map(({ a_device, b_device }) => ({ a: a_device, b: b_device })),
    }),
  );
  const chosen = rank === undefined ? pairs : pairs.filter((pair) => pair.a.rank === rank && pair.b.rank === rank);
  if (chosen.length > 0) return chosen;
  const sides = `a has ${ranksOf(a)}, b has ${ranksOf(b)}`;
  throw new MbfError(
    'MBF1002',
    rank === undefined
      ? `no rank or file name has a snapshot on both sides: ${sides}; name two snapshots`
      : `not both have a snapshot of rank ${rank}: ${sides}`,
  );
}

function listOf(side: readonly Candidate[]): string {
  return JSON.stringify(
    side.flatMap(({ snapshotId, handle, path, rank, devices }) =>
      devices.map((device) => ({ ...device, snapshot_id: snapshotId, handle, path, rank })),
    ),
  );
}

function ranksOf(side: readonly Candidate[]): string {
  const known = [...new Set(side.map(({ rank, path }) => rank ?? basename(path)))];
  return known.length === 0 ? 'none' : known.slice(0, 16).join(', ');
}

/** Those of the pair, or the one that is asked for. Throws MBF1002 where a side lacks it. */
export function chooseDevices({ a, b, devices }: SnapshotPair, device?: number): readonly DevicePair[] {
  if (device === undefined) return devices;
  for (const side of [a, b]) {
    const known = side.devices.map((entry) => entry.device).sort((x, y) => x - y);
    if (!known.includes(device))
      throw new MbfError('MBF1002', `${side.handle} has no memory of device ${device}; it has ${known.join(', ')}`);
  }
  return [{ a: device, b: device }];
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
