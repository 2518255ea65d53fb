/**
 * A replay is only a proof if it notices a model that is wrong: every broken rule must show in an address, a driver
 * entry or the final state.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { finalDifference } from '../../../src/allocator/fidelity/compare-final-state.js';
import type { verifyingReplay } from '../../../src/allocator/replay/verifying-replay.js';
import { ALLOCATOR_VARIANTS, type AllocatorVariant } from '../../../src/allocator/variants.js';
import { sharedBuild } from '../../store/scratch.js';
import { hasPython, skipLoudly, snapshotPickles } from '../../support/corpus.js';
import { sampled } from '../../support/level.js';
import { history, play } from '../history.js';
import { corpusReplays } from './corpus-replays.js';
import { MUTANTS, type Mutant } from './mutants.js';
import { type PreparedRecording, recordPlayed } from './played-recording.js';

interface Model {
  readonly verifyingReplay: typeof verifyingReplay;
  readonly finalDifference: typeof finalDifference;
}

interface Sample {
  readonly prepared: PreparedRecording;
  readonly variant: AllocatorVariant;
}

let compiled = '';
let scratch = '';
let mutantsMade = 0;

/** The compiled model, in a folder of its own, with one change. */
async function modelWith(mutant: Mutant | null): Promise<Model> {
  const folder = join(scratch, String(mutantsMade++));
  mkdirSync(folder);
  for (const room of ['allocator', 'model'])
    cpSync(join(compiled, 'src', room), join(folder, room), { recursive: true });
  if (mutant !== null) {
    const file = join(folder, 'allocator', mutant.file);
    const text = readFileSync(file, 'utf8');
    const parts = text.split(mutant.from);
    if (parts.length !== 2) throw new Error(`the mutant "${mutant.what}" applies ${parts.length - 1} times`);
    writeFileSync(file, parts.join(mutant.to));
  }
  const load = (file: string): Promise<unknown> =>
    import(/* @vite-ignore */ pathToFileURL(join(folder, 'allocator', file)).href);
  const { verifyingReplay } = (await load('replay/verifying-replay.js')) as Model;
  const { finalDifference } = (await load('fidelity/compare-final-state.js')) as Model;
  return { verifyingReplay, finalDifference };
}

function notices(model: Model, { prepared, variant }: Sample): boolean {
  try {
    const outcome = model.verifyingReplay(prepared.recording, variant);
    return (
      outcome.addressMatches !== outcome.allocs ||
      outcome.mismatchCount > 0 ||
      outcome.driverEntryMismatches > 0 ||
      model.finalDifference(outcome.allocator.snapshot(), prepared.dump) !== null
    );
  } catch (error) {
    // A model that contradicts itself is noticed at once; anything else is a bad mutant.
    if ((error as Error).name === 'MbfError') return true;
    throw error;
  }
}

function generated(count: number): Sample[] {
  return fc.sample(history, { numRuns: count, seed: 7 }).map((past) => {
    const steps = past.steps.filter(({ kind }) => kind !== 'pool' && kind !== 'release_pool');
    const plain = { ...past, steps };
    const played = play(plain, () => {}, { isRoomy: true });
    return { prepared: recordPlayed(played, plain, { withStacks: true }), variant: ALLOCATOR_VARIANTS[past.release] };
  });
}

describe('a broken rule of the model', () => {
  let samples: readonly Sample[] = [];
  beforeAll(() => {
    compiled = sharedBuild();
    scratch = mkdtempSync(join(tmpdir(), 'mbf-mutants-'));
    writeFileSync(join(scratch, 'package.json'), '{"type":"module"}');
    samples = generated(800);
  });
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));

  it('is not seen where none is broken', async () => {
    const model = await modelWith(null);
    for (const sample of samples) expect(notices(model, sample)).toBe(false);
  });

  it.each(MUTANTS)('shows in generated histories: $what', async (mutant) => {
    const model = await modelWith(mutant);
    expect(samples.some((sample) => notices(model, sample))).toBe(true);
  });

  if (!hasPython || snapshotPickles().length === 0) skipLoudly('mutants', 'the corpus (set MBF_CORPUS) and python3');
  else {
    it('shows in recordings of real devices', async () => {
      const real = corpusReplays()
        .filter(({ holds }) => holds)
        // The first that notices is enough: short ones first.
        .sort((a, b) => a.columns.recording.events.length - b.columns.recording.events.length)
        .map(({ prepared }) => ({ prepared, variant: ALLOCATOR_VARIANTS['2.7'] }));
      const unmutated = await modelWith(null);
      for (const sample of sampled(real, 3)) expect(notices(unmutated, sample)).toBe(false);
      const seen: string[] = [];
      for (const mutant of MUTANTS.filter(({ isReal }) => isReal)) {
        const model = await modelWith(mutant);
        // Expandable segments and forced flushes are rare in the corpus, so all have to be asked.
        if (real.some((sample) => notices(model, sample))) seen.push(mutant.what);
      }
      expect(seen).toEqual(MUTANTS.filter(({ isReal }) => isReal).map(({ what }) => what));
    });
  }
});
