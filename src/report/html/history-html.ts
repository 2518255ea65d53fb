/** A figure over the commits of many runs: its document, with the points as a chart. Pure. */
import { HISTORY_METRICS, type HistoryResult } from '../../model/results/history.js';
import {
  changeText,
  ENDINGS,
  historyDocument,
  prefixOf,
  scaleOf,
  shortName,
  valueText,
} from '../compare/history-document.js';
import type { Document } from '../document/document.js';
import { partsHtml } from '../render/html.js';
import { counted, figure } from '../text-pieces.js';
import type { Child } from './html.js';
import { documentHead, documentRest, type PageHead } from './page-head.js';
import { type PageSection, section } from './page-pieces.js';
import { pointChart } from './point-chart.js';

/** With the last points that are listed. */
const documentOf = (history: HistoryResult): Document => historyDocument(history, { ascii: false, points: 500 });

export function historyHead(history: HistoryResult): PageHead {
  const last = history.change_points.at(-1);
  return documentHead('HISTORY', last === undefined ? 'plain' : last.is_worse ? 'bad' : 'good', documentOf(history));
}

export function historySection(history: HistoryResult | null): PageSection | null {
  if (history === null) return null;
  const { metric, by, order } = history;
  return section(
    'history',
    {
      name: 'History',
      title: `${HISTORY_METRICS[metric].title} by ${by}`,
      about: `Oldest first, in the order of ${order === 'repository' ? 'the repository' : 'ingestion'}.`,
    },
    chartOf(history),
    partsHtml(documentRest(documentOf(history))),
  );
}

function chartOf(history: HistoryResult): Child {
  const { points, change_points: changes, unit, metric } = history;
  const changed = new Map(changes.map((change) => [change.index, change]));
  const { factor, name } = scaleOf(points, unit);
  return pointChart({
    title: HISTORY_METRICS[metric].title,
    unit: 1 / factor,
    format: (value) => `${figure(value * factor)} ${name}`.trimEnd(),
    points: points.map((point, i) => {
      const change = changed.get(i);
      const isOk = point.ending === 'ok';
      return {
        ...{ name: shortName(history, i), value: point.value },
        ...(point.is_lower_bound ? { low: null, high: null } : { low: point.low, high: point.high }),
        kind: isOk ? 'point' : 'failed',
        isBound: point.is_lower_bound,
        mark:
          change === undefined
            ? null
            : { text: changeText(change.before, change.after, unit), isWorse: change.is_worse },
        text: `${shortName(history, i)}: ${prefixOf(point)}${valueText(point.value, unit)}, ${counted(point.runs, 'run')}${isOk ? '' : `, ${ENDINGS[point.ending]}`}`,
      };
    }),
    legend: points.some(({ ending }) => ending !== 'ok')
      ? [
          { kind: 'point', text: 'came to its end' },
          { kind: 'failed', text: 'failed: a lower bound' },
        ]
      : [],
  });
}
