import type { Command } from 'commander';
import { describeProfilerMemory } from '../../findings/run/profiler-memory.js';
import { MbfError } from '../../model/errors.js';
import { profilerText } from '../../report/profiler-text.js';
import type { Context } from '../context.js';
import { countOption } from '../count-option.js';
import { EXIT } from '../exit-codes.js';
import { openTarget } from '../target.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';

interface Options extends CommonOptions {
  readonly points: string;
}

const MOST_POINTS = 100_000;

export function registerProfile(program: Command, context: Context): void {
  withCommon(
    program
      .command('profile')
      .description('what torch.profiler says memory was for: its memory timelines, by category')
      .argument('[run]', 'a run, or a path; default: the run ingested last')
      .option('--points <n>', 'stretches of time to show, each by its largest total; 0 = 100,000', '16'),
    ['profile', 'profile rank3.raw.json.gz', 'profile runs/llama3-70b-sft --points 1000 --json'],
  ).action(async (operand: string | undefined, options: Options) => {
    const points = countOption('--points', options.points) ?? MOST_POINTS;
    if (points > MOST_POINTS) throw new MbfError('MBF1001', `--points ${points} is more than ${MOST_POINTS}`);
    const target = await openTarget(operand, options, context);
    try {
      const result = await describeProfilerMemory(target.store, target, points);
      if (result.timelines.length === 0) {
        const fact = `run ${target.run} has no memory timeline of torch.profiler: prof.export_memory_timeline("FILE.raw.json.gz") writes one`;
        throw new MbfError('MBF1002', fact);
      }
      answer(context, options, result, profilerText);
      if (target.failed.length > 0) process.exitCode = EXIT.input;
    } finally {
      await target.close();
    }
  });
}
