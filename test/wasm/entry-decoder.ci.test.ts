/** Entries of real and of changed pickles, decoded in WebAssembly and in the general way. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../samples/generate/simulate/random.js';
import { pickled } from '../../samples/generate/write/pickle-writer.js';
import { type Mutator, mutateBytes, pickOf } from '../fuzz/mutate-bytes.js';
import { mutatePickle } from '../fuzz/mutate-pickle.js';
import { changedBytes } from '../robustness/harness.js';
import { SNAPSHOTS, skipLoudly, snapshotPickles } from '../support/corpus.js';
import { runs, SEED } from '../support/level.js';
import { snapshot, trace } from '../support/small-snapshot.js';
import { readPickle } from './both-ways.js';

async function expectSame(bytes: Buffer, what: string) {
  const general = await readPickle(bytes, { isFast: false });
  const fast = await readPickle(bytes);
  expect(fast.outcome, what).toEqual(general.outcome);
  expect(fast.summary, what).toEqual(general.summary);
  return fast;
}

describe('entries decoded in WebAssembly', () => {
  const names = snapshotPickles();
  if (names.length === 0) skipLoudly('entries of real snapshots', 'the corpus (MBF_CORPUS)');
  it.each(names)('of %s are those of the general way', async (name) => {
    await expectSame(readFileSync(join(SNAPSHOTS, name)), name);
  });

  it('of changed pickles are those of the general way, or both refuse them alike', async () => {
    const random = createRandom(SEED);
    const originals = [4, 5].map((protocol) =>
      pickled(snapshot({ device_traces: [trace(200), trace(80)], padding: 'x'.repeat(4500) }), { protocol }),
    );
    const mutators: Mutator[] = [
      mutatePickle,
      mutateBytes,
      (bytes) => changedBytes(bytes, random, 1 + Math.floor(random() * 3), 500, bytes.length - 4500),
    ];
    const outcomes = { read: 0, refused: 0 };
    let fastEntries = 0;
    for (let run = 0; run < runs(600, 60_000); run++) {
      const bytes = pickOf(random, mutators)(pickOf(random, originals), random, pickOf(random, originals));
      const { outcome, ...ways } = await expectSame(bytes, `run ${run} of seed ${SEED}`);
      outcomes[typeof outcome === 'string' ? 'refused' : 'read'] += 1;
      fastEntries += ways.fastEntries;
    }
    expect(outcomes.read).toBeGreaterThan(100);
    expect(outcomes.refused).toBeGreaterThan(100);
    expect(fastEntries).toBeGreaterThan(5000);
  });
});
