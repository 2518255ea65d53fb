/** A figure over the commits of many runs: where it changed, as a chart and as tables. Pure. */
import { HISTORY_METRICS, type HistoryChange, type HistoryResult } from '../../model/results/history.js';
import { shortCommit } from '../compare/check-words.js';
import { notesSection } from '../compare/difference.js';
import {
  changeText,
  ENDINGS,
  historyParts,
  leftOutWords,
  prefixOf,
  scaleOf,
  shortName,
  valueText,
} from '../compare/history-document.js';
import { parts } from '../document/document.js';
import { partsHtml } from '../render/html.js';
import { counted, figure } from '../text-pieces.js';
import { type Child, textElement } from './html.js';
import type { PageHead } from './page-head.js';
import { type PageSection, section } from './page-pieces.js';
import { pointChart } from './point-chart.js';

/** Points that the table lists, the last ones. */
const MOST_POINTS = 500;

export function historyHead(history: HistoryResult): PageHead {
  const { metric, by, points, change_points: changes, notes } = history;
  const last = changes.at(-1);
  const runs = points.reduce((sum, point) => sum + point.runs, 0);
  return {
    tone: last === undefined ? 'plain' : last.is_worse ? 'bad' : 'good',
    badge: 'HISTORY',
    places: [`${HISTORY_METRICS[metric].title} by ${by}`, counted(points.length, 'point'), counted(runs, 'run')],
    title: last === undefined ? 'no change beyond the noise' : changeTitle(last, history.unit),
    summary: last === undefined ? null : textElement('p', placeOf(last, history), { class: 'summary' }),
    boxes: [],
    below: partsHtml(parts([notesSection([...notes, ...leftOutWords(history)])])),
  };
}

const changeTitle = ({ before, after, is_lower_bound: isLeast }: HistoryChange, unit: HistoryResult['unit']): string =>
  `${valueText(before, unit)} → ${isLeast ? 'at least ' : ''}${valueText(after, unit)}, ${changeText(before, after, unit)}`;

function placeOf({ commit, run, index }: HistoryChange, { points }: HistoryResult): string {
  const label = points[index]?.label ?? null;
  const place = commit === null ? run : `${shortCommit(commit)}, run ${run}`;
  return `the last change is at ${place}${label === null ? '' : ` (${label})`}`;
}

export function historySection(history: HistoryResult | null): PageSection | null {
  if (history === null || history.points.length === 0) return null;
  return section(
    'history',
    { name: 'History', title: `${HISTORY_METRICS[history.metric].title} by ${history.by}`, about: orderText(history) },
    chartOf(history),
    partsHtml(parts(historyParts(history, { points: MOST_POINTS }))),
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

const orderText = ({ order, noise, unit }: HistoryResult): string =>
  `Oldest first, in the order of ${order === 'repository' ? 'the repository' : 'ingestion'}${noise === null ? '' : `; noise ± ${valueText(noise, unit)}`}.`;
