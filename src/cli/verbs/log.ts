import type { Command } from 'commander';
import { describeLog } from '../../findings/run/describe-log.js';
import { logText } from '../../report/log-text.js';
import type { Context } from '../context.js';
import { countOption } from '../count-option.js';
import { EXIT } from '../exit-codes.js';
import { openTarget } from '../target.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';

interface Options extends CommonOptions {
  readonly limit: string;
}

export function registerLog(program: Command, context: Context): void {
  withCommon(
    program
      .command('log')
      .description('the run at a glance, from its texts: attempts, versions, layout, steps, memory, failures')
      .argument('[run]', 'a run of the store or a path; default: the run ingested last')
      .option('--limit <n>', 'memory records in the JSON document; 0 = all', '200000'),
    ['log', 'log runs/llama3-70b-sft', 'log night-shift --json', 'log slurm-4711.out'],
  ).action(async (operand: string | undefined, options: Options) => {
    const most = countOption('--limit', options.limit);
    const target = await openTarget(operand, options, context);
    try {
      const result = await describeLog(target.store, target.runId, target.run, {
        // The screen shows sums of them only.
        mostMemoryRecords: options.json === true ? most : 1,
        failedSources: target.failed,
      });
      answer(context, options, result, logText);
      if (target.failed.length > 0) process.exitCode = EXIT.input;
    } finally {
      await target.close();
    }
  });
}
