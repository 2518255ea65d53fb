/** Memory timelines of torch.profiler: the peak by category, and the course of the total. */
import type { ProfilerMemoryResult, ProfilerMoment, ProfilerTimeline } from '../../model/results/profiler.js';
import * as d from '../document/document.js';
import { plain } from '../text-pieces.js';

const BAR = 24;
/** Categories with a column in the course of the total. */
const MOST_CATEGORIES = 3;

export const profilerDocument = ({ schema, timelines }: ProfilerMemoryResult): d.Document =>
  d.document(schema, '', ...timelines.map(timelineSection));

function timelineSection(timeline: ProfilerTimeline): d.MaybePart {
  const { path, rank, peak, form, entries, span_us: span, preexisting, categories, points } = timeline;
  const shown = categories.filter((row) => row.max_bytes !== 0 || row.min_bytes !== 0);
  const largest = categories.filter((row) => row.at_peak_bytes > 0).slice(0, MOST_CATEGORIES);
  const length = d.t` · ${d.counted(entries, form === 'sums' ? 'point in time' : 'event', form === 'sums' ? 'points in time' : 'events', 'entries')}${span === null ? '' : d.t` over ${d.as('span_us', d.us(span))}`}`;
  return d.section(
    d.t`${d.as('path', d.code(path))}${rank === null ? '' : d.t` · rank ${rank}`}${peak === null ? '' : length}`,
    { key: 'timelines', isOneOf: true, fields: { rank, form } },
    ...(peak === null
      ? [d.note('no entry: the exported device allocated nothing while the profiler ran')]
      : [
          d.paragraph(
            d.t`peak ${d.as('peak_bytes', d.bytes(peak.total_bytes))} ${when(peak)}${preexisting === null ? '' : d.t`; ${d.as('preexisting_bytes', d.bytes(preexisting.total_bytes))} existed before the profiler started`}`,
          ),
          d.table(
            shown,
            [
              d.column('category', (row) => plain(row.category)),
              ...d.fieldsOf(shown, ['at_peak_bytes', 'at the peak']),
              d.column('share', (row) => (peak.total_bytes === 0 ? null : row.at_peak_bytes / peak.total_bytes)),
              ...d.fieldsOf(shown, ['max_bytes', 'own maximum']),
              d.column('max_since_start_us', (row) => row.max_since_start_us ?? 'before', { title: 'after' }),
              ...d.fieldsOf(shown, ['end_bytes', 'at the end']),
            ],
            { key: 'categories' },
          ),
          points.length > 1 &&
            d.table(
              points,
              [
                d.column('since_start_us', (point) => point.since_start_us ?? 0, { title: 'after' }),
                d.column('total_bytes', (point) => point.total_bytes),
                d.column('bar', (point) => bar(point.total_bytes, peak.total_bytes), { title: '' }),
                ...largest.map(({ category }) =>
                  d.column<ProfilerMoment>(`${category}_bytes`, (point) => point.categories[category], {
                    title: plain(category),
                  }),
                ),
              ],
              { key: 'points' },
            ),
          d.items(
            categories
              .filter((row) => row.min_bytes < 0)
              .map(
                ({ category, min_bytes: least }) =>
                  d.t`${plain(category)} falls to ${d.bytes(least)}: the profiler lost track of what it was, so its split by category is approximate`,
              ),
          ),
        ]),
  );
}

const when = ({ since_start_us: since }: ProfilerMoment): d.Text =>
  since === null ? 'before the profiler started' : d.t`after ${d.us(since)}`;

const bar = (size: number, most: number): string =>
  most <= 0 ? '' : '#'.repeat(Math.max(0, Math.round((BAR * size) / most)));
