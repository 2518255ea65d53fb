/** A pickle cut anywhere gives one error about the cut, never a smaller snapshot; changed ones are read or refused. */
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { pickled } from '../../samples/generate/write/pickle-writer.js';
import { bytesSource, decode } from '../support/decode.js';
import { runs, SEED } from '../support/level.js';
import { segment, snapshot, snapshotPickle, trace } from '../support/small-snapshot.js';
import { cutPlaces, expectCuts, expectMutants, HAND_MADE } from './damaged-pickles.js';
import { openBench } from './harness.js';

describe('a pickle cut short', () => {
  const odd = [2n ** 70n, 'x'.repeat(300), null];
  const bytes = pickled({ odd, segments: [segment({ blocks: [], frames: [] })], device_traces: [trace(2)] });
  // Within the long string one place is like the next.
  const lengths = Array.from({ length: bytes.length - 2 }, (_, i) => i + 2).filter(
    (length) => bytes[length - 1] !== 0x78,
  );

  it(`at every ${runs(29, 1)} bytes cannot be decoded`, async () => {
    for (const length of lengths.filter((one) => one % runs(29, 1) === 0)) {
      const decoded = decode(bytesSource(bytes.subarray(0, length)));
      await expect(decoded, `cut to ${length} bytes`).rejects.toMatchObject({
        ...{ code: 'MBF2101', place: { offset: length } },
      });
    }
  });

  it(`at every ${runs(29, 3)} bytes leaves nothing in the store`, () =>
    expectCuts(lengths.filter((length) => length % runs(29, 3) === 0).map((length) => bytes.subarray(0, length))));

  it('in protocol 2, whose operands are wider', async () => {
    const wide = pickled(snapshot({ device_traces: [trace(400)] }), { protocol: 2 });
    await expectCuts(cutPlaces(wide.length, runs(20, 100), 2).map((length) => wide.subarray(0, length)));
  });

  it('to one byte or none, whole, and compressed before or after the cut', async () => {
    const bench = await openBench();
    expect((await bench.take('whole.pickle', bytes)).source.status).toBe('ingested');
    expect((await bench.take('a.pickle', Buffer.alloc(0))).source.error?.code).toBe('MBF2004');
    expect((await bench.take('a.pickle', snapshotPickle().subarray(0, 1))).source.error?.code).toBe('MBF2101');
    const large = pickled(snapshot({ segments: [segment()], device_traces: [trace(3000)] }));
    const complete = gzipSync(large);
    for (const length of cutPlaces(large.length, runs(5, 20), 3)) {
      const { source } = await bench.take('cut.pickle.gz', gzipSync(large.subarray(0, length)));
      expect(source.error).toMatchObject({ code: 'MBF2101', offset: length });
    }
    for (const length of cutPlaces(complete.length, runs(5, 20), 4)) {
      const { source } = await bench.take('cut.pickle.gz', complete.subarray(0, length));
      // A cut within the header leaves no recognizable gzip; after it, gunzip detects the missing end.
      expect(source.error?.code, `cut to ${length} of ${complete.length}`).toMatch(length < 20 ? /^MBF2/ : /^MBF2006$/);
    }
    await bench.close();
  });
});

it('160 changed pickles are read or refused', () => expectMutants(160, SEED, HAND_MADE));
