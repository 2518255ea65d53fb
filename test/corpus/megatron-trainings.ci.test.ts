/**
 * Trainings of real Megatron-LM, recorded by torch itself: what is attributed to its own objects, the projected peak of
 * a step, and our estimate from nothing but its arguments; against the storages of its parameters, gradients and
 * optimizer states, the step that followed, and the peak of the rank that was recorded.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { readStepClocks } from '../../src/derive/verdict/step-clock.js';
import { passedSteps } from '../../src/derive/verdict/trace-facts.js';
import type { EstimateResult } from '../../src/model/results/estimate.js';
import { openStore } from '../../src/store/open-store.js';
import type { Store } from '../../src/store/store.js';
import { buildCli } from '../support/cli.js';
import { CORPUS } from '../support/corpus.js';
import { storeOf } from '../support/stores.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { corpusSuite, namesIn } from './corpus-suite.js';

const TRAININGS = join(CORPUS, 'megatron');
const snapshotOf = (run: string): string => join(TRAININGS, run, 'snapshot.pickle.gz');
const recorded = namesIn('megatron').filter((run) => existsSync(snapshotOf(run)));
const truths = namesIn('megatron', 'truth')
  .filter((name) => name.endsWith('.json.gz'))
  .map((name) => name.replace('.json.gz', ''));

interface Truth {
  readonly rank: number;
  readonly world: number;
  readonly args: readonly string[];
  readonly oom: string | null;
  readonly marks: readonly Readonly<{ mark: string; allocated: number; peak_allocated: number }>[];
  readonly objects_total: Readonly<Record<'parameter' | 'gradient' | 'optimizer', number>>;
}

const truthOf = (name: string): Truth =>
  JSON.parse(gunzipSync(readFileSync(join(TRAININGS, 'truth', `${name}.json.gz`))).toString()) as Truth;

/** Bytes of its own objects, by component, are those of the truth but for `most`. */
function expectObjects(found: ReadonlyMap<unknown, number>, { objects_total: truth }: Truth, most: number): void {
  const { parameter, gradient, optimizer } = truth;
  for (const [component, bytes] of Object.entries({ parameter, gradient, optimizer_state: optimizer }))
    expect(Math.abs((found.get(component) ?? 0) - bytes), component).toBeLessThanOrEqual(most);
}

/** Requested bytes of the components that are live at the end. */
const AT_END = `SELECT component, sum(requested_bytes)::DOUBLE AS bytes FROM allocation_component
  WHERE free_completed_seq IS NULL GROUP BY component`;
const UNATTRIBUTED = `SELECT coalesce(sum(bytes) FILTER (component = 'unattributed'), 0) / sum(bytes) AS share
  FROM peak_component`;

/**
 * Of every whole step but the first, as if it failed at its last entry: projected over the peak that followed, less 1.
 */
async function projections(store: Store) {
  const projected: { readonly step: number; readonly off: number; readonly alikeShare: number }[] = [];
  const id = { snapshot_id: 1, device: 0 };
  const { starts_empty: startsEmpty } = (await store.one('history.summary', id))!;
  const oom = { ...id, seq: 2 ** 31 - 1, starts_empty: startsEmpty };
  const spans = (await readStepClocks(store, [oom]))[0]?.spans ?? [];
  const [whole] = await passedSteps(store, [{ ...oom, spans }]);
  const asked = [...spans.entries()].filter(([step, span]) => step > 0 && span.whole);
  const passed = await passedSteps(
    store,
    asked.map(([step, { lastSeq }]) => ({ ...oom, seq: lastSeq, spans: spans.slice(0, step) })),
  );
  for (const [i, [step]] of asked.entries()) {
    const { projected_bytes, alike_share } = passed[i]!.projection;
    projected.push({ step, off: projected_bytes! / whole!.steps[step]!.peak_bytes - 1, alikeShare: alike_share! });
  }
  return projected;
}

corpusSuite('a recording of Megatron-LM', recorded, () => {
  it.each(recorded)('has its parameters, gradients and optimizer states, and steps as projected: %s', async (run) => {
    const store = await openStore(storeOf(snapshotOf(run)), { mode: 'read' });
    try {
      const truth = truthOf(run);
      const atEnd = await store.select(AT_END);
      expectObjects(new Map(atEnd.map((row) => [row['component'], Number(row['bytes'])])), truth, 1024);
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

/** Of the peak and of what stays between steps, relative. */
const MOST_OFF = 0.02;
/** Bytes by which blocks without elements differ: flags, and the padding of buckets that the count leaves out. */
const EXACT = 4096;

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

corpusSuite('estimate of a training of Megatron-LM', truths, () => {
  const directory = temporaryDirectory();

  it.each(truths)('is within 2 % of its peak: %s', (name) => {
    const truth = truthOf(name);
    const script = join(directory, 'launch.sh');
    writeFileSync(script, `#!/bin/bash\ntorchrun pretrain_gpt.py ${truth.args.map(quoted).join(' ')}\n`);
    // Neither Transformer Engine nor apex was there; the arguments do not show that.
    const changes = ['--set', `world=${truth.world}`, '--set', 'use_torch_optimizer=true'];
    const result = buildCli()
      .expect(0, ['estimate', '--config', script, ...changes, '--json=full'])
      .json<EstimateResult>();
    const stage = result.stages[Math.floor(truth.rank / (truth.world / result.stages.length))]!;
    expectObjects(new Map(stage.components.map((component) => [component.name, component.bytes])), truth, EXACT);
    const first = truth.marks.find(({ mark }) => mark === 'after step 1')!;
    const last = truth.marks.at(-1)!;
    const figures: readonly (readonly [string, number, number])[] = [
      ['first step', stage.first_step_allocated_bytes, first.peak_allocated],
      ['resident', stage.resident_bytes, truth.oom === null ? last.allocated : first.allocated],
      // A step that failed did not come to its peak.
      ...(truth.oom === null ? [['peak', stage.allocated_bytes, last.peak_allocated] as const] : []),
    ];
    const off = (estimated: number, measured: number): number => estimated / measured - 1;
    console.info(name, figures.map(([what, ...pair]) => `${what} ${(100 * off(...pair)).toFixed(2)} %`).join(', '));
    for (const [what, ...pair] of figures) expect(Math.abs(off(...pair)), what).toBeLessThanOrEqual(MOST_OFF);
  });
});
