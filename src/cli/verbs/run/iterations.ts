import { describeIterations } from '../../../derive/run/iterations.js';
import { iterationsCsv, iterationsDocument } from '../../../report/run/iterations-document.js';
import { defineVerb } from '../../define-verb.js';
import { count, flag, misuse, option, RUN } from '../../options.js';

/** Rows of the screen unless `--limit` is given; documents and CSV have all. */
const SCREEN_ROWS = 20;

export const verb = defineVerb({
  name: 'iterations',
  operands: { run: RUN },
  options: {
    limit: option(
      '--limit <n>',
      `rows, the last ones; 0 = all (default: ${SCREEN_ROWS}; --json=full and --csv: all)`,
      count,
    ),
    csv: flag('--csv', 'print all rows as CSV'),
  },
  async ask({ run: operand, limit, csv, json }, session) {
    if (csv && json) throw misuse('--csv and --json exclude each other');
    const newest = limit === undefined && !csv && json !== 'full' ? SCREEN_ROWS : limit || undefined;
    const { store, runId, run } = await session.target(operand);
    return describeIterations(store, runId, run, { newest });
  },
  document: iterationsDocument,
  render: (result, { csv }) => (csv ? iterationsCsv(result) : undefined),
});
