import type { Command } from 'commander';
import { describeOutside } from '../../findings/outside/describe-outside.js';
import { MbfError } from '../../model/errors.js';
import { outsideText } from '../../report/outside-text.js';
import type { Context } from '../context.js';
import { parseCount } from '../count-option.js';
import { EXIT } from '../exit-codes.js';
import { openTarget } from '../target.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';

interface Options extends CommonOptions {
  readonly rank?: string;
  readonly limit: string;
  readonly utcOffset?: string;
}

const MINUTE_US = 60_000_000;

/** `+02:00`, `-0330`, `+9`: what printed clocks are ahead of UTC; the result is what must be added to them. */
function parseOffset(text: string): number {
  const match = /^([+-])(\d{1,2})(?::?([0-5]\d))?$/.exec(text.replace('−', '-'));
  const minutes = match === null ? Number.NaN : Number(match[2]) * 60 + Number(match[3] ?? 0);
  if (match === null || minutes > 14 * 60)
    throw new MbfError('MBF1001', `--utc-offset ${JSON.stringify(text)} is no offset such as +02:00`);
  return (match[1] === '-' ? minutes : -minutes) * MINUTE_US;
}

export function registerOutside(program: Command, context: Context): void {
  withCommon(
    program
      .command('outside')
      .description(
        'device memory that PyTorch does not hold, over time and by process, from samples of nvidia-smi, DCGM or W&B',
      )
      .argument('[run]', 'a run of the store or a path; default: the run ingested last')
      .option('--rank <n>', 'only the device of this rank')
      .option('--limit <n>', 'moments and processes shown of each device; 0 for all', '8')
      .option('--utc-offset <offset>', 'zone of clocks that are printed without one, such as +02:00'),
    [
      'outside',
      'outside runs/llama3-70b-sft',
      'outside night-shift --rank 12 --limit 0',
      'outside --utc-offset +02:00 --json',
    ],
  ).action(async (operand: string | undefined, options: Options) => {
    const rank = options.rank === undefined ? undefined : parseCount('--rank', options.rank);
    const limit = parseCount('--limit', options.limit);
    const shiftUs = options.utcOffset === undefined ? undefined : parseOffset(options.utcOffset);
    const target = await openTarget(operand, options, context);
    try {
      const result = await describeOutside(target.store, target.runId, target.run, { rank, shiftUs });
      answer(context, options, result, (found) => outsideText(found, { limit }));
      if (target.failed.length > 0) process.exitCode = EXIT.input;
    } finally {
      await target.close();
    }
  });
}
