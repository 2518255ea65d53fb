/** Every real file cut anywhere gives one error about the cut: never a smaller snapshot, never an exception. */
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pickled } from '../../samples/generate/write/pickle-writer.js';
import { bytesSource, decode } from '../support/decode.js';
import { NIGHTLY, runs } from '../support/level.js';
import { segment, snapshot, snapshotPickle, trace } from '../support/small-snapshot.js';
import { type Bench, corpusPickles, expectSound, openBench, seeded } from './harness.js';

const corpus = NIGHTLY ? corpusPickles() : [];
if (NIGHTLY && corpus.length === 0) console.warn('SKIPPED: no corpus (MBF_CORPUS) to truncate; hand-made pickles only');

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(() => bench.close());

async function expectCut(cuts: readonly Buffer[]): Promise<void> {
  const sources = await bench.takeAll(cuts, 'cut.pickle');
  expect(sources).toHaveLength(cuts.length);
  cuts.forEach(({ length }, i) => {
    expect(sources[i]?.error, `cut to ${length} bytes`).toMatchObject({ code: 'MBF2101', offset: length });
  });
}

function cutPlaces(length: number, count: number, seed: number): number[] {
  const random = seeded(seed);
  return Array.from({ length: count }, () => 2 + Math.floor(random() * (length - 2)));
}

describe('a pickle cut short', () => {
  const odd = [2n ** 70n, 'x'.repeat(300), null];
  const bytes = pickled({ odd, segments: [segment({ blocks: [], frames: [] })], device_traces: [trace(2)] });
  // Within the long string one place is like the next.
  const lengths = Array.from({ length: bytes.length - 2 }, (_, i) => i + 2).filter(
    (length) => bytes[length - 1] !== 0x78,
  );

  it(NIGHTLY ? 'at every single byte cannot be decoded' : 'at every seventh byte cannot be decoded', async () => {
    for (const length of lengths.filter((one) => one % runs(7, 1) === 0)) {
      const decoded = decode(bytesSource(bytes.subarray(0, length)));
      await expect(decoded, `cut to ${length} bytes`).rejects.toMatchObject({
        code: 'MBF2101',
        place: { offset: length },
      });
    }
  });

  it(`at every ${runs(7, 3)} bytes leaves nothing in the store`, async () => {
    expect((await bench.take('whole.pickle', bytes)).source.status).toBe('ingested');
    await expectCut(lengths.filter((length) => length % runs(7, 3) === 0).map((length) => bytes.subarray(0, length)));
    await expectSound(bench.store);
  });

  it('in protocol 2, whose operands are wider', async () => {
    const bytes = pickled(snapshot({ device_traces: [trace(400)] }), { protocol: 2 });
    await expectCut(cutPlaces(bytes.length, runs(20, 100), 2).map((length) => bytes.subarray(0, length)));
  });

  it('of one byte or none', async () => {
    const [none, one] = [Buffer.alloc(0), snapshotPickle().subarray(0, 1)];
    expect((await bench.take('a.pickle', none)).source.error?.code).toBe('MBF2004');
    expect((await bench.take('a.pickle', one)).source.error?.code).toBe('MBF2101');
  });

  it('and compressed, or compressed and then cut', async () => {
    const bytes = pickled(snapshot({ segments: [segment()], device_traces: [trace(3000)] }));
    const complete = gzipSync(bytes);
    for (const length of cutPlaces(bytes.length, runs(5, 20), 3)) {
      const { source } = await bench.take('cut.pickle.gz', gzipSync(bytes.subarray(0, length)));
      expect(source.error).toMatchObject({ code: 'MBF2101', offset: length });
    }
    for (const length of cutPlaces(complete.length, runs(5, 20), 4)) {
      const { source } = await bench.take('cut.pickle.gz', complete.subarray(0, length));
      // A cut within the header leaves no recognizable gzip; after it, gunzip detects the missing end.
      expect(source.error?.code, `cut to ${length} of ${complete.length}`).toMatch(length < 20 ? /^MBF2/ : /^MBF2006$/);
    }
  });

  const itOfCorpus = NIGHTLY ? it.skipIf(corpus.length === 0) : (): void => {};
  const places = runs(0, 200);
  itOfCorpus(`at ${places} random places of real files of every size`, async () => {
    const random = seeded(200);
    const cuts: Buffer[] = [];
    for (let i = 0; i < places; i++) {
      // Mostly small ones, for time; every tenth cut is of the largest.
      const pool = i % 10 === 0 ? corpus.slice(-5) : corpus.slice(0, Math.ceil(corpus.length * 0.6));
      const { bytes } = pool[Math.floor(random() * pool.length)]!;
      cuts.push(bytes.subarray(0, 2 + Math.floor(random() * (bytes.length - 2))));
    }
    await expectCut(cuts);
    await expectSound(bench.store);
  });
});
