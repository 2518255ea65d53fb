import type { Command } from 'commander';
import { describeConfig, type RunSettings, readSettings } from '../../findings/run/config.js';
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
    // One after the other: a store opens once.
    const here = await settingsOf(operand, options, context);
    const other = options.diff === undefined ? undefined : await settingsOf(options.diff, options, context);
    answer(context, options, describeConfig(here, other), configText);
    if (here.failed || other?.failed === true) process.exitCode = EXIT.input;
  });
}

async function settingsOf(
  operand: string | undefined,
  options: Options,
  context: Context,
): Promise<RunSettings & { readonly failed: boolean }> {
  const target = await openTarget(operand, options, context);
  try {
    return {
      run: target.run,
      found: await readSettings(target.store, target.runId),
      failed: target.failed.length > 0,
    };
  } finally {
    await target.close();
  }
}
