import type { Command } from 'commander';
import { describeIterations } from '../../findings/run/iterations.js';
import { MbfError } from '../../model/errors.js';
import { iterationsCsv, iterationsText } from '../../report/iterations-text.js';
import type { Context } from '../context.js';
import { countOption } from '../count-option.js';
import { EXIT } from '../exit-codes.js';
import { openTarget } from '../target.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';

interface Options extends CommonOptions {
  readonly limit?: string;
  readonly csv?: boolean;
}

/** Rows of the screen unless told otherwise; documents and CSV have all. */
const SCREEN_ROWS = 20;

export function registerIterations(program: Command, context: Context): void {
  withCommon(
    program
      .command('iterations')
      .description('training iterations: step time, throughput, loss; median and p95 of each attempt')
      .argument('[run]', 'a run of the store or a path; default: the run ingested last')
      .option('--limit <n>', `rows, the last ones; 0 = all (default: ${SCREEN_ROWS}; --json and --csv: all)`)
      .option('--csv', 'print all rows as CSV'),
    ['iterations', 'iterations runs/llama3-70b-sft --limit 0', 'iterations night-shift --csv', 'iterations --json'],
  ).action(async (operand: string | undefined, options: Options) => {
    if (options.csv === true && options.json === true)
      throw new MbfError('MBF1001', '--csv and --json exclude each other');
    const isScreen = options.csv !== true && options.json !== true;
    const limit = options.limit === undefined ? undefined : countOption('--limit', options.limit);
    const newest = options.limit === undefined && isScreen ? SCREEN_ROWS : limit;
    const target = await openTarget(operand, options, context);
    try {
      const result = await describeIterations(target.store, target.runId, target.run, { newest });
      answer(context, options, result, options.csv === true ? iterationsCsv : iterationsText);
      if (target.failed.length > 0) process.exitCode = EXIT.input;
    } finally {
      await target.close();
    }
  });
}
