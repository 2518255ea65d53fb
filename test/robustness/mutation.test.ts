/**
 * Real files with bytes overwritten, inserted, removed or copied: each is one clear error or a clean ingest, and
 * nothing in between.
 */
import { afterAll, describe, expect, it } from 'vitest';
import { OP, pickled } from '../../samples/generate/write/pickle-writer.js';
import { NIGHTLY, runs } from '../support/level.js';
import { frame, segment, snapshot, trace } from '../support/small-snapshot.js';
import { corpusPickles, expectSound, openBench, seeded } from './harness.js';

const corpus = NIGHTLY ? corpusPickles() : [];
if (NIGHTLY && corpus.length === 0) console.warn('SKIPPED: no corpus (MBF_CORPUS) to mutate; hand-made pickles only');

const OPCODES = Object.values(OP);
const COUNT = runs(160, 1_000);
const CHUNKS = runs(2, 5);

const handMade = [2, 4].map((protocol) => ({
  name: `hand-made ${protocol}`,
  bytes: pickled(
    snapshot({
      segments: [segment(), segment({ address: 0x7f11_0000_0000, frames: [frame('other')] })],
      device_traces: [[], trace(300)],
      external_annotations: [{ stage: 'START', name: 'step', device: 0, time_us: 5 }],
    }),
    { protocol },
  ),
}));

/**
 * One to four edits; edits of opcodes and lengths do more than edits of text, so half of the bytes written are opcodes.
 */
function mutated(bytes: Buffer, random: () => number): Buffer {
  let result = Buffer.from(bytes);
  const edits = 1 + Math.floor(random() * 4);
  for (let i = 0; i < edits; i++) {
    const at = Math.floor(random() * result.length);
    const value = random() < 0.5 ? OPCODES[Math.floor(random() * OPCODES.length)]! : Math.floor(random() * 256);
    const kind = random();
    if (kind < 0.55) result[at] = value;
    else if (kind < 0.7) result[at] = result[at]! ^ (1 << Math.floor(random() * 8));
    else if (kind < 0.8) result = Buffer.concat([result.subarray(0, at), Buffer.from([value]), result.subarray(at)]);
    else if (kind < 0.9) {
      result = Buffer.concat([result.subarray(0, at), result.subarray(at + 1 + Math.floor(random() * 8))]);
    } else {
      const length = 1 + Math.floor(random() * 200);
      const from = Math.floor(random() * result.length);
      result = Buffer.concat([result.subarray(0, at), result.subarray(from, from + length), result.subarray(at)]);
    }
  }
  return result;
}

/** Small files for 19 of 20: what breaks a decoder is the structure, and a small file is nearly all structure. */
function pick(i: number, random: () => number): Buffer {
  if (corpus.length === 0 || i % 4 === 0) return handMade[Math.floor(random() * handMade.length)]!.bytes;
  const small = corpus.filter(({ bytes }) => bytes.length < 400_000);
  const pool = i % 20 === 1 || small.length === 0 ? corpus : small;
  return pool[Math.floor(random() * pool.length)]!.bytes;
}

const tally = new Map<string, number>();
afterAll(() => {
  console.info(
    [...tally]
      .sort()
      .map(([outcome, count]) => `${outcome} ${count}`)
      .join(', '),
  );
});

describe(`${COUNT} mutated pickles`, () => {
  it.each(Array.from({ length: CHUNKS }, (_, chunk) => chunk))('part %i', async (chunk) => {
    const bench = await openBench();
    try {
      const random = seeded(1000 + chunk);
      const files = Array.from({ length: COUNT / CHUNKS }, (_, i) => mutated(pick(i, random), random));
      const sources = await bench.takeAll(files, 'mutated.pickle');
      let skipped = 0;
      for (const source of sources) {
        // With a first byte that is not a pickle's, the file is foreign, and a directory may contain it.
        if (source.status === 'skipped') skipped += 1;
        else expect(['ingested', 'failed'], source.path).toContain(source.status);
        const outcome = source.status === 'failed' ? source.error!.code : source.status;
        tally.set(outcome, (tally.get(outcome) ?? 0) + 1);
      }
      expect(sources).toHaveLength(files.length);
      expect(skipped).toBeLessThan(files.length / 20);
      await expectSound(bench.store);
    } finally {
      await bench.close();
    }
  });

  it('come out in both ways, or they prove nothing', () => {
    expect([...tally.values()].reduce((sum, count) => sum + count, 0)).toBe(COUNT);
    expect(tally.get('ingested')).toBeGreaterThan(COUNT / 20);
    expect(COUNT - tally.get('ingested')!).toBeGreaterThan(COUNT / 3);
    expect(tally.size).toBeGreaterThan(5);
  });
});
