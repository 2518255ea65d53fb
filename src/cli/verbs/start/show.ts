import { existsSync } from 'node:fs';
import { describeShow, SHOW_WORDS } from '../../../findings/verdict/show.js';
import { sourceLines } from '../../../ingest/read/source-lines.js';
import { showDocument } from '../../../report/start/show-document.js';
import { combinationRules, wordDiagnosis } from '../../../report/verdict/word-verdict.js';
import { diagnoseTarget } from '../../ask-diagnosis.js';
import { defineVerb } from '../../define-verb.js';
import { capacity, count, countOrAll, operand, option, RUN, wrong } from '../../options.js';

const HANDLE = /^[eE]\d{1,4}$/;

export const verb = defineVerb({
  name: 'show',
  operands: {
    first: operand('[handle]', `E1, E2, … of diagnose, or ${SHOW_WORDS.join(', ')}; without one: all handles`),
    second: RUN,
  },
  options: {
    verdict: option('--verdict <n>', 'of which verdict, from 1', count, '1'),
    limit: option('--limit <n>', 'rows to show; 0 = all', countOrAll, '20'),
    capacity: capacity('as given to diagnose'),
  },
  async ask({ first, second, verdict, limit, capacity }, session) {
    if (first !== undefined && !isHandle(first) && /^[\w-]+$/.test(first) && !existsSync(first) && second.length > 0)
      throw wrong('handle', first, `E1, E2, … or ${SHOW_WORDS.join(', ')}`);
    const handle = isHandle(first) ? (HANDLE.test(first) ? first.toUpperCase() : first) : undefined;
    const target = await session.target(runOf(first, second));
    const diagnosis = await diagnoseTarget(target, { capacityBytes: capacity?.bytes }, { advises: false });
    const question = { handle, verdict, limit, readLines: sourceLines, rules: combinationRules() };
    return describeShow(target.store, target.runId, wordDiagnosis(diagnosis), question);
  },
  document: (result, { first, second, db, lake, capacity }) =>
    showDocument(result, { operands: runOf(first, second), db, lake, capacity: capacity?.text }),
});

function isHandle(word: string | undefined): word is string {
  return word !== undefined && (HANDLE.test(word) || (SHOW_WORDS as readonly string[]).includes(word));
}

/** A run may be named without a handle. */
function runOf(first: string | undefined, others: readonly string[]): readonly string[] {
  return first === undefined || isHandle(first) ? others : [first, ...others];
}
