/** The situation of a run of the store: its verdict, its configuration, and what was live. */

import { readRunInputs } from '../../derive/estimate/run-inputs.js';
import { readLogFacts } from '../../derive/run/log-facts.js';
import { completedIterations, readRunTexts } from '../../derive/run/run-texts.js';
import { factsOfRun } from '../../derive/settings/facts-of-run.js';
import type { Diagnosis } from '../../model/results/common.js';
import type { Verdict } from '../../model/verdict.js';
import type { Store } from '../../store/store.js';
import type { Situation } from '../advice/situation.js';

export async function readSituation(
  store: Store,
  runId: number,
  { run, verdicts }: Pick<Diagnosis, 'run' | 'verdicts'>,
  capacityBytes: number | null,
): Promise<Situation> {
  // That of the rank that failed first.
  const [first] = verdicts;
  const verdict = first ?? NOTHING;
  const facts = await factsOfRun(store, runId);
  const inputs = await readRunInputs(store, runId);
  const { layout, incidents } = await readLogFacts(store, runId);
  const { rank } = verdict;
  const trainer = (await store.one('log.trainer', { run_id: runId }))!;
  const isComplete = inputs.missing.length === 0;
  return {
    run,
    facts,
    isMegatron: facts.framework.name === 'nemo' || trainer.is_megatron,
    frames: trainer.frames ?? '',
    verdict,
    ranOut: verdict.request !== null || verdict.tests.length > 0 || incidents.some(({ is_oom }) => is_oom),
    components:
      first?.components == null
        ? null
        : new Map(first.components.parts.map(({ component, bytes }) => [component, bytes])),
    given: isComplete ? inputs.given : null,
    noEstimate: isComplete ? null : `the configuration does not set ${inputs.missing.join(', ')}.`,
    stage: rank === null ? null : (layout?.position(rank)?.pp ?? null),
    completedSteps: completedIterations(await readRunTexts(store, runId)),
    deviceBytes: capacityBytes ?? inputs.device?.bytes ?? facts.device.total_bytes,
  };
}

/** Where neither a message nor a snapshot was found. */
const NOTHING: Pick<Verdict, keyof Situation['verdict']> = {
  rank: null,
  cause: 'undecided',
  detail: null,
  confidence: 'low',
  tests: [],
  evidence: [],
  request: null,
  what_if: [],
  replay: null,
  accounting: [],
  steps: [],
};
