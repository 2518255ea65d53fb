import type { Command } from 'commander';
import { describeTimelines } from '../../findings/timeline/timeline.js';
import { parseMoment } from '../../findings/trace/moment.js';
import { MbfError } from '../../model/errors.js';
import { GUTTER } from '../../report/chart.js';
import { timelineCsv, timelineText } from '../../report/timeline-text.js';
import type { Context } from '../context.js';
import { countOption } from '../count-option.js';
import { EXIT } from '../exit-codes.js';
import { readRules } from '../rules-file.js';
import { openTarget } from '../target.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';
import { targetWithHistories } from '../with-histories.js';

interface Options extends CommonOptions {
  readonly device?: string;
  readonly from?: string;
  readonly to?: string;
  readonly by?: string;
  readonly annotations?: string | true;
  readonly components?: boolean;
  readonly rules?: string;
  readonly width?: string;
  readonly height?: string;
  readonly limit?: string;
  readonly ascii?: boolean;
  readonly csv?: boolean;
}

const DEFAULT_WIDTH = 100;
const DEFAULT_HEIGHT = 16;
/** Steps of the screen unless told otherwise; documents have all. */
const SCREEN_STEPS = 20;
/** Columns of documents and CSV unless told otherwise. */
const DOCUMENT_COLUMNS = 1000;

export function registerTimeline(program: Command, context: Context): void {
  withCommon(
    program
      .command('timeline')
      .description(
        'allocated and reserved memory over the trace, with peaks, failures and flushes; figures of each training step',
      )
      .argument('[snapshot]', 'a handle, a run, or a path; default: the run ingested last')
      .option('--device <n>', 'only this device')
      .option(
        '--from <moment>',
        'zoom: from here on; a moment is start, peak, oom, end, seq:N, time:MICROSECONDS or step:N',
      )
      .option('--to <moment>', 'zoom: up to here')
      .option('--by <axis>', 'columns are equal numbers of entries (index) or equal times (time)', 'index')
      .option('--annotations [text]', 'mark annotated ranges, those with this text in their names or all')
      .option('--components', 'also draw what is live by component; see `attribute`')
      .option('--rules <file>', 'attribution rules of your own (YAML), for --components')
      .option(
        '--width <n>',
        `columns of the chart (default: the terminal's, else ${DEFAULT_WIDTH}); of the series with --json or --csv (default: ${DOCUMENT_COLUMNS})`,
      )
      .option('--height <n>', 'rows of the chart', String(DEFAULT_HEIGHT))
      .option('--limit <n>', `steps to list, the last ones; 0 = all (default: ${SCREEN_STEPS})`)
      .option('--ascii', 'draw with ASCII only (default where the locale is not UTF-8)')
      .option('--csv', 'print the series as CSV'),
    [
      'timeline snapshot_oom_rank-3.pickle',
      'timeline night-shift/3/snapshot#1 --by time',
      'timeline runs/llama3-70b-sft --from step:3 --to step:4',
      'timeline runs/llama3-70b-sft --annotations nccl',
      'timeline runs/llama3-70b-sft --components',
      'timeline --csv --width 4000 > series.csv',
    ],
  ).action(async (operand: string | undefined, options: Options) => {
    if (options.csv === true && options.json === true)
      throw new MbfError('MBF1001', '--csv and --json exclude each other');
    if (options.by !== 'index' && options.by !== 'time')
      throw new MbfError('MBF1001', `--by ${JSON.stringify(options.by)} is neither index nor time`);
    const isScreen = options.csv !== true && options.json !== true;
    const width = sizeOption('--width', options.width, isScreen ? 20 : 1, 100_000);
    const height = sizeOption('--height', options.height, 2, 200) ?? DEFAULT_HEIGHT;
    const screenWidth = width ?? Math.max(40, context.terminalColumns ?? DEFAULT_WIDTH);
    const steps = options.limit === undefined ? SCREEN_STEPS : countOption('--limit', options.limit);
    const target = await targetWithHistories(await openTarget(operand, options, context), options);
    try {
      const filter = target.handle === undefined ? { runId: target.runId } : { handle: target.handle };
      const result = await describeTimelines(target.store, filter, {
        columns: isScreen ? screenWidth - GUTTER : (width ?? DOCUMENT_COLUMNS),
        by: options.by,
        device: options.device === undefined ? undefined : deviceOption(options.device),
        zoom: {
          from: options.from === undefined ? undefined : parseMoment(options.from),
          to: options.to === undefined ? undefined : parseMoment(options.to),
        },
        annotations: options.annotations === true ? '' : options.annotations,
        components: options.components === true ? await readRules(options.rules) : undefined,
      });
      if (result.snapshots.length === 0) throw new MbfError('MBF1002', `run ${target.run} has no memory snapshot`);
      if (options.device !== undefined && result.snapshots.every(({ devices }) => devices.length === 0))
        throw new MbfError('MBF1002', `no snapshot asked about has a device ${options.device}`);
      const look = { width: screenWidth, height, ascii: options.ascii ?? !context.unicode, steps };
      answer(context, options, result, options.csv === true ? timelineCsv : (data) => timelineText(data, look));
      if (target.failed.length > 0) process.exitCode = EXIT.input;
    } finally {
      await target.close();
    }
  });
}

function deviceOption(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new MbfError('MBF1001', `--device ${JSON.stringify(text)} is no device number`);
  return Number(text);
}

function sizeOption(name: string, text: string | undefined, least: number, most: number): number | undefined {
  if (text === undefined) return undefined;
  const size = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (!(size >= least && size <= most))
    throw new MbfError('MBF1001', `${name} ${JSON.stringify(text)} is no number from ${least} to ${most}`);
  return size;
}
