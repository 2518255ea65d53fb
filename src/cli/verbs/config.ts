import type { Command } from 'commander';
import { describeConfig } from '../../forensics/log/config.js';
import { configText } from '../../report/config-text.js';
import type { Context } from '../context.js';
import { EXIT } from '../exit-codes.js';
import { openTarget } from '../target.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';

interface Options extends CommonOptions {
  readonly diff?: string;
}

export function registerConfig(program: Command, context: Context): void {
  withCommon(
    program
      .command('config')
      .description('settings in force and where they were told; what differs from another run')
      .argument('[run]', 'a run of the store or a path; default: the run ingested last')
      .option('--diff <run2>', 'compare with this run or path'),
    ['config', 'config runs/llama3-70b-sft', 'config night-shift --diff golden', 'config runs/a --diff runs/b --json'],
  ).action(async (operand: string | undefined, options: Options) => {
    const target = await openTarget(operand, options, context);
    try {
      const other = options.diff === undefined ? undefined : await openTarget(options.diff, options, context);
      try {
        const result = await describeConfig(target.store, target.runId, target.run, other);
        answer(context, options, result, configText);
        if (target.failed.length > 0 || (other?.failed.length ?? 0) > 0) process.exitCode = EXIT.input;
      } finally {
        await other?.close();
      }
    } finally {
      await target.close();
    }
  });
}
