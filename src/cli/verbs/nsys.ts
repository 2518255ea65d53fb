import type { Command } from 'commander';
import { describeComparison, describeNsys, readComparedRun } from '../../findings/nsys/describe-nsys.js';
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
  readonly range?: string;
  readonly curve?: string | true;
  readonly against?: string;
  readonly limit: string;
}

/** Of `--curve` unless told otherwise: a screen's width. */
const SLICES = 72;
const MOST_SLICES = 100_000;

export function registerNsys(program: Command, context: Context): void {
  withCommon(
    program
      .command('nsys')
      .description(
        'Nsight Systems exports: whose the memory outside PyTorch is, failed CUDA calls, steps and where their time goes',
      )
      .argument('[run]', 'a run, or a path; default: the run ingested last')
      .option('--at <ns>', "also the NVTX ranges open at this time, in ns of the report's clock")
      .option('--range <text>', 'also the kernels and copies launched inside NVTX ranges with this text')
      .option('--curve [slices]', `also the driver's memory over time, in so many slices (default: ${SLICES})`)
      .option('--against <run>', 'another run or path: its steps less the steps of this one')
      .option('--limit <n>', 'rows of each table; 0 = all', '8'),
    [
      'nsys report1.sqlite',
      'nsys runs/llama3-70b-sft --limit 0',
      'nsys run_pqtdir --at 155357596302',
      'nsys report1.sqlite --range forward --curve',
      'nsys golden --against night-shift',
      'nsys --json',
    ],
  ).action(async (operand: string | undefined, options: Options) => {
    const limit = countOption('--limit', options.limit) ?? Number.POSITIVE_INFINITY;
    const atNs = options.at === undefined ? undefined : timeOption(options.at);
    const text = (result: Parameters<typeof nsysText>[0]): string => nsysText(result, { limit });
    if (options.against !== undefined) {
      if (operand === undefined || atNs !== undefined || options.range !== undefined || options.curve !== undefined)
        throw new MbfError('MBF1001', '--against needs two runs, and no --at, --range or --curve');
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
      const result = await describeNsys(target.store, target.runId, target.run, {
        atNs,
        range: options.range,
        slices: options.curve === undefined ? undefined : sliceOption(options.curve),
      });
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

function sliceOption(text: string | true): number {
  const slices = text === true ? SLICES : /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
  if (!(slices >= 1 && slices <= MOST_SLICES))
    throw new MbfError('MBF1001', `--curve ${JSON.stringify(text)} is no number from 1 to ${MOST_SLICES}`);
  return slices;
}

function timeOption(text: string): number {
  if (!/^-?\d{1,15}$/.test(text)) throw new MbfError('MBF1001', `--at ${JSON.stringify(text)} is no time in ns`);
  return Number(text);
}
