/** The situation of a run of the store: its verdict, its configuration, and what was live. */
import type { DiagnoseResult, Verdict } from '../../model/results.js';
import type { Store } from '../../store/store.js';
import { readRunInputs } from '../estimate/run-inputs.js';
import { factsOfRun } from '../lint/facts-of-run.js';
import { readLogFacts } from '../log/log-facts.js';
import { completedIterations, readRunTexts } from '../log/run-texts.js';
import type { Situation } from './situation.js';

export async function readSituation(
  store: Store,
  runId: number,
  { run, verdicts }: Pick<DiagnoseResult, 'run' | 'verdicts'>,
  capacityBytes: number | null,
): Promise<Situation> {
  const verdict = mostTelling(verdicts);
  const facts = await factsOfRun(store, runId);
  const inputs = await readRunInputs(store, runId);
  const { layout } = await readLogFacts(store, runId);
  const { rank } = verdict;
  const isTold = inputs.missing.length === 0;
  return {
    run,
    facts,
    verdict,
    components:
      verdict.components === null
        ? null
        : new Map(verdict.components.parts.map(({ component, bytes }) => [component, bytes])),
    given: isTold ? inputs.given : null,
    noEstimate: isTold ? null : `the configuration does not tell ${inputs.missing.join(', ')}.`,
    stage: rank === null ? null : (layout?.position(rank)?.pp ?? null),
    completedSteps: completedIterations(await readRunTexts(store, runId)),
    deviceBytes: capacityBytes ?? inputs.device?.bytes ?? facts.device.total_bytes,
  };
}

/** The first, which is that of the rank that failed first; a run has at least one. */
function mostTelling(verdicts: readonly Verdict[]): Verdict {
  const [first] = verdicts;
  if (first === undefined) throw new Error('a diagnosis without a verdict');
  return first;
}
