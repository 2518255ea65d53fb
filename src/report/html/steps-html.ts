/** The training steps of a trace, and the series over iterations of the logs. Pure. */
import { maxOf } from '../../model/lists.js';
import { median } from '../../model/median.js';
import type { ReportDevice, ReportIterations } from '../../model/results/report.js';
import type { StepGrowth, TimelineStep } from '../../model/results/timeline.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { duration } from '../document/values.js';
import { counted, grouped, rankName, signedBytes, stepTime, UNKNOWN } from '../text-pieces.js';
import { type Child, element, textElement } from './html.js';
import { bytes, counts, figures, htmlTable } from './html-table.js';
import { lineChart } from './line-chart.js';
import { leftOut, type PageSection, section } from './page-pieces.js';

/** Steps that are listed, the last ones. */
const MOST_STEPS = 200;

export function stepsSection(devices: readonly ReportDevice[]): PageSection | null {
  return section(
    'steps',
    {
      name: 'Steps',
      title: 'Training steps in the trace',
      about: 'Live and reserved bytes of each step. A star marks a step that is only partly in the trace.',
    },
    devices.map((device) => {
      const table = stepsTable(device, device.page.title);
      return table !== null && [devices.length > 1 && textElement('h3', device.page.title), table];
    }),
  );
}

/** The steps of one device with their growth; null where the trace is without steps. */
export function stepsTable({ timeline, page }: ReportDevice, title: string): Child {
  const steps = timeline.trace?.steps;
  if (steps === undefined || steps.rows.length === 0) return null;
  const rows = steps.rows.slice(-MOST_STEPS);
  const hasTimes = rows.some(({ duration_us: time }) => time !== null);
  const longest = maxOf(rows.map((step) => step.duration_us ?? 0));
  return [
    textElement('p', growthText(steps.growth)),
    htmlTable(
      rows,
      [
        figures('step', stepName),
        bytes('live, start', (step) => step.start_active_bytes),
        bytes('live, peak', (step) => step.peak_active_bytes),
        counts('after entry', (step) => step.peak_first_seq),
        bytes('live, end', (step) => step.end_active_bytes),
        bytes('reserved, peak', (step) => step.peak_reserved_bytes),
        bytes('reserved, end', (step) => step.end_reserved_bytes),
        counts('allocations', ({ allocs }) => allocs),
        counts('frees', ({ frees }) => frees),
        bytes('requested, in all', (step) => step.allocated_requested_bytes),
        hasTimes && figures('time', ({ duration_us: time }) => (time === null ? UNKNOWN : duration(time, longest))),
      ],
      {
        caption: `Steps of ${title}`,
        note: leftOut(
          steps.rows.length - rows.length,
          'earlier steps',
          `mbforensics timeline ${page.handle} --limit 0`,
        ),
      },
    ),
  ];
}

function stepName({ step, occurrence, partial }: TimelineStep): string {
  return `${formatCount(step)}${occurrence > 1 ? ` (${occurrence})` : ''}${partial === null ? '' : '*'}`;
}

const TRENDS = {
  rising: 'more is live after every step than after the one before',
  plateau: 'it grew, then the second half of the steps added nothing',
  level: 'no growth: the ends of all steps are within a thousandth of each other',
  mixed: 'up and down',
} as const;

/** What is left over from step to step. */
function growthText(growth: StepGrowth | null): string {
  if (growth === null) return 'Growth: unknown. It takes two whole steps after the first one, which is warm-up.';
  const { trend, n, first_step: first, last_step: last } = growth;
  const verdict = trend === null ? 'too few steps for a trend' : TRENDS[trend];
  const spread = `median ${signedBytes(growth.median_bytes_per_step)} per step of ${counted(n, 'difference')}`;
  const range = `${signedBytes(growth.min_bytes_per_step)} to ${signedBytes(growth.max_bytes_per_step)}`;
  return `Growth: ${verdict}. Live bytes at the end of a step: ${spread} (${range}), ${signedBytes(growth.total_bytes)} from step ${first} to step ${last}.`;
}

// ---- iterations

export function iterationsSection(iterations: ReportIterations | null): PageSection | null {
  if (iterations === null) return null;
  const { iteration: x, rank } = iterations;
  const chart = { xName: 'iteration', x, fromZero: false } as const;
  const memory = [
    { name: 'allocated', values: iterations.allocated_bytes },
    { name: 'peak allocated', values: iterations.peak_allocated_bytes },
    { name: 'peak reserved', values: iterations.peak_reserved_bytes },
  ];
  const charts = [
    lineChart({
      ...chart,
      title: 'Step time',
      series: [{ name: 'step time', values: iterations.step_ms }],
      kind: 'ms',
      note: summaryText(iterations.step_ms, stepTime),
    }),
    lineChart({
      ...chart,
      title: 'Memory',
      series: memory,
      kind: 'bytes',
      note: summaryText(iterations.peak_reserved_bytes, (value) => formatBytes(Math.round(value)), 'peak reserved '),
    }),
    lineChart({
      ...chart,
      title: 'Loss',
      series: [{ name: 'loss', values: iterations.loss }],
      kind: 'number',
      note: summaryText(iterations.loss, (value) => grouped(value, 4)),
    }),
  ].filter((one) => one !== null);
  return section(
    'iterations',
    {
      name: 'Iterations',
      title: 'Iterations in the logs',
      about: `${counted(x.length, 'iteration')}${rank === null ? '' : ` of ${rankName(rank)}`}, as printed. Parts of a long series are drawn by their least and greatest value.`,
    },
    charts.length > 0 && element('div', { class: 'charts' }, charts),
  );
}

/** `first 3.1 s, median 2.4 s, last 2.4 s, most 9.8 s (iteration 7)`; empty without values. */
function summaryText(series: readonly (number | null)[], format: (value: number) => string, name = ''): string {
  const values = series.filter((value) => value !== null);
  if (values.length === 0) return '';
  const parts = [
    `first ${format(values[0]!)}`,
    `median ${format(median(values))}`,
    `last ${format(values.at(-1)!)}`,
    `most ${format(maxOf(values))}`,
  ];
  return `${name}${parts.join(', ')}`;
}
