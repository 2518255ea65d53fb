import type { Command } from 'commander';
import { readLogFacts } from '../../findings/run/log-facts.js';
import { describeMemory } from '../../findings/run/memory.js';
import { MbfError } from '../../model/errors.js';
import { memoryText } from '../../report/memory-text.js';
import type { Context } from '../context.js';
import { EXIT } from '../exit-codes.js';
import { openTarget } from '../target.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';

interface Options extends CommonOptions {
  readonly rank?: string;
}

export function registerMemory(program: Command, context: Context): void {
  withCommon(
    program
      .command('memory')
      .description('memory lines of the logs by rank and pipeline stage: last, largest, growth, retries')
      .argument('[run]', 'a run of the store or a path; default: the run ingested last')
      .option('--rank <n>', 'only this rank, and every line of it'),
    ['memory', 'memory runs/llama3-70b-sft', 'memory night-shift --rank 12', 'memory --json'],
  ).action(async (operand: string | undefined, options: Options) => {
    const rank = options.rank === undefined ? undefined : Number(options.rank);
    if (rank !== undefined && (!Number.isSafeInteger(rank) || rank < 0 || options.rank?.trim() === ''))
      throw new MbfError('MBF1001', `--rank ${JSON.stringify(options.rank)} is no rank`);
    const target = await openTarget(operand, options, context);
    try {
      const { layout, layoutOrigin } = await readLogFacts(target.store, target.runId);
      const result = await describeMemory(
        target.store,
        target.runId,
        target.run,
        { layout, origin: layoutOrigin },
        { rank },
      );
      answer(context, options, result, memoryText);
      if (target.failed.length > 0) process.exitCode = EXIT.input;
    } finally {
      await target.close();
    }
  });
}
