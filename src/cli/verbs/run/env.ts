import { describeEnv } from '../../../derive/run/env.js';
import { envDocument } from '../../../report/run/env-document.js';
import { defineVerb } from '../../define-verb.js';
import { RUN } from '../../options.js';

export const verb = defineVerb({
  name: 'env',
  operands: { run: RUN },
  async ask({ run: operand }, session) {
    const { store, runId, run } = await session.target(operand);
    return describeEnv(store, runId, run);
  },
  document: envDocument,
});
