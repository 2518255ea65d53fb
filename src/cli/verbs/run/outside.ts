import { describeOutside } from '../../../derive/outside/describe-outside.js';
import { outsideDocument } from '../../../report/run/outside-document.js';
import { worded } from '../../../report/words/worded.js';
import { defineVerb } from '../../define-verb.js';
import { count, option, RUN, utcOffset } from '../../options.js';

export const verb = defineVerb({
  name: 'outside',
  operands: { run: RUN },
  options: {
    rank: option('--rank <n>', 'only the device of this rank', count),
    limit: option('--limit <n>', 'moments and processes shown of each device; 0 for all', count, '8'),
    shiftUs: option('--utc-offset <offset>', 'zone of clocks that are printed without one, such as +02:00', utcOffset),
  },
  async ask({ run: operand, rank, shiftUs }, session) {
    const { store, runId, run } = await session.target(operand);
    return worded(await describeOutside(store, runId, run, { rank, shiftUs }));
  },
  document: (result, { limit }) => outsideDocument(result, { limit }),
});
