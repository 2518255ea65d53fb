import type { Command } from 'commander';
import { PARSERS } from '../../../parsers/index.js';
import { classify } from '../../findings/verdict/classify.js';
import { MbfError } from '../../model/errors.js';
import type { ParseSummary } from '../../model/parser.js';
import type { IncidentRow } from '../../model/tables.js';
import { parseSize } from '../../model/units.js';
import { classifyText } from '../../report/classify-text.js';
import type { Context } from '../context.js';
import { EXIT } from '../exit-codes.js';
import { openTextInput } from '../text-input.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';

interface Options extends CommonOptions {
  readonly capacity?: string;
  readonly exitCode?: boolean;
}

/** Failure lines kept; a log that fails more often says nothing new. */
const MOST_INCIDENTS = 100_000;

export function registerClassify(program: Command, context: Context): void {
  withCommon(
    program
      .command('classify')
      .description('what one text says: failure messages with their figures, and a verdict')
      .argument('<file>', 'a text of any size, compressed or not, or - to read standard input')
      .option('--capacity <size>', 'total memory of the device, e.g. 80GiB, where no message prints it')
      .option('--exit-code', 'exit 1 if memory ran out, 3 if that stays undecided'),
    ['classify error.txt', 'classify slurm-4711.out --json', 'classify - < pasted.txt', 'classify rank3.log.gz'],
  ).action(async (operand: string, options: Options) => {
    const capacityBytes = options.capacity === undefined ? undefined : parseSize(options.capacity);
    if (options.capacity !== undefined && capacityBytes === undefined)
      throw new MbfError('MBF1001', `--capacity ${JSON.stringify(options.capacity)} is no size`);
    const result = classify(await readIncidents(operand), operand === '-' ? '<stdin>' : operand, { capacityBytes });
    answer(context, options, result, classifyText);
    if (options.exitCode !== true) return;
    const { cause } = result.verdict;
    if (cause === 'undecided') process.exitCode = EXIT.undecided;
    else if (cause !== 'not_oom') process.exitCode = EXIT.finding;
  });
}

/** The failure lines of a text, in their order, read as it streams by. */
async function readIncidents(operand: string): Promise<IncidentRow[]> {
  const parser = PARSERS.find(({ id }) => id === 'log')!;
  const input = await openTextInput(operand);
  const rows: IncidentRow[] = [];
  let writer: ParseSummary;
  try {
    writer = await parser.parse(
      input.source,
      {
        incident: (row) => {
          if (rows.length < MOST_INCIDENTS) rows.push(row);
        },
        note: () => undefined,
        logRow: () => undefined,
        attempt: () => undefined,
        profilerMemory: () => undefined,
        snapshot: () => Promise.reject(new Error('a text holds no snapshot')),
      },
      { name: input.name },
    );
  } catch (error) {
    if (error instanceof MbfError) throw error.inFile(input.name);
    throw error;
  } finally {
    await input.close();
  }
  // Lines without a rank of their own are the file's writer's.
  const { rank, rankOrigin } = writer;
  return rows
    .map((row) => (row.rank === null && rank !== null ? { ...row, rank, rankOrigin } : row))
    .sort((a, b) => a.offset - b.offset);
}
