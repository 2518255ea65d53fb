import { readLogFacts } from '../../../derive/run/log-facts.js';
import { describeMemory } from '../../../derive/run/memory.js';
import { memoryDocument } from '../../../report/run/memory-document.js';
import { worded } from '../../../report/words/worded.js';
import { defineVerb } from '../../define-verb.js';
import { count, option, RUN } from '../../options.js';

export const verb = defineVerb({
  name: 'memory',
  operands: { run: RUN },
  options: { rank: option('--rank <n>', 'only this rank, and every line of it', count) },
  async ask({ run: operand, rank }, session) {
    const { store, runId, run } = await session.target(operand);
    const { layout, layoutOrigin } = await readLogFacts(store, runId);
    return worded(await describeMemory(store, runId, run, { layout, origin: layoutOrigin }, { rank }));
  },
  document: memoryDocument,
});
