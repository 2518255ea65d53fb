/**
 * What profilers list first is what the screen lists first: the leaves of exported stacks are the sites of `peak` at
 * the same moment, by our own readers and by Go's pprof.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Profile } from 'pprof-format';
import { beforeEach, describe, expect, it } from 'vitest';
import type { PeakResult } from '../../src/model/results/common.js';
import type { ExportResult } from '../../src/model/results/export.js';
import { foldedFrame } from '../../src/report/store/export/folded.js';
import type { SpeedscopeFile } from '../../src/report/store/export/speedscope.js';
import { scratchDirectory } from '../store/scratch.js';
import { asker } from '../support/ask.js';
import { SNAPSHOTS, skipLoudly, snapshotPickles } from '../support/corpus.js';
import { sampled } from '../support/level.js';
import { samplePath } from '../support/stores.js';

const { cli, options } = asker();

/** A directory of the test's own for what it exports. */
let out = '';
beforeEach(() => {
  out = scratchDirectory();
});
const at = (name: string): string => join(out, name);

/** Sums by name, the most bytes first; equal sums in any order. */
function sortedSums(parts: Iterable<readonly [name: string, bytes: number]>): (readonly [string, number])[] {
  const sums = new Map<string, number>();
  for (const [name, bytes] of parts) sums.set(name, (sums.get(name) ?? 0) + bytes);
  return [...sums].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
}

/** Of a line of folded stacks. */
function leafOf(line: string): readonly [string, number] {
  const [, leaf, bytes] = /^(?:.*;)?([^;]*) (\d+)$/.exec(line)!;
  return [leaf!, Number(bytes)];
}

const hasGo = spawnSync('go', ['tool', 'pprof', '-h']).error === undefined;
if (!hasGo) skipLoudly('profiles read by `go tool pprof`', 'Go');

/** What `go tool pprof -top` prints: the sites with memory of their own, in its order. */
function goTop(file: string): (readonly [string, number])[] {
  const options = ['-top', '-unit=B', '-nodecount=100000', '-nodefraction=0', '-edgefraction=0'];
  const { status, stdout, stderr } = spawnSync('go', ['tool', 'pprof', ...options, file], {
    encoding: 'utf8',
    env: { ...process.env, PPROF_TMPDIR: out },
  });
  expect(status, stderr).toBe(0);
  return [...stdout.matchAll(/^ *(\d+)B +\S+ +\S+ +\S+ +\S+ {2}(.*)$/gm)]
    .map(([, bytes, name]) => [name!, Number(bytes)] as const)
    .filter(([, bytes]) => bytes > 0);
}

describe('the sites of `peak` at the same moment are, in their order,', () => {
  const samples = ['llama3-70b-fragmentation', 'capacity', 'leak'].map((name) => samplePath(name));
  const recordings = sampled(snapshotPickles(), 16).map((name) => join(SNAPSHOTS, name));
  if (recordings.length === 0) skipLoudly('exports of recordings with C++ stacks', 'MBF_CORPUS');

  it.each([...samples, ...recordings])('the leaves of exports of %s', (path) => {
    for (const moment of ['oom', 'peak']) {
      const shown = cli.run(['peak', path, '--at', moment, '--limit', '0', '--json=full'], options);
      const [snapshot, ...more] = shown.status === 0 ? shown.json<PeakResult>().snapshots : [];
      const [device] = snapshot?.devices ?? [];
      // One file shows one snapshot.
      if (device === undefined || more.length > 0 || device.active_bytes === 0) continue;
      const expected = sortedSums(device.sites.map(({ site, bytes }) => [site, bytes]));
      const written = (name: string): string => {
        const file = at(`${moment}-${name}`);
        const { devices } = cli
          .expect(0, ['export', path, '--at', moment, '-o', file, '--force', '--json=full'])
          .json<ExportResult>();
        expect(devices.map((one) => one.device)).toEqual([device.device]);
        return file;
      };
      // What the format of lines lacks is written otherwise; see the property tests.
      const folded = readFileSync(written('x.folded'), 'utf8').trimEnd().split('\n');
      expect(sortedSums(folded.map((line) => leafOf(line)))).toEqual(
        sortedSums(expected.map(([site, bytes]) => [foldedFrame(site), bytes])),
      );
      const { shared: tables, profiles } = JSON.parse(
        readFileSync(written('x.speedscope.json'), 'utf8'),
      ) as SpeedscopeFile;
      const { samples: stacks, weights } = profiles[0]!;
      expect(sortedSums(stacks.map((stack, i) => [tables.frames[stack.at(-1)!]!.name, weights[i]!]))).toEqual(expected);
      const file = written('x.pb.gz');
      const profile = Profile.decode(gunzipSync(readFileSync(file)));
      const nameOf = (location: number): string =>
        profile.stringTable.strings[Number(profile.function[location - 1]!.name)]!;
      const leaves = profile.sample.map(
        ({ locationId, value }) => [nameOf(Number(locationId[0])), Number(value[1])] as const,
      );
      expect(sortedSums(leaves)).toEqual(expected);
      if (!hasGo) continue;
      const top = goTop(file);
      expect(top.map(([, bytes]) => bytes)).toEqual(expected.map(([, bytes]) => bytes));
      expect(sortedSums(top)).toEqual(expected);
    }
  });

  it('of one device: the one that ran out, unless others are asked for', () => {
    for (const path of recordings) {
      const shown = cli.run(['peak', path, '--limit', '0', '--json=full'], options);
      const devices = shown.status === 0 ? shown.json<PeakResult>().snapshots[0]!.devices : [];
      if (devices.length < 2 || shown.json<PeakResult>().snapshots.length > 1) continue;
      const alone = cli.expect(0, ['export', path, '-o', at('one.folded'), '--force', '--json=full'], options);
      expect(alone.json<ExportResult>().devices.map(({ device }) => device)).toEqual([devices[0]!.device]);
      expect(alone.stderr).toContain('--device all');
      const all = cli.expect(
        0,
        ['export', path, '--device', 'all', '-o', at('all.folded'), '--force', '--json=full'],
        options,
      );
      expect(
        all
          .json<ExportResult>()
          .devices.map(({ device }) => device)
          .sort(),
      ).toEqual(devices.map(({ device }) => device).sort());
    }
  });
});
