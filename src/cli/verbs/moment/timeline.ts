import { parseMoment } from '../../../derive/trace/moment.js';
import { describeTimelines } from '../../../findings/timeline/timeline.js';
import { MbfError } from '../../../model/errors.js';
import { GUTTER } from '../../../report/chart.js';
import { asciiText, timelineCsv, timelineDocument } from '../../../report/moment/timeline-document.js';
import { documentText } from '../../../report/render/text.js';
import type { Context } from '../../context.js';
import { defineVerb } from '../../define-verb.js';
import {
  between,
  choice,
  countOrAll,
  flag,
  HTML,
  misuse,
  ONLY_DEVICE,
  option,
  optional,
  SNAPSHOT,
  text,
  type Values,
} from '../../options.js';
import { readRules } from '../../rules-file.js';
import { demandSnapshots } from '../../session.js';
import type { Target } from '../../target.js';

const DEFAULT_WIDTH = 100;
const DEFAULT_HEIGHT = 16;
/** Columns of documents and CSV unless `--width` is given. */
const DOCUMENT_COLUMNS = 1000;

const OPTIONS = {
  device: ONLY_DEVICE,
  from: option(
    '--from <moment>',
    'zoom: from here on; a moment is start, peak, oom, end, seq:N, time:MICROSECONDS or step:N',
    parseMoment,
  ),
  to: option('--to <moment>', 'zoom: up to here', parseMoment),
  by: choice('--by <axis>', 'columns of equal numbers of entries, or of equal times', ['index', 'time'], 'index'),
  annotations: optional(
    '--annotations [text]',
    'mark annotated ranges, those with this text in their names or all',
    text,
    '',
  ),
  components: flag('--components', 'also draw what is live by component; see `attribute`'),
  rules: option('--rules <file>', 'attribution rules of your own (YAML), for --components'),
  width: option(
    '--width <n>',
    `columns of the chart (default: the terminal's, else ${DEFAULT_WIDTH}); of the series with --json=full or --csv (default: ${DOCUMENT_COLUMNS})`,
  ),
  height: option('--height <n>', 'rows of the chart', between(2, 200), String(DEFAULT_HEIGHT)),
  limit: option('--limit <n>', 'steps to list, the last ones; 0 = all', countOrAll, '20'),
  ascii: flag('--ascii', 'draw with ASCII only (default where the locale is not UTF-8)'),
  csv: flag('--csv', 'print the series as CSV'),
  html: HTML,
};

export const verb = defineVerb({
  name: 'timeline',
  operands: { snapshot: SNAPSHOT },
  options: OPTIONS,
  async ask({ snapshot, device, from, to, by, annotations, components, rules, width, csv, json, html }, session) {
    if (csv && json) throw misuse('--csv and --json exclude each other');
    const columns =
      csv || json === 'full'
        ? width === undefined
          ? DOCUMENT_COLUMNS
          : between(1, 100_000)(width, '--width')
        : screenWidth(width, session.context) - GUTTER;
    const target = await session.snapshots(snapshot);
    const { store, run, filter } = target;
    const result = await describeTimelines(store, filter, {
      ...{ columns, by, device, zoom: { from, to }, annotations },
      components: components ? await readRules(rules) : undefined,
    });
    demandSnapshots(run, result.snapshots);
    if (device !== undefined && result.snapshots.every(({ devices }) => devices.length === 0))
      throw new MbfError('MBF1002', `none of these snapshots has a device ${device}`);
    return { result, page: html === undefined ? undefined : await runPage(target) };
  },
  full: ({ result }) => result,
  reports: { html: ({ page }) => page! },
  document: ({ result }, inputs, context) => timelineDocument(result, lookOf(inputs, context)),
  render({ result }, inputs, context) {
    if (inputs.csv) return timelineCsv(result);
    const look = lookOf(inputs, context);
    return look.ascii ? asciiText(documentText(timelineDocument(result, look))) : undefined;
  },
});

type LookInputs = Pick<Values<typeof OPTIONS>, 'width' | 'height' | 'ascii' | 'limit'>;

const lookOf = ({ width, height, ascii, limit }: LookInputs, context: Context) => ({
  width: width === undefined ? undefined : screenWidth(width, context),
  height,
  ascii: ascii || !context.unicode,
  steps: limit,
});

async function runPage(target: Target): Promise<string> {
  const { DRAWN_DEVICES, pageOf, reportOf } = await import('../../report-page.js');
  return pageOf((await reportOf(target, { operand: target.handle ?? target.run, devices: DRAWN_DEVICES })).report);
}

function screenWidth(width: string | undefined, { columns }: Context): number {
  return width === undefined ? columns : between(20, 100_000)(width, '--width');
}
