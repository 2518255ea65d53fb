/** The answers of `diagnose`, `classify` and `advise` with their sentences, as their verbs return them. */
import { advise as findAdvice } from '../../../src/findings/advice/advise.js';
import { diagnose as findVerdicts } from '../../../src/findings/flows/diagnose.js';
import { classify as findFailures } from '../../../src/findings/verdict/classify.js';
import type { DiagnoseResult } from '../../../src/model/results/common.js';
import type { ClassifyResult } from '../../../src/model/results/log.js';
import { wordClassification } from '../../../src/report/knowledge/classify-text.js';
import { actionTexts } from '../../../src/report/verdict/action-words.js';
import { wordDiagnosis } from '../../../src/report/verdict/word-verdict.js';
import { worded } from '../../../src/report/words/worded.js';

export async function diagnose(...question: Parameters<typeof findVerdicts>): Promise<DiagnoseResult> {
  return wordDiagnosis(await findVerdicts(...question));
}

export async function classify(...question: Parameters<typeof findFailures>): Promise<ClassifyResult> {
  return wordClassification(await findFailures(...question));
}

/** As of a run whose verdict says no more than its cause. */
export function advise(situation: Parameters<typeof findAdvice>[0]) {
  const advice = worded(findAdvice(situation));
  return { ...advice, summary: 'a summary', next: actionTexts(advice.actions, advice.fixes) };
}
