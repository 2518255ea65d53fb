/** The training steps of a trace, and the series over iterations of the logs. Pure. */
import { maxOf } from '../../model/lists.js';
import { median } from '../../model/median.js';
import type { ReportDevice, ReportIterations } from '../../model/results/report.js';
import { formatBytes } from '../../model/units.js';
import { parts } from '../document/document.js';
import { partsHtml } from '../render/html.js';
import { stepParts } from '../run/step-parts.js';
import { counted, grouped, rankName, stepTime } from '../text-pieces.js';
import { type Child, element, textElement } from './html.js';
import { lineChart } from './line-chart.js';
import { type PageSection, section } from './page-pieces.js';

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
      const table = stepsTable(device);
      return table !== null && [devices.length > 1 && textElement('h3', device.page.title), table];
    }),
  );
}

/** The steps of one device with their growth; null where the trace is without steps. */
export function stepsTable({ timeline: { trace } }: ReportDevice): Child {
  if (trace === null || trace === undefined || trace.steps.rows.length === 0) return null;
  return partsHtml(parts(stepParts(trace, MOST_STEPS)));
}

// ---- iterations

export function iterationsSection(iterations: ReportIterations | null): PageSection | null {
  if (iterations === null) return null;
  const { iteration: x, rank } = iterations;
  const chart = { xName: 'iteration', x } as const;
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
