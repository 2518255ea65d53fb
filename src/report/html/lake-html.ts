/** The runs of a lake: a table by cause, and the trend of their peaks. Pure. */
import type { ReportResult } from '../../model/results/report.js';
import { formatBytes, GIB } from '../../model/units.js';
import * as d from '../document/document.js';
import { partsHtml } from '../render/html.js';
import { lakeRunsTable, startText } from '../store/lake-document.js';
import { counted } from '../text-pieces.js';
import { type Child, textList } from './html.js';
import { leftOut, type PageSection, section } from './page-pieces.js';
import { pointChart } from './point-chart.js';

export function lakeSection({ lake, title }: ReportResult): PageSection | null {
  if (lake === null) return null;
  const { runs, more } = lake;
  return section(
    'lake',
    {
      name: 'Lake',
      title: `Runs of the lake: ${counted(runs.length + more, 'run')}`,
      about: 'Peaks of the runs, oldest first: the most allocated of any rank. The table has the last one first.',
    },
    peaksChart(lake, title),
    partsHtml(d.parts([lakeRunsTable(runs)])),
    textList([leftOut(more, more === 1 ? 'run is' : 'runs are', '`lake ask` reads all')].filter((one) => one !== null)),
  );
}

function peaksChart({ runs }: NonNullable<ReportResult['lake']>, shown: string): Child {
  const timed = runs.filter(({ started_us: us }) => us !== null).toReversed();
  return pointChart({
    title: 'Most allocated',
    unit: GIB,
    format: formatBytes,
    points: timed.map(({ run, name, peak_allocated_bytes: peak, causes, started_us: us }) => ({
      ...{ name, value: peak, low: null, high: null, isBound: false },
      kind: causes.length > 0 ? 'failed' : 'point',
      mark: run === shown ? { text: 'this run', isWorse: false } : null,
      text: `${run}, ${startText(us)}: ${peak === null ? 'no peak' : formatBytes(peak)}`,
    })),
    legend: [
      { kind: 'point', text: 'without a failure' },
      { kind: 'failed', text: 'with a failure' },
    ],
  });
}
