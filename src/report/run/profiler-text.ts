/** Memory timelines of torch.profiler: the peak by category, and the course of the total. */
import { pushAll } from '../../model/lists.js';
import type { ProfilerMemoryResult, ProfilerMoment, ProfilerTimeline } from '../../model/results/profiler.js';
import { formatBytes, formatCount } from '../../model/units.js';
import type { ProfilerCategory } from '../../model/vocabulary.js';
import { left, printable, right, table, tableOf } from '../table.js';
import { grouped, paragraph, rankName, UNKNOWN, wrapped } from '../text-pieces.js';

const BAR = 24;

export function profilerText(result: ProfilerMemoryResult): string {
  return `${result.timelines.map(timelineText).join('\n\n')}\n`;
}

function timelineText(timeline: ProfilerTimeline): string {
  const rank = rankName(timeline.rank);
  const title = `${printable(timeline.path)} · ${rank}`;
  const { peak } = timeline;
  if (peak === null) return `${title}\n  no entry: the exported device allocated nothing while the profiler ran`;
  const lines = [`${title} · ${entriesText(timeline)}`, ''];
  const before = timeline.preexisting;
  pushAll(
    lines,
    paragraph(
      `  peak ${formatBytes(peak.total_bytes)} ${when(peak)}${before === null ? '' : `; ${formatBytes(before.total_bytes)} existed before the profiler started`}`,
    ),
  );
  lines.push(categoryTable(timeline, peak));
  const shown = timeline.categories.filter((category) => category.at_peak_bytes > 0).slice(0, 3);
  if (timeline.points.length > 1)
    lines.push(
      '',
      pointTable(
        timeline.points,
        peak,
        shown.map((category) => category.category),
      ),
    );
  const negative = timeline.categories.filter((category) => category.min_bytes < 0);
  for (const { category, min_bytes } of negative) {
    const text = `  ${words(category)} falls to ${formatBytes(min_bytes)}: the profiler lost track of what it was, so its split by category is approximate`;
    pushAll(lines, ['', ...wrapped(text, '    ')]);
  }
  return lines.join('\n');
}

function entriesText({ form, entries, span_us }: ProfilerTimeline): string {
  const what = form === 'sums' ? 'points in time' : 'events';
  return `${formatCount(entries)} ${what}${span_us === null ? '' : ` over ${duration(span_us)}`}`;
}

function when(moment: ProfilerMoment): string {
  return moment.since_start_us === null ? 'before the profiler started' : `after ${duration(moment.since_start_us)}`;
}

function duration(us: number): string {
  return us < 10_000_000 ? `${grouped(us / 1000, 1)} ms` : `${grouped(us / 1_000_000, 1)} s`;
}

function categoryTable({ categories }: ProfilerTimeline, peak: ProfilerMoment): string {
  return tableOf(
    categories.filter((row) => row.max_bytes !== 0 || row.min_bytes !== 0),
    [
      left('category', (row) => words(row.category)),
      right('at the peak', (row) => formatBytes(row.at_peak_bytes)),
      right('share', (row) =>
        peak.total_bytes === 0 ? UNKNOWN : `${((100 * row.at_peak_bytes) / peak.total_bytes).toFixed(1)} %`,
      ),
      right('own maximum', (row) => formatBytes(row.max_bytes)),
      right('after', (row) => (row.max_since_start_us === null ? 'before' : duration(row.max_since_start_us))),
      right('at the end', (row) => formatBytes(row.end_bytes)),
    ],
  );
}

function pointTable(
  points: readonly ProfilerMoment[],
  peak: ProfilerMoment,
  categories: readonly ProfilerCategory[],
): string {
  return table(
    [right('after'), right('total'), left(''), ...categories.map((category) => right(words(category)))],
    points.map((point) => [
      duration(point.since_start_us ?? 0),
      formatBytes(point.total_bytes),
      bar(point.total_bytes, peak.total_bytes),
      ...categories.map((category) => formatBytes(point.categories[category])),
    ]),
    '  ',
  );
}

function bar(bytes: number, most: number): string {
  return most <= 0 ? '' : '#'.repeat(Math.max(0, Math.round((BAR * bytes) / most)));
}

function words(category: ProfilerCategory): string {
  return category.replace('_', ' ');
}
