/** What must hold of pickles that are cut, or whose opcodes and bytes are changed. */
import { expect } from 'vitest';
import { pickled } from '../../samples/generate/write/pickle-writer.js';
import { mutateBytes } from '../fuzz/mutate-bytes.js';
import { mutatePickle } from '../fuzz/mutate-pickle.js';
import { frame, segment, snapshot, trace } from '../support/small-snapshot.js';
import { changedBytes, expectSound, openBench, seeded } from './harness.js';

/** Each is one error about the cut, and nothing of it is stored. */
export async function expectCuts(cuts: readonly Buffer[]): Promise<void> {
  const bench = await openBench();
  try {
    const sources = await bench.takeAll(cuts, 'cut.pickle');
    expect(sources).toHaveLength(cuts.length);
    cuts.forEach(({ length }, i) => {
      expect(sources[i]?.error, `cut to ${length} bytes`).toMatchObject({ code: 'MBF2101', offset: length });
    });
    await expectSound(bench.store);
  } finally {
    await bench.close();
  }
}

/** Lengths of at least two bytes. */
export function cutPlaces(length: number, count: number, seed: number): number[] {
  const random = seeded(seed);
  return Array.from({ length: count }, () => 2 + Math.floor(random() * (length - 2)));
}

export const HAND_MADE = [2, 4].map((protocol) =>
  pickled(
    snapshot({
      segments: [segment(), segment({ address: 0x7f11_0000_0000, frames: [frame('other')] })],
      device_traces: [[], trace(300)],
      external_annotations: [{ stage: 'START', name: 'step', device: 0, time_us: 5 }],
    }),
    { protocol },
  ),
);

/** Fewer need not end in all ways. */
const ENOUGH = 100;

/** Each is one clear error or a clean ingest; some of both, or they prove nothing. */
export async function expectMutants(count: number, seed: number, originals: readonly Buffer[]): Promise<void> {
  const bench = await openBench();
  try {
    const random = seeded(seed);
    const pick = (): Buffer => originals[Math.floor(random() * originals.length)]!;
    const files = Array.from({ length: count }, () => {
      const bytes = pick();
      // Most changes of opcodes are refused; of bytes, many are in texts and numbers.
      if (random() < 0.5) return changedBytes(bytes, random, 1 + Math.floor(random() * 3));
      return (random() < 0.7 ? mutatePickle : mutateBytes)(bytes, random, pick());
    });
    const sources = await bench.takeAll(files, 'mutated.pickle');
    expect(sources).toHaveLength(files.length);
    // With a first byte that is not a pickle's, the file is foreign, and a directory may contain it.
    const outcomes = sources.map(({ status, error }) => error?.code ?? status);
    const countOf = (outcome: string): number => outcomes.filter((one) => one === outcome).length;
    for (const outcome of outcomes) expect(outcome).toMatch(/^(?:MBF2\d{3}|ingested|skipped)$/);
    console.info(`of ${count} changed pickles ${countOf('ingested')} were ingested, ${countOf('skipped')} skipped`);
    await expectSound(bench.store);
    if (count < ENOUGH) return;
    expect(countOf('skipped')).toBeLessThan(count / 5);
    expect(countOf('ingested')).toBeGreaterThan(count / 20);
    expect(count - countOf('ingested')).toBeGreaterThan(count / 3);
    expect(new Set(outcomes).size).toBeGreaterThan(5);
  } finally {
    await bench.close();
  }
}
