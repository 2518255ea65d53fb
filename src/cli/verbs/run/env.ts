import { describeEnv } from '../../../derive/run/env.js';
import { envText } from '../../../report/run/env-text.js';
import { defineVerb } from '../../define-verb.js';
import { RUN } from '../../options.js';

export const verb = defineVerb({
  name: 'env',
  operands: { run: RUN },
  examples: ['log env', 'log env runs/llama3-70b-sft', 'log env night-shift --json'],
  async ask({ run: operand }, session) {
    const { store, runId, run } = await session.target(operand);
    return describeEnv(store, runId, run);
  },
  render: envText,
});
