/** The diagnosis that verbs show or start from: stored in the cache directory for paths, else read from the store. */
import type { Diagnosis } from '../model/results/common.js';
import { cachePlace } from './cached-files.js';
import { contentKey } from './content-key.js';
import type { Context } from './context.js';
import { type DbOptions, type Operands, pathsOf, resourcesOf } from './operands.js';
import { misuse } from './options.js';
import { type DiagnoseQuestion, readAnswer, writeAnswer } from './stored-answer.js';
import type { Target } from './target.js';

/** `opened`: the store that had to be asked; undefined where the answer was stored. */
interface Asked {
  readonly diagnosis: Diagnosis;
  readonly opened: Target | undefined;
}

/** Of what the operands mean, with advice and the files that could not be read. */
export async function askDiagnosis(
  operands: Operands,
  question: DiagnoseQuestion,
  options: DbOptions,
  context: Context,
): Promise<Asked> {
  // Also where it is not opened: a value that is none is an error.
  resourcesOf(options);
  if (options.lake !== undefined && question.capacityBytes !== undefined)
    throw misuse('--capacity judges a run again, and a lake has what was judged: ask the run itself');
  const paths = options.lake === undefined ? pathsOf(operands) : undefined;
  const key = paths === undefined || paths.includes('-') ? undefined : await contentKey(paths, context);
  const stored = key === undefined ? undefined : readAnswer({ directory: cachePlace(context), key }, question);
  if (stored !== undefined) return { diagnosis: stored, opened: undefined };
  const { openTarget } = await import('./target.js');
  const opened = await openTarget(operands, options, context, {
    contentKey: key,
    // With an assumption, the run is derived again.
    asWritten: question.capacityBytes === undefined,
  });
  try {
    const diagnosis = await diagnoseTarget(opened, question);
    return { diagnosis: opened.lake === undefined ? diagnosis : { ...diagnosis, lake: opened.lake }, opened };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/**
 * Of a store that is open. With an assumption the run is derived again in any case: what else is read of the store
 * follows from it.
 */
export async function diagnoseTarget(
  { store, runId, run, failed, cached }: Target,
  question: DiagnoseQuestion,
  { advises = true } = {},
): Promise<Diagnosis> {
  const isStored = cached !== undefined && question.capacityBytes === undefined;
  const stored = isStored ? readAnswer(cached, question) : undefined;
  if (stored !== undefined) return advises ? stored : { ...stored, advice: null };
  const { diagnose } = await import('../findings/flows/diagnose.js');
  const diagnosis = await diagnose(store, runId, run, { ...question, advises, failedSources: failed });
  if (advises && cached !== undefined) await writeAnswer(cached, question, diagnosis);
  return diagnosis;
}
