/** The file format of speedscope. Upstream: jlfwong/speedscope `src/lib/file-format-spec.ts`. */

import { groupBy } from '../../../model/group-by.js';
import type { LiveDevice, LiveFrame, LiveSample, LiveStacks } from '../../../model/results/export.js';
import { formatBytes } from '../../../model/units.js';
import { afterEntry } from '../../text-pieces.js';

export interface SpeedscopeFile {
  readonly $schema: 'https://www.speedscope.app/file-format-schema.json';
  readonly exporter: string;
  readonly name: string;
  readonly activeProfileIndex: number;
  readonly shared: {
    readonly frames: readonly { readonly name: string; readonly file?: string; readonly line?: number }[];
  };
  readonly profiles: readonly SpeedscopeProfile[];
}

export interface SpeedscopeProfile {
  readonly type: 'sampled';
  readonly name: string;
  readonly unit: 'bytes';
  readonly startValue: number;
  readonly endValue: number;
  /** Rows of the shared frames, root first. */
  readonly samples: readonly (readonly number[])[];
  readonly weights: readonly number[];
}

/**
 * One profile a device: its whole live set. If that is in more than one memory pool, each pool follows as a profile of
 * its own, since the memory of a pool is useless to the others. Devices without live memory are left out unless all
 * are.
 */
export function speedscope(live: LiveStacks, exporter: string): SpeedscopeFile {
  const filled = live.devices.filter((device) => device.samples.length > 0);
  const devices = filled.length > 0 ? filled : live.devices.slice(0, 1);
  return {
    $schema: 'https://www.speedscope.app/file-format-schema.json',
    exporter,
    name: `${live.handle} (${live.path})`,
    activeProfileIndex: 0,
    shared: {
      frames: live.frames.map(({ filename, line, ...frame }) => ({
        name: frameTitle(frame),
        ...(filename === '' ? {} : { file: filename }),
        ...(line > 0 ? { line } : {}),
      })),
    },
    profiles: devices.flatMap((device) => deviceProfiles(live, device)),
  };
}

function deviceProfiles(live: LiveStacks, device: LiveDevice): SpeedscopeProfile[] {
  const pools = groupBy(device.samples, ({ pool }) => (pool === null ? 'unknown' : `(${pool.join(', ')})`));
  const title = `device ${device.device} ${momentTitle(device)}`;
  const parts: (readonly [string, readonly LiveSample[]])[] = [[title, device.samples]];
  if (pools.size > 1) for (const [pool, samples] of pools) parts.push([`${title}, pool ${pool}`, samples]);
  return parts.map(([name, samples]) => profile(live, name, samples));
}

function profile(live: LiveStacks, name: string, samples: readonly LiveSample[]): SpeedscopeProfile {
  // One sample a stack: the format cannot hold the other keys of samples.
  const weights = new Map<number, number>();
  for (const sample of samples) weights.set(sample.stack, (weights.get(sample.stack) ?? 0) + sample.bytes);
  const sorted = [...weights].sort(([a, bytes], [b, other]) => other - bytes || a - b);
  const sum = sorted.reduce((total, [, bytes]) => total + bytes, 0);
  return {
    type: 'sampled',
    name: `${name}: ${formatBytes(sum)}`,
    unit: 'bytes',
    startValue: 0,
    endValue: sum,
    samples: sorted.map(([stack]) => live.stacks[stack]!),
    weights: sorted.map(([, bytes]) => bytes),
  };
}

/** The frame as `peak` prints it; viewers cannot select one without a name. */
export function frameTitle({ name, text }: Pick<LiveFrame, 'name' | 'text'>): string {
  return name === '' ? `(unnamed)${text}` : text;
}

/** `peak after entry 2,016`. */
export function momentTitle(device: Pick<LiveDevice, 'moment' | 'seq' | 'basis'>): string {
  if (device.moment === 'dump') return 'at the dump';
  const after = afterEntry(device.seq);
  return `at ${device.moment}, ${after}${device.basis === 'actual' ? '' : ', approximate'}`;
}
