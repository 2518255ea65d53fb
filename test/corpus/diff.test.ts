/** Pairs of real snapshots through the real command line: what must hold of every comparison, and what a peer counts for the same pairs. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DiffResult } from '../../src/model/diff-results.js';
import { buildCli, type Cli } from '../support/cli.js';
import { CORPUS, SNAPSHOTS, skipLoudly, snapshotPickles, truthOf } from '../support/corpus.js';

const PEERS = join(CORPUS, 'peers', 'bridge');

/** What the peer's comparison prints; only what is compared. */
interface BridgeCompare {
  readonly file_a: string;
  readonly file_b: string;
  readonly config_diffs: readonly unknown[];
  readonly baseline_a: number;
  readonly baseline_b: number;
  readonly full_trace: {
    readonly peak_a: number;
    readonly peak_b: number;
    readonly peak_diff: number;
    readonly abs_peak_a: number;
    readonly abs_peak_b: number;
    readonly allocs_a: number;
    readonly allocs_b: number;
  };
}

const compared = existsSync(PEERS)
  ? readdirSync(PEERS)
      .filter((name) => name.startsWith('compare__'))
      .map((name) => JSON.parse(readFileSync(join(PEERS, name), 'utf8')) as BridgeCompare)
      .map((peer) => ({ a: basename(peer.file_a), b: basename(peer.file_b), peer }))
  : [];
const valid = snapshotPickles().filter(
  (name) => truthOf(name).valid !== false && (truthOf(name).num_segments ?? 0) > 0,
);
/** Each file beside its neighbour in name: recordings of one program often are. */
const neighbours = valid.slice(1).map((b, i) => [valid[i]!, b] as const);

const mirrored: Readonly<Record<string, string>> = { only_a: 'only_b', only_b: 'only_a' };
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

describe('diff of real snapshots', () => {
  if (valid.length < 2) {
    skipLoudly('diff of real snapshots', 'the corpus (set MBF_CORPUS)');
    return;
  }
  let cli: Cli;
  let cache = '';
  beforeAll(() => {
    cli = buildCli('corpus-diff');
    cache = mkdtempSync(join(tmpdir(), 'mbf-diff-'));
  });
  afterAll(() => rmSync(cache, { recursive: true, force: true }));

  const diff = (a: string, b: string, ...options: string[]): DiffResult => {
    const paths = [join(SNAPSHOTS, a), join(SNAPSHOTS, b)];
    const env = { XDG_CACHE_HOME: cache };
    return cli.expect(0, ['diff', ...paths, '--limit', '0', '--json', ...options], { env }).json<DiffResult>();
  };

  const expectAddsUp = (result: DiffResult): void => {
    const { a_info: a, b_info: b, reserved } = result;
    expect(result.total_delta_bytes).toBe(b.active_bytes - a.active_bytes);
    expect(sum(result.sites.map((site) => site.delta_bytes)) + result.remainder_bytes).toBe(result.total_delta_bytes);
    expect(sum(result.sites.map((site) => site.a_bytes))).toBe(a.active_bytes);
    expect(sum(result.sites.map((site) => site.b_bytes))).toBe(b.active_bytes);
    expect(sum(result.sites.map((site) => site.a_count))).toBe(a.blocks);
    expect(sum(result.sites.map((site) => site.b_count))).toBe(b.blocks);
    expect(reserved.allocated_delta_bytes + reserved.pending_delta_bytes + reserved.inactive_delta_bytes).toBe(
      reserved.delta_bytes,
    );
    expect(sum(result.pools.map((pool) => pool.delta_reserved_bytes))).toBe(reserved.delta_bytes);
    expect(sum(result.pools.map((pool) => pool.delta_active_bytes))).toBe(result.total_delta_bytes);
    for (const site of result.sites) {
      expect(site.delta_bytes).toBe(site.b_bytes - site.a_bytes);
      if (site.match === 'only_a') expect(site.b_count).toBe(0);
      if (site.match === 'only_b') expect(site.a_count).toBe(0);
      if (site.callers.length > 0) expect(sum(site.callers.map((row) => row.delta_bytes))).toBe(site.delta_bytes);
    }
  };

  it.each(neighbours)('%s and %s add up, and exchanged are the negative', (a, b) => {
    const there = diff(a, b);
    const back = diff(b, a);
    expectAddsUp(there);
    expectAddsUp(back);
    expect(
      back.sites.map((site) => [0 - site.delta_bytes, site.b_site, site.a_site, mirrored[site.match] ?? site.match]),
    ).toEqual(there.sites.map((site) => [site.delta_bytes, site.a_site, site.b_site, site.match]));
  });

  it.each(valid)('%s does not differ from itself', (name) => {
    const result = diff(name, name);
    expectAddsUp(result);
    expect(result.sites.filter((site) => site.delta_bytes !== 0 || site.match !== 'exact')).toEqual([]);
    expect(result.settings).toEqual([]);
    expect(result.notes.filter((note) => note.includes('differ'))).toEqual([]);
  });

  it.skipIf(compared.length === 0).each(compared)('$a and $b have the peaks the peer counts', ({ a, b, peer }) => {
    const { bridge_compare: ours, settings } = diff(a, b);
    const { peak_a, peak_b, peak_diff, abs_peak_a, abs_peak_b, allocs_a, allocs_b } = peer.full_trace;
    expect(ours).toEqual({
      peak_a,
      peak_b,
      peak_diff,
      baseline_a: peer.baseline_a,
      baseline_b: peer.baseline_b,
      abs_peak_a,
      abs_peak_b,
      allocs_a,
      allocs_b,
    });
    expect(settings.length).toBe(peer.config_diffs.length);
  });

  it.skipIf(compared.length === 0)(
    'finds sites that both have and one has more of, which presence alone would miss',
    () => {
      for (const { a, b } of compared) {
        const grown = diff(a, b).sites.filter((site) => site.a_bytes > 0 && site.b_bytes > site.a_bytes);
        expect(grown.length).toBeGreaterThan(0);
      }
    },
  );
});
