/**
 * A replay is only a proof if it notices a model that is wrong: every broken rule must show in an address, a driver
 * entry or the final state. `mutants.tsv`: one rule broken at a time, as a change of the compiled text that must apply
 * exactly once (a blank matches any white space), and whether recordings of real devices notice it too.
 *
 * Not mutants, for they change nothing: divisions from 512 × divisions on instead of above it (512 × a power of two is
 * one, which both rules leave as it is), and merging with the block behind first (both are out of their sets before).
 */
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { finalDifference } from '../../../src/allocator/fidelity/compare-final-state.js';
import type { verifyingReplay } from '../../../src/allocator/replay/verifying-replay.js';
import { ALLOCATOR_VARIANTS, type AllocatorVariant } from '../../../src/allocator/variants.js';
import { scratchDirectory, sharedBuild } from '../../store/scratch.js';
import { hasPython, skipLoudly, snapshotPickles } from '../../support/corpus.js';
import { history, play } from '../history.js';
import { corpusReplays } from './corpus-replays.js';
import { type PreparedRecording, recordPlayed, withoutPools } from './played-recording.js';

interface Mutant {
  /** Compiled file of `src/allocator`. */
  readonly file: string;
  readonly isReal: boolean;
  readonly what: string;
  readonly from: RegExp;
  readonly to: string;
}

const MUTANTS: readonly Mutant[] = readFileSync(join(import.meta.dirname, 'mutants.tsv'), 'utf8')
  .trimEnd()
  .split('\n')
  .slice(1)
  .map((line) => {
    const [file = '', real, what = '', from = '', to = ''] = line.split('\t');
    const pattern = from.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&').replaceAll(' ', '\\s+');
    return { file: `${file}.js`, isReal: real === 'yes', what, from: new RegExp(pattern), to };
  });

interface Model {
  readonly verifyingReplay: typeof verifyingReplay;
  readonly finalDifference: typeof finalDifference;
}

interface Sample {
  readonly prepared: PreparedRecording;
  readonly variant: AllocatorVariant;
}

/** The compiled model, in a folder of its own, with one change. */
async function modelWith(mutant: Mutant | null): Promise<Model> {
  const scratch = scratchDirectory();
  const folder = join(scratch, 'src');
  writeFileSync(join(scratch, 'package.json'), '{"type":"module"}');
  for (const part of ['src/allocator', 'src/model', 'queries'])
    cpSync(join(sharedBuild(), part), join(scratch, part), { recursive: true });
  if (mutant !== null) {
    const file = join(folder, 'allocator', mutant.file);
    const parts = readFileSync(file, 'utf8').split(mutant.from);
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

const pasts = fc.sample(history, { numRuns: 800, seed: 7 }).map(withoutPools);
const made: Sample[] = [];

/** Played when they are needed: most mutants are noticed soon. */
function* generated(): Generator<Sample> {
  for (const [i, past] of pasts.entries()) {
    made[i] ??= {
      prepared: recordPlayed(
        play(past, () => {}, { isRoomy: true }),
        past,
        { withStacks: true },
      ),
      variant: ALLOCATOR_VARIANTS[past.release],
    };
    yield made[i];
  }
}

let read: Sample[] | undefined;

/** The first that notices is enough: short ones first. */
function real(): Sample[] {
  read ??= corpusReplays()
    .filter(({ holds }) => holds)
    .sort((a, b) => a.columns.recording.events.length - b.columns.recording.events.length)
    .map(({ prepared }) => ({ prepared, variant: ALLOCATOR_VARIANTS['2.7'] }));
  return read;
}

describe.each([
  ['generated histories', generated, MUTANTS, true],
  [
    'recordings of real devices',
    real,
    MUTANTS.filter(({ isReal }) => isReal),
    hasPython && snapshotPickles().length > 0,
  ],
] as const)('a broken rule of the model, in %s', (where, samples, mutants, canRun) => {
  if (!canRun) {
    skipLoudly(`mutants in ${where}`, 'the corpus (set MBF_CORPUS) and python3');
    return;
  }
  it('is not seen where none is broken', async () => {
    const model = await modelWith(null);
    for (const sample of samples()) expect(notices(model, sample)).toBe(false);
  });

  it.each(mutants)('shows: $what', async (mutant) => {
    const model = await modelWith(mutant);
    let isSeen = false;
    for (const sample of samples()) {
      isSeen = notices(model, sample);
      if (isSeen) break;
    }
    expect(isSeen).toBe(true);
  });
});
