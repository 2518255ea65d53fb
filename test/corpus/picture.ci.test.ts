/**
 * What a page draws of real recordings, against the library's macros: the same totals at every mark, stacks that add
 * up, the peak of `timeline`, and bytes within the budget of a page.
 */
import { existsSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, expect, it } from 'vitest';
import { type DrawnDevice, drawDevice } from '../../src/findings/picture/draw-device.js';
import { describeTimelines } from '../../src/findings/timeline/timeline.js';
import { ingest } from '../../src/ingest/ingest.js';
import { courseOf } from '../../src/model/picture/levels.js';
import { decodeDevice } from '../../src/report/page/decode-device.js';
import type { Store } from '../../src/store/store.js';
import { CORPUS, SNAPSHOTS } from '../support/corpus.js';
import { sampled } from '../support/level.js';
import { newStore } from '../support/new-store.js';
import { validSnapshots } from '../support/stores.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { corpusSuite, namesIn, sum } from './corpus-suite.js';

/** Of a device after gzip: in base64 and with the program and the tables a page stays below 2 MB. */
const MOST_BYTES = 1_200_000;

/** Directories of a set; of the recordings under many settings each kind of request once, and all with graph pools. */
function directories(set: string, pick: (name: string, i: number) => boolean): string[] {
  return namesIn(set)
    .map((name) => join(CORPUS, set, name))
    .filter((path) => statSync(path).isDirectory())
    .filter((path, i) => pick(basename(path), i));
}

const isRecorded = (name: string): boolean => existsSync(join(CORPUS, 'megatron', name, 'snapshot.pickle.gz'));
const isOfLab = (name: string, i: number): boolean => i % 8 === 0 || name.includes('graph');
const paths = [
  ...sampled(validSnapshots(), 8).map((name) => join(SNAPSHOTS, name)),
  ...sampled(directories('megatron', isRecorded), 8),
  ...sampled(directories('lab', isOfLab), 12),
];

corpusSuite('pictures of real recordings', paths, () => {
  const directory = temporaryDirectory();
  let store: Store;
  const drawn: Readonly<{ name: string; snapshotId: number; device: number; of: DrawnDevice }>[] = [];

  beforeAll(async () => {
    store = await newStore(join(directory, 'store.duckdb'));
    await ingest({ store, paths, each: true, now: new Date(0) });
    for (const row of await store.all('snapshot.list', { run_id: null, handle: null }))
      for (const { device, events, segments } of await store.all('snapshot.devices', {
        snapshot_id: row.snapshot_id,
      })) {
        if (segments === 0 && events === null) continue;
        const options = { handle: row.handle, title: row.handle, deviceTotalBytes: null };
        const of = await drawDevice(store, { snapshotId: row.snapshot_id, device, ...options });
        drawn.push({ name: `${row.handle} device ${device}`, snapshotId: row.snapshot_id, device, of });
      }
    return () => store.close();
  });

  it('are of every recording, and small', () => {
    expect(drawn.length).toBeGreaterThanOrEqual(paths.length / 2);
    for (const { name, of } of drawn) expect(gzipSync(of.bytes, { level: 9 }).length, name).toBeLessThan(MOST_BYTES);
  });

  it('have stacks that add up in every column, and zoom that keeps the highest state', () => {
    for (const { name, of } of drawn) {
      const { levels } = decodeDevice(of.bytes, of.page);
      const [whole] = levels;
      const most = Math.max(...whole!.active);
      expect(most, name).toBe(of.page.marks.find(({ kind }) => kind === 'peak')!.bytes);
      for (const level of levels) {
        for (let i = 0; i < level.columns; i += 1) {
          const bytes = sum(level.components.map((component) => component[i]!));
          if (bytes !== level.active[i]) expect({ name, level: level.name, column: i, bytes }).toEqual(level.active[i]);
        }
        expect(Math.max(...level.active), `${name}: ${level.name}`).toBeLessThanOrEqual(most);
      }
    }
  });

  it('have, at every mark, the totals of the library', async () => {
    let compared = 0;
    for (const { name, snapshotId, device, of } of drawn) {
      const { page } = of;
      if (page.blocks + page.blocksOutside !== page.allBlocks || page.blocksOutside > 0) continue;
      const { blocks, segments } = decodeDevice(of.bytes, page);
      const course = courseOf(blocks, segments, page.components.length, page);
      for (const { seq, kind } of page.marks.slice(0, 8)) {
        if (seq < page.firstSeq) continue;
        const [totals] = await store.select(`FROM totals_at(${snapshotId}, ${device}, ${seq})`);
        const [level] = course([{ from: seq, to: seq, columns: 1 }]);
        const figures = (name: string): number => Number(totals![name]);
        expect({
          where: `${name}: ${kind} ${seq}`,
          active: level!.active[0],
          pending: level!.pending[0],
          reserved: level!.reserved[0],
          private: [level!.privateReserved[0], level!.privateActive[0]],
        }).toEqual({
          where: `${name}: ${kind} ${seq}`,
          active: figures('allocated_bytes') + figures('pending_bytes'),
          pending: figures('pending_bytes'),
          reserved: figures('reserved_bytes'),
          private: [figures('private_reserved_bytes'), figures('private_live_bytes')],
        });
        compared += 1;
      }
    }
    expect(compared).toBeGreaterThan(drawn.length);
  });

  it('have the peak of timeline', async () => {
    for (const { name, snapshotId, device, of } of drawn) {
      if (of.page.isDump) continue;
      const { handle } = of.page;
      const zoom = { from: undefined, to: undefined };
      const { snapshots } = await describeTimelines(store, { handle }, { columns: 50, by: 'index', device, zoom });
      const { marks } = snapshots[0]!.devices[0]!.trace!;
      const peak = of.page.marks.find(({ kind }) => kind === 'peak')!;
      expect(peak.bytes, `${name} (${snapshotId})`).toBe(marks.peak_active.bytes);
      expect(peak.seq, name).toBeLessThanOrEqual(marks.peak_active.last_seq);
    }
  });
});
