/** What advice needs of a run besides its verdict: its configuration, and the figures that show what a change saves. */
import type { GivenInputs } from '../estimate/input-keys.js';
import type { Verdict } from '../model/verdict.js';
import type { Store } from '../store/store.js';
import { readRunInputs } from './estimate/run-inputs.js';
import { readLogFacts } from './run/log-facts.js';
import { completedIterations, readRunTexts } from './run/run-texts.js';
import type { Framework, RawFacts } from './settings/facts.js';
import { factsOfRun } from './settings/facts-of-run.js';

export interface Circumstances {
  readonly facts: RawFacts;
  /** Whether anything read is Megatron's: only then its settings are fixes. */
  readonly isMegatron: boolean;
  /** Frames of the run's tracebacks, as JSON: files, functions, code. */
  readonly frames: string;
  /** Whether any evidence shows that memory ran out, whatever the cause. */
  readonly ranOut: boolean;
  /** Inputs of an estimate; null where the configuration is incomplete. */
  readonly given: GivenInputs | null;
  /** Why there is none. */
  readonly noEstimate: string | null;
  /** Pipeline stage of the failing rank; null where unknown. */
  readonly stage: number | null;
  readonly deviceBytes: number | null;
  /** Iterations that the failing launch had completed; null where unknown. */
  readonly completedSteps: number | null;
}

/** `verdict`: of the rank that failed first; undefined where there is none. */
export async function readCircumstances(
  store: Store,
  runId: number,
  verdict: Pick<Verdict, 'rank' | 'request' | 'tests'> | undefined,
  capacityBytes: number | null,
): Promise<Circumstances> {
  const inputs = await readRunInputs(store, runId);
  const { layout, incidents } = await readLogFacts(store, runId);
  const rank = verdict?.rank ?? null;
  const trainer = (await store.one('log.trainer', { run_id: runId }))!;
  const read = await factsOfRun(store, runId);
  // Where the settings do not show it, what else was printed may.
  const name = read.framework.name ?? (trainer.is_megatron ? (trainer.framework as Framework | null) : null);
  const facts = { ...read, framework: { ...read.framework, name } };
  const isComplete = inputs.missing.length === 0;
  const isJudged = verdict !== undefined && (verdict.request !== null || verdict.tests.length > 0);
  return {
    facts,
    isMegatron: facts.framework.name === 'nemo' || trainer.is_megatron,
    frames: trainer.frames ?? '',
    ranOut: isJudged || incidents.some(({ is_oom }) => is_oom),
    given: isComplete ? inputs.given : null,
    noEstimate: isComplete ? null : `the configuration does not set ${inputs.missing.join(', ')}.`,
    stage: rank === null ? null : (layout?.position(rank)?.pp ?? null),
    completedSteps: completedIterations(await readRunTexts(store, runId)),
    deviceBytes: capacityBytes ?? inputs.device?.bytes ?? facts.device.total_bytes,
  };
}
