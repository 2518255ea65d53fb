import { describeLog } from '../../../findings/run/describe-log.js';
import { logDocument } from '../../../report/run/log-document.js';
import { defineVerb } from '../../define-verb.js';
import { countOrAll, MARKDOWN, option, REDACT, RUN } from '../../options.js';

export const verb = defineVerb({
  name: 'log',
  operands: { run: RUN },
  options: {
    limit: option('--limit <n>', 'memory records of --json=full; 0 = all', countOrAll, '200000'),
    markdown: MARKDOWN,
    ...REDACT,
  },
  async ask({ run: operand, limit, json }, session) {
    const { store, runId, run, failed } = await session.target(operand);
    // The screen shows sums of them only.
    return describeLog(store, runId, run, { mostMemoryRecords: json === 'full' ? limit : 1, failedSources: failed });
  },
  document: logDocument,
});
