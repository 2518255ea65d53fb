/**
 * Advice on generated incidents, whose deficit of the whole step is known: nothing marked `enough` falls short of it,
 * and the first advice is one that an expert would give. Of every cause one seed, nightly 20; `MBF_ADVICE_SEEDS` and
 * `MBF_ADVICE_FIRST_SEED` choose others.
 */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CAUSES_TO_GENERATE } from '../../../samples/generate/causes/index.js';
import { TRUTH_NAME } from '../../../samples/generate/write/run-directory.js';
import { advise } from '../../../src/findings/advice/advise.js';
import { diagnose } from '../../../src/findings/flows/diagnose.js';
import { readSituation } from '../../../src/findings/flows/read-situation.js';
import { openStore } from '../../../src/store/open-store.js';
import { runs } from '../../support/level.js';
import type { RunTruth } from '../../support/run-truth.js';
import { generatedRun, storeOf } from '../../support/stores.js';

const SEEDS = Number(process.env['MBF_ADVICE_SEEDS'] ?? runs(1, 20));
const FIRST_SEED = Number(process.env['MBF_ADVICE_FIRST_SEED'] ?? 7000);
/** Of all incidents, the share whose first advice is among those below. */
const LEAST_ACCEPTED = 0.95;

/** Less in a step, for any device that is truly full; all act on what fills it, and none changes what is trained. */
const LESS = 'micro-batch recompute cp pp distributed-optimizer precision-aware-optimizer';
const HOST = 'fewer-workers host-optimizer-offload host-activation-offload synchronous-save';
const SHARDS = 'sequence-parallel ep megatron-fsdp fp8-parameters';

/**
 * First advice that an expert would accept, by cause and not by what the program answers: starts of ids of fixes, and
 * steps of a verdict where no setting is the answer.
 */
const ACCEPTED: Readonly<Record<string, string>> = {
  // Free memory is enough in sum: expandable segments join it. On already or refuted by replay: what holds the pieces.
  'fragmentation-split-remainder': 'expandable-segments find_pinning free_pinning',
  // Expandable segments of another stream cannot be reused either, unless a replay shows it.
  'fragmentation-other-stream': 'expandable-segments same_stream',
  // Small blocks hold large pages: free them, or ask for less at once.
  'fragmentation-page-pinning': 'free_pinning find_pinning expandable-segments micro-batch recompute cp',
  // The setting itself is the cause.
  'fragmentation-oversize-rule': 'expandable-segments lower_oversize_rounding raise_max_split',
  capacity: `${LESS} ${SHARDS}`,
  // The device has room for others, or for this process.
  'other-process': 'find_holder find_process end_processes',
  // Free, where a replay with it serves the request. In words: fewer communicators or channels.
  'nccl-growth':
    'expandable-segments undo_nccl_settings fewer_communicators count_communicators nvls-off see_nsys nccl_headroom',
  leak: 'look_at_site find_kept_tensors compare_snapshots',
  'graph-pools': 'smaller_graphs graph_headroom graph-stream-reuse graphs-off',
  'pending-frees': 'record_stream avoid-record-streams expandable-segments',
  // Smaller logits, or less of everything else on that stage.
  'transient-logits-spike': 'smaller_logits cross-entropy-fusion micro-batch cp tp sequence-parallel recompute',
  // Layers move, or the stage keeps less of each micro-batch.
  imbalance: `rebalance-layers move_layers ${LESS}`,
  // A matrix of the square of the sequence length is not to be made at all.
  'impossible-request': 'attention-mask-off fused-attention check_shape',
  'checkpoint-save-spike': 'sharded-checkpoint sharded_checkpoint',
  'fraction-limit': 'memory-fraction raise_fraction',
  'host-oom': `${HOST} raise_host_limit raise_host_memory fewer_workers enlarge_shm`,
};

interface Outcome {
  readonly name: string;
  readonly first: string | null;
  readonly isAccepted: boolean;
  /** Fixes that are called enough and save less than the deficit of the whole step. */
  readonly falselyEnough: readonly string[];
}

async function adviceOn(name: string, seed: number): Promise<Outcome> {
  const folder = generatedRun(name, seed);
  const truth = JSON.parse(readFileSync(join(folder, TRUTH_NAME), 'utf8')) as RunTruth;
  const db = storeOf(join(folder, 'run'));
  const store = await openStore(db, { mode: 'read' });
  try {
    const [row] = await store.all('store.runs', { run_id: null });
    const found = await diagnose(store, row!.run_id, row!.name, { advises: true });
    const situation = await readSituation(store, row!.run_id, found, null);
    const { fixes, plan, actions } = advise(situation);
    const deficit = truth.step_deficit_bytes;
    const enough = fixes.filter(({ closes, status }) => closes === true && status !== 'forbidden');
    const short = enough.filter(({ saving_bytes: bytes }) => deficit !== null && deficit > 0 && (bytes ?? 0) < deficit);
    const together =
      plan?.closes === true && deficit !== null && deficit > (plan.saving_bytes ?? 0) ? ['the plan'] : [];
    const [action] = actions;
    const first = action?.fixes[0] ?? action?.step?.kind ?? null;
    return {
      name: `${name} ${seed}`,
      first,
      isAccepted: truth.is_oom
        ? first !== null && ACCEPTED[name]!.split(' ').some((start) => first.startsWith(start))
        : actions.every(({ fixes: ids }) => ids.length === 0),
      falselyEnough: [...short.map(({ id }) => id), ...together],
    };
  } finally {
    await store.close();
    // Others use the first seeds; hundreds of stores would fill the disk.
    if (seed >= FIRST_SEED + 100) for (const path of [folder, db]) rmSync(path, { recursive: true, force: true });
  }
}

const INCIDENTS = Array.from({ length: SEEDS }, (_, n) =>
  CAUSES_TO_GENERATE.map(({ name }, i) => [name, FIRST_SEED + 100 * n + i] as const),
).flat();

describe('advice on generated incidents', () => {
  const outcomes: Outcome[] = [];

  it.each(INCIDENTS)('%s %i: nothing is called enough that is not', async (name, seed) => {
    const outcome = await adviceOn(name, seed);
    outcomes.push(outcome);
    expect(outcome.falselyEnough, outcome.name).toEqual([]);
  });

  it('begins with what an expert would do', () => {
    const refused = outcomes.filter(({ isAccepted }) => !isAccepted);
    const text = refused.map(({ name, first }) => `${name}: ${first}`).join('\n');
    console.log(`${outcomes.length - refused.length} of ${outcomes.length} first advices are accepted\n${text}`);
    expect(refused.length, text).toBeLessThanOrEqual(Math.ceil((1 - LEAST_ACCEPTED) * outcomes.length));
  });
});
