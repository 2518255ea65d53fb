/**
 * Recordings of real Megatron-LM: what is attributed to its own objects, and the projected peak of a step, against the
 * storages of the objects and the step that followed.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { ingestPaths } from '../../src/cli/ingest-paths.js';
import { readStepClock } from '../../src/findings/verdict/step-clock.js';
import { passedSteps, projectStep } from '../../src/findings/verdict/trace-facts.js';
import type { Store } from '../../src/store/store.js';
import { CORPUS, skipLoudly } from '../support/corpus.js';
import { newStore } from '../support/new-store.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const TRAININGS = join(CORPUS, 'megatron');
const runs = existsSync(TRAININGS)
  ? readdirSync(TRAININGS).filter((name) => existsSync(join(TRAININGS, name, 'snapshot.pickle.gz')))
  : [];

/** Requested bytes of the components that are live at the end. */
const AT_END = `SELECT component, sum(requested_bytes)::DOUBLE AS bytes FROM allocation_component
  WHERE free_completed_seq IS NULL GROUP BY component`;
const UNATTRIBUTED = `SELECT coalesce(sum(bytes) FILTER (component = 'unattributed'), 0) / sum(bytes) AS share FROM peak_component`;

interface Projected {
  readonly step: number;
  /** Projected over the peak that followed, less 1. */
  readonly off: number;
  readonly alikeShare: number;
}

/** Of every whole step but the first, as if it failed at its last entry. */
async function projections(store: Store): Promise<Projected[]> {
  const projected: Projected[] = [];
  const id = { snapshot_id: 1, device: 0 };
  const { starts_empty: startsEmpty } = (await store.one('history.summary', id))!;
  const spans = (await readStepClock(store, 1, 0, 2 ** 31 - 1, startsEmpty))?.spans ?? [];
  const steps = await passedSteps(store, id, spans, startsEmpty);
  for (const [step, { lastSeq, whole }] of spans.entries()) {
    if (step === 0 || !whole) continue;
    const before = [spans.slice(0, step), steps.slice(0, step)] as const;
    const { projected_bytes, alike_share } = await projectStep(store, id, ...before, startsEmpty, lastSeq);
    projected.push({ step, off: projected_bytes! / steps[step]!.peak_bytes - 1, alikeShare: alike_share! });
  }
  return projected;
}

describe.skipIf(runs.length === 0)('a recording of Megatron-LM', () => {
  const folder = temporaryDirectory();

  it.each(runs)('has its parameters, gradients and optimizer states, and steps as projected: %s', async (run) => {
    const store = await newStore(join(folder, `${run}.duckdb`));
    try {
      await ingestPaths({ store, paths: [join(TRAININGS, run, 'snapshot.pickle.gz')], now: new Date(0) });
      const truth = JSON.parse(gunzipSync(readFileSync(join(TRAININGS, 'truth', `${run}.json.gz`))).toString()) as {
        readonly objects_total: Readonly<Record<'parameter' | 'gradient' | 'optimizer', number>>;
        readonly oom: unknown;
      };
      const atEnd = new Map((await store.select(AT_END)).map((row) => [row['component'], Number(row['bytes'])]));
      const { parameter, gradient, optimizer } = truth.objects_total;
      for (const [component, bytes] of Object.entries({ parameter, gradient, optimizer_state: optimizer }))
        expect(Math.abs((atEnd.get(component) ?? 0) - bytes), component).toBeLessThanOrEqual(1024);
      expect(Number((await store.select(UNATTRIBUTED))[0]!['share'])).toBeLessThanOrEqual(1e-4);

      const steps = await projections(store);
      if (truth.oom === null) expect(steps.length).toBeGreaterThan(0);
      for (const { off, alikeShare } of steps) {
        expect(Math.abs(off)).toBeLessThanOrEqual(0.01);
        expect(alikeShare).toBeGreaterThanOrEqual(0.95);
      }
      console.info(run, steps.map(({ step, off }) => `step ${step}: ${(100 * off).toFixed(2)} %`).join(', '));
    } finally {
      await store.close();
    }
  });
});

if (runs.length === 0) skipLoudly('recordings of Megatron-LM', 'the corpus (set MBF_CORPUS)');
