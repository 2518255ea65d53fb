/**
 * Pairs of real snapshots: what must hold of any comparison; and through the command line, what a peer counts for
 * the pairs it was given.
 */
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { earliestTorch } from '../../parsers/index.js';
import type { Frame } from '../../src/attribution/frames/call-site.js';
import { choosePairs } from '../../src/findings/diff/choose-pair.js';
import { describeDiff } from '../../src/findings/diff/describe-diff.js';
import { matchSites } from '../../src/findings/diff/match-sites.js';
import { type Candidate, listCandidates, readSide, type Side } from '../../src/findings/diff/side.js';
import { useSides } from '../../src/findings/diff/use-sides.js';
import type { SnapshotDiff } from '../../src/model/results/diff.js';
import { worded } from '../../src/report/words/worded.js';
import { openStore } from '../../src/store/open-store.js';
import type { Store } from '../../src/store/store.js';
import { buildCli } from '../support/cli.js';
import { CORPUS, SNAPSHOTS, truthOf } from '../support/corpus.js';
import { NIGHTLY, sampled } from '../support/level.js';
import { corpusStore, validSnapshots } from '../support/stores.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { corpusSuite, namesIn, sum } from './corpus-suite.js';

const PEERS = join(CORPUS, 'peers', 'bridge');

/** What the peer's comparison prints; only what is compared. */
interface BridgeCompare {
  readonly file_a: string;
  readonly file_b: string;
  readonly config_diffs: readonly unknown[];
  readonly baseline_a: number;
  readonly baseline_b: number;
  readonly full_trace: Readonly<
    Record<'peak_a' | 'peak_b' | 'peak_diff' | 'abs_peak_a' | 'abs_peak_b' | 'allocs_a' | 'allocs_b', number>
  >;
}

const compared = namesIn('peers', 'bridge')
  .filter((name) => name.startsWith('compare__'))
  .map((name) => JSON.parse(readFileSync(join(PEERS, name), 'utf8')) as BridgeCompare)
  .map((peer) => ({ a: basename(peer.file_a), b: basename(peer.file_b), peer }));
const valid = validSnapshots().filter((name) => (truthOf(name).num_segments ?? 0) > 0);
const isPythonOfUser = ({ filename }: Frame): boolean =>
  filename.endsWith('.py') && !/(?:^|\/)torch\/|torchinductor/.test(filename);
type Edit = (frames: readonly Frame[]) => readonly Frame[];
/** What happens to code between two runs. */
const EDITS: readonly Edit[] = [
  function linesShifted(frames) {
    return frames.map((frame) => (isPythonOfUser(frame) ? { ...frame, line: frame.line + 11 } : frame));
  },
  function installedElsewhere(frames) {
    const filename = (path: string): string =>
      path
        .replace(/^.*\/(?:site|dist)-packages\//, '/opt/venv/lib/python3.13/site-packages/')
        .replace(/^\/home\//, '/mnt/x/');
    return frames.map((frame) => ({ ...frame, filename: filename(frame.filename) }));
  },
  function generatedAnew(frames) {
    const filename = (path: string): string => path.replace(/\/([a-z2-7]{2})\/c\1([a-z2-7]{40,})\.py$/, '/zz/czz$2.py');
    return frames.map((frame) => ({ ...frame, filename: filename(frame.filename) }));
  },
  function wrapped(frames) {
    const at = frames.findIndex(isPythonOfUser);
    if (at < 0) return frames;
    const wrapper: Frame = { name: 'traced_wrapper', filename: '/repo/tools/decorators.py', line: 31 };
    return [...frames.slice(0, at), wrapper, ...frames.slice(at)];
  },
];

/** Every snapshot meets near ones, which are alike, and far ones; all pairs would take four times as long. */
const DISTANCES = NIGHTLY ? [1, 2, 5, 11, 21] : [1, 5, 21];
const mirrored: Readonly<Record<string, string>> = { only_a: 'only_b', only_b: 'only_a' };

corpusSuite('diff of real snapshots', valid, () => {
  const directory = temporaryDirectory();
  const candidates = new Map<string, Candidate>();
  let store: Store;
  /** Every device at its peak, by file and ordinal. */
  const sides = new Map<string, Side>();

  beforeAll(async () => {
    store = await openStore(corpusStore(), { mode: 'read' });
    const [run] = await store.all('store.runs', { run_id: null });
    for (const candidate of await listCandidates(store, run!.run_id, undefined)) {
      if (!valid.includes(candidate.path)) continue;
      candidates.set(candidate.path, candidate);
      for (const { device } of candidate.devices) {
        const side = await readSide(store, candidate.path, candidate, device, { kind: 'peak' }, earliestTorch);
        sides.set(`${candidate.path} ${device}`, side);
      }
    }
  });

  afterAll(() => store.close());

  const diff = async (a: string, b: string): Promise<SnapshotDiff> => {
    const [pair] = await choosePairs(store, [candidates.get(a)!], [candidates.get(b)!]);
    const [devices] = pair!.devices;
    const limits = { sites: undefined, minBytes: 0, maxGrowth: undefined };
    const none = { devices: [], ranks: [], ranksWithoutMoment: [] };
    const [x, y] = [sides.get(`${a} ${devices!.a}`)!, sides.get(`${b} ${devices!.b}`)!];
    return describeDiff(store, await useSides(store, x, y), x, y, limits, none);
  };

  const expectAddsUp = (result: SnapshotDiff): void => {
    const { a_info: a, b_info: b, reserved } = result;
    expect(result.total_delta_bytes).toBe(b.active_bytes - a.active_bytes);
    expect(sum(result.sites.map((site) => site.delta_bytes)) + result.remainder_bytes).toBe(result.total_delta_bytes);
    expect(sum(result.sites.map((site) => site.a_bytes)) + result.remainder.a_bytes).toBe(a.active_bytes);
    expect(sum(result.sites.map((site) => site.b_bytes)) + result.remainder.b_bytes).toBe(b.active_bytes);
    expect(sum(result.sites.map((site) => site.a_count)) + result.remainder.a_count).toBe(a.blocks);
    expect(sum(result.sites.map((site) => site.b_count)) + result.remainder.b_count).toBe(b.blocks);
    const { allocated_delta_bytes: allocated, pending_delta_bytes: pending, inactive_delta_bytes: inactive } = reserved;
    expect(allocated + pending + inactive).toBe(reserved.delta_bytes);
    expect(sum(result.pools.map((pool) => pool.delta_reserved_bytes))).toBe(reserved.delta_bytes);
    expect(sum(result.pools.map((pool) => pool.delta_active_bytes))).toBe(result.total_delta_bytes);
    // One assertion for all sites: some pairs have thousands.
    const wrong = result.sites.filter(
      (site) =>
        site.delta_bytes !== site.b_bytes - site.a_bytes ||
        (site.match === 'only_a' && site.b_count > 0) ||
        (site.match === 'only_b' && site.a_count > 0) ||
        (site.callers.length > 0 && sum(site.callers.map((row) => row.delta_bytes)) !== site.delta_bytes),
    );
    expect(wrong).toEqual([]);
  };

  it.each(sampled(valid, 5))('%s against others adds up, and exchanged is the negative', async (a) => {
    const at = valid.indexOf(a);
    for (const b of DISTANCES.flatMap((distance) => valid[at + distance] ?? [])) {
      const there = await diff(a, b);
      const back = await diff(b, a);
      expectAddsUp(there);
      const negative = back.sites.map(({ delta_bytes: bytes, a_site, b_site, match }) => [
        ...[0 - bytes, b_site, a_site, mirrored[match] ?? match],
      ]);
      expect(negative).toEqual(there.sites.map((site) => [site.delta_bytes, site.a_site, site.b_site, site.match]));
    }
  });

  it.each(sampled(valid, 5))('%s does not differ from itself', async (name) => {
    const result = await diff(name, name);
    expectAddsUp(result);
    expect(result.sites).toEqual([]);
    expect(result.remainder.changed).toBe(0);
    expect(result.settings).toEqual([]);
    expect(worded(result.notes).filter((note) => note.includes('differ'))).toEqual([]);
  });

  it.each(sampled(valid, 5))('%s is found again after an edit of its code', (name) => {
    for (const { device } of candidates.get(name)!.devices) {
      const { groups } = sides.get(`${name} ${device}`)!;
      for (const edit of EDITS) {
        const edited = groups.map((group) => ({ ...group, frames: edit(group.frames) }));
        const sites = matchSites(groups, edited);
        const lost = sites.filter((site) => site.delta_bytes !== 0 || site.match.startsWith('only'));
        expect(lost, `device ${device}, ${edit.name}`).toEqual([]);
      }
    }
  });

  it.skipIf(compared.length === 0).each(compared)(
    '$a and $b have the peaks the peer counts',
    async ({ a, b, peer }) => {
      const paths = [join(SNAPSHOTS, a), join(SNAPSHOTS, b)];
      const env = { XDG_CACHE_HOME: directory };
      const args = ['diff', ...paths, '--limit', '0', '--json=full'];
      const result = buildCli().expect(0, args, { env }).json<SnapshotDiff>();
      expectAddsUp(result);
      // A store of both and a store of each give the same answer.
      expect(result.sites).toEqual((await diff(a, b)).sites);
      const { bridge_compare: ours, settings } = result;
      const { baseline_a, baseline_b, full_trace } = peer;
      const { peak_a, peak_b, peak_diff, abs_peak_a, abs_peak_b, allocs_a, allocs_b } = full_trace;
      const peaks = { peak_a, peak_b, peak_diff, baseline_a, baseline_b, abs_peak_a, abs_peak_b };
      expect(ours).toEqual({ ...peaks, allocs_a, allocs_b });
      expect(settings.length).toBe(peer.config_diffs.length);
    },
  );

  it.skipIf(compared.length === 0)(
    'finds sites that both have and one has more of, which presence alone would miss',
    async () => {
      for (const { a, b } of compared) {
        const grown = (await diff(a, b)).sites.filter((site) => site.a_bytes > 0 && site.b_bytes > site.a_bytes);
        expect(grown.length).toBeGreaterThan(0);
      }
    },
  );
});
