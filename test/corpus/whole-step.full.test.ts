/** The projected peak of a step, against the step that followed, on recordings of real Megatron-LM. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { readStepClock } from '../../src/findings/verdict/step-clock.js';
import { passedSteps, projectStep } from '../../src/findings/verdict/trace-facts.js';
import { ingest } from '../../src/ingest/ingest.js';
import { pushAll } from '../../src/model/lists.js';
import type { Store } from '../../src/store/store.js';
import { CORPUS, skipLoudly } from '../support/corpus.js';
import { newStore } from '../support/new-store.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const TRAININGS = join(CORPUS, 'megatron');
const runs = existsSync(TRAININGS)
  ? readdirSync(TRAININGS).filter((name) => existsSync(join(TRAININGS, name, 'snapshot.pickle.gz')))
  : [];

interface Compared {
  readonly run: string;
  readonly step: number;
  /** Projected over the peak that followed, less 1. */
  readonly off: number;
  readonly alikeShare: number;
}

/** Of every whole step but the first, as if it failed at its last entry. */
async function projections(store: Store, run: string): Promise<Compared[]> {
  await ingest({ store, parsers: PARSERS, paths: [join(TRAININGS, run, 'snapshot.pickle.gz')], now: new Date(0) });
  const compared: Compared[] = [];
  const id = { snapshot_id: 1, device: 0 };
  const { starts_empty: startsEmpty } = (await store.one('history.summary', id))!;
  const spans = (await readStepClock(store, 1, 0, 2 ** 31 - 1, startsEmpty))?.spans ?? [];
  const steps = await passedSteps(store, id, spans, startsEmpty);
  for (const [step, { lastSeq, whole }] of spans.entries()) {
    if (step === 0 || !whole) continue;
    const before = [spans.slice(0, step), steps.slice(0, step)] as const;
    const { projected_bytes, alike_share } = await projectStep(store, id, ...before, startsEmpty, lastSeq);
    compared.push({ run, step, off: projected_bytes! / steps[step]!.peak_bytes - 1, alikeShare: alike_share! });
  }
  return compared;
}

describe.skipIf(runs.length === 0)('the projected peak of a step', () => {
  const folder = temporaryDirectory();

  it('is within 1 % of the step that follows, from any whole step before it', async () => {
    const all: Compared[] = [];
    for (const run of runs) {
      const store = await newStore(join(folder, `${run}.duckdb`));
      try {
        pushAll(all, await projections(store, run));
      } finally {
        await store.close();
      }
    }
    console.info(
      all
        .map(
          ({ run, step, off, alikeShare }) =>
            `${run} ${step}: ${(100 * off).toFixed(2)} %, alike ${alikeShare.toFixed(4)}`,
        )
        .join('\n'),
    );
    expect(all.length).toBeGreaterThan(runs.length / 2);
    expect(all.filter(({ off }) => Math.abs(off) > 0.01)).toEqual([]);
    expect(all.filter(({ alikeShare }) => alikeShare < 0.95)).toEqual([]);
  });
});

if (runs.length === 0) skipLoudly('projected steps', 'recordings of Megatron-LM (set MBF_CORPUS)');
