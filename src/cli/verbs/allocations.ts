import type { Command } from 'commander';
import { parseBlock } from '../../findings/run/names/block-labels.js';
import { describeAllocations } from '../../findings/state/allocations.js';
import type { ChosenDevice } from '../../findings/state/choose-snapshot.js';
import { MOMENT_FORMS, parseMoment } from '../../findings/trace/moment.js';
import { ALLOCATION_ORDERS, type AllocationOrder } from '../../model/allocation-results.js';
import { MbfError } from '../../model/errors.js';
import { parseSize } from '../../model/units.js';
import { allocationsCsv, allocationsText } from '../../report/allocations-text.js';
import type { Store } from '../../store/store.js';
import type { Context } from '../context.js';
import { parseCount } from '../count-option.js';
import { DEVICE_HELP, type DeviceOptions, withOneDevice } from '../one-device.js';
import { answer, withCommon } from '../verb.js';

interface Options extends DeviceOptions {
  readonly block?: string;
  readonly at?: string;
  readonly site?: string;
  readonly min?: string;
  readonly sort: string;
  readonly limit: string;
  readonly csv?: boolean;
}

export function registerAllocations(program: Command, context: Context): void {
  withCommon(
    program
      .command('allocations')
      .description('allocations as rows: when made and freed, how large, by whom; one alone with its stack')
      .argument('[snapshot]', 'a handle, a run, or a path; default: the run ingested last')
      .option('--block <label>', 'a block as memory_viz names it (b7f3a00000000_2), or an address')
      .option('--at <moment>', `only what is live then: ${MOMENT_FORMS}`)
      .option('--site <text>', 'only stacks with this text in a function or file name')
      .option('--min <size>', 'only blocks from this size up, e.g. 10MiB')
      .option('--sort <order>', `one of ${ALLOCATION_ORDERS.join(', ')}`, 'bytes')
      .option('--device <n>', DEVICE_HELP)
      .option('--limit <n>', 'rows to show; 0 = all', '20')
      .option('--csv', 'print the rows as CSV'),
    [
      'allocations --at oom --min 100MiB',
      'allocations snapshot_3.pickle --block b7f3a00000000_2',
      'allocations --site fused_adam --sort lifetime --limit 0 --csv',
    ],
  ).action(async (operand: string | undefined, options: Options) => {
    const moment = options.at === undefined ? undefined : parseMoment(options.at);
    const block = options.block === undefined ? undefined : parseBlock(options.block);
    if (options.block !== undefined && block === undefined)
      throw new MbfError('MBF1001', `--block ${JSON.stringify(options.block)} is no label and no address`);
    const minBytes = options.min === undefined ? undefined : parseSize(options.min);
    if (options.min !== undefined && minBytes === undefined)
      throw new MbfError('MBF1001', `--min ${JSON.stringify(options.min)} is no size`);
    if (!ALLOCATION_ORDERS.includes(options.sort as AllocationOrder))
      throw new MbfError(
        'MBF1001',
        `--sort ${JSON.stringify(options.sort)} is none of ${ALLOCATION_ORDERS.join(', ')}`,
      );
    const limit = parseCount('--limit', options.limit);
    const answerFor = async (store: Store, chosen: ChosenDevice): Promise<void> => {
      const result = await describeAllocations(store, chosen, {
        moment,
        address: block?.address,
        version: block?.version ?? undefined,
        minBytes,
        site: options.site,
        sort: options.sort as AllocationOrder,
        limit,
      });
      answer(context, options, result, options.csv === true ? allocationsCsv : allocationsText);
    };
    await withOneDevice(operand, moment ?? { kind: 'peak' }, options, context, answerFor, (error) => {
      // The rows come from SQL, which has true sizes and memory from before the trace only once they are in the store.
      throw error;
    });
  });
}
