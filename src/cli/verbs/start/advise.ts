import { advise } from '../../../findings/advice/advise.js';
import { pasteForms } from '../../../findings/advice/paste-forms.js';
import { readSituation } from '../../../findings/flows/read-situation.js';
import { readSymptomEvidence } from '../../../findings/flows/read-symptom-evidence.js';
import { findSymptoms } from '../../../findings/symptoms/index.js';
import type { AdviseResult } from '../../../model/results/advise.js';
import { adviseDocument } from '../../../report/start/advise-document.js';
import { wordSymptom } from '../../../report/start/symptom-words.js';
import { actionTexts } from '../../../report/verdict/action-words.js';
import { NOTHING_READ } from '../../../report/verdict/cause-words.js';
import { wordDiagnosis } from '../../../report/verdict/word-verdict.js';
import { worded } from '../../../report/words/worded.js';
import { diagnoseTarget } from '../../ask-diagnosis.js';
import { defineVerb } from '../../define-verb.js';
import { CAPACITY, choice, MARKDOWN, misuse, option, REDACT, RUN, STEP_RANGE } from '../../options.js';

export const verb = defineVerb({
  name: 'advise',
  operands: { run: RUN },
  options: {
    capacity: CAPACITY,
    stepRange: STEP_RANGE,
    fix: option('--fix <id>', 'one fix in full: evidence, what sources disagree on, lines to paste'),
    paste: choice('--paste <framework>', 'framework of the lines to paste (default: that of the run)', [
      'megatron-bridge',
      'megatron-lm',
      'nemo',
      'all',
    ]),
    markdown: MARKDOWN,
    ...REDACT,
  },
  async ask({ run: operand, capacity, fix, paste, stepRange }, session) {
    const target = await session.target(operand);
    const { store, runId, run } = target;
    const diagnosis = await diagnoseTarget(target, { capacityBytes: capacity?.bytes }, { advises: false });
    const wordedDiagnosis = wordDiagnosis(diagnosis);
    const situation = await readSituation(store, runId, diagnosis, capacity?.bytes ?? null);
    const evidence = await readSymptomEvidence(store, runId, run, { diagnosis: wordedDiagnosis, stepRange });
    const advised = worded(advise(situation));
    const advice: AdviseResult = {
      ...advised,
      summary: wordedDiagnosis.verdicts[0]?.summary ?? NOTHING_READ,
      next: actionTexts(advised.actions, advised.fixes),
      // They are of the guides of Megatron, and name its settings.
      symptoms: situation.isMegatron ? findSymptoms(evidence).map(wordSymptom) : [],
    };
    demandFix(advice, fix);
    return { advice, fix, paste: pasteForms(situation, paste) };
  },
  full: ({ advice }) => advice,
  document: ({ advice, fix, paste }) => adviseDocument(advice, { fix, paste }),
});

function demandFix({ fixes, run }: AdviseResult, id: string | undefined): void {
  if (id === undefined || fixes.some((fix) => fix.id === id)) return;
  const known = fixes.length === 0 ? 'none' : fixes.map((fix) => fix.id).join(', ');
  throw misuse(`unknown --fix ${JSON.stringify(id)} for ${run}; expected one of ${known}`);
}
