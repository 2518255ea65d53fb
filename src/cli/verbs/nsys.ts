import type { Command } from 'commander';
import { describeComparison, describeNsys, readComparedRun } from '../../forensics/nsys/describe-nsys.js';
import { MbfError } from '../../model/errors.js';
import { nsysText } from '../../report/nsys-text.js';
import type { Context } from '../context.js';
import { countOption } from '../count-option.js';
import { EXIT } from '../exit-codes.js';
import { openTarget } from '../target.js';
import { twoTargets } from '../two-targets.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';

interface Options extends CommonOptions {
  readonly at?: string;
  readonly against?: string;
  readonly limit: string;
}

export function registerNsys(program: Command, context: Context): void {
  withCommon(
    program
      .command('nsys')
      .description(
        'Nsight Systems exports: whose the memory outside PyTorch is, failed CUDA calls, steps and where their time goes',
      )
      .argument('[run]', 'a run, or a path; default: the run ingested last')
      .option('--at <ns>', "also the NVTX ranges open at this time, in ns of the report's clock")
      .option('--against <run>', 'another run or path: its steps less the steps of this one')
      .option('--limit <n>', 'rows of each table; 0 = all', '8'),
    [
      'nsys report1.sqlite',
      'nsys runs/llama3-70b-sft --limit 0',
      'nsys run_pqtdir --at 155357596302',
      'nsys golden --against night-shift',
      'nsys --json',
    ],
  ).action(async (operand: string | undefined, options: Options) => {
    const limit = countOption('--limit', options.limit) ?? Number.POSITIVE_INFINITY;
    const atNs = options.at === undefined ? undefined : timeOption(options.at);
    const text = (result: Parameters<typeof nsysText>[0]): string => nsysText(result, { limit });
    if (options.against !== undefined) {
      if (operand === undefined || atNs !== undefined)
        throw new MbfError('MBF1001', '--against needs two runs, and no --at');
      const targets = twoTargets([operand, options.against], options, context);
      try {
        const read = (side: 0 | 1) =>
          targets.use(side, async (target) => {
            const compared = await readComparedRun(target.store, target.runId, target.run);
            if (compared.reports.length === 0) throw nothing(target.run);
            return compared;
          });
        const a = await read(0);
        answer(context, options, describeComparison(a, await read(1)), text);
      } finally {
        await targets.close();
      }
      return;
    }
    const target = await openTarget(operand, options, context);
    try {
      const result = await describeNsys(target.store, target.runId, target.run, { atNs });
      if (result.reports.length === 0) throw nothing(target.run);
      answer(context, options, result, text);
      if (target.failed.length > 0) process.exitCode = EXIT.input;
    } finally {
      await target.close();
    }
  });
}

function nothing(run: string): MbfError {
  const fact = `run ${run} has no Nsight Systems export: nsys export --type sqlite REPORT.nsys-rep, then ingest REPORT.sqlite`;
  return new MbfError('MBF1002', fact);
}

function timeOption(text: string): number {
  if (!/^-?\d{1,15}$/.test(text)) throw new MbfError('MBF1001', `--at ${JSON.stringify(text)} is no time in ns`);
  return Number(text);
}
