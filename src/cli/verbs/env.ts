import type { Command } from 'commander';
import { describeEnv } from '../../findings/run/env.js';
import { envText } from '../../report/env-text.js';
import type { Context } from '../context.js';
import { EXIT } from '../exit-codes.js';
import { openTarget } from '../target.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';

export function registerEnv(program: Command, context: Context): void {
  withCommon(
    program
      .command('env')
      .description('environment variables that matter, where they were told, and which ranks differ')
      .argument('[run]', 'a run of the store or a path; default: the run ingested last'),
    ['env', 'env runs/llama3-70b-sft', 'env night-shift --json'],
  ).action(async (operand: string | undefined, options: CommonOptions) => {
    const target = await openTarget(operand, options, context);
    try {
      answer(context, options, await describeEnv(target.store, target.runId, target.run), envText);
      if (target.failed.length > 0) process.exitCode = EXIT.input;
    } finally {
      await target.close();
    }
  });
}
