/** Memory timelines of torch.profiler: the peak by category, and the course of the total. */
import type { ProfilerMemoryResult, ProfilerMoment, ProfilerTimeline } from '../../model/results/profiler.js';
import {
  as,
  bytes,
  code,
  column,
  counted,
  type Document,
  document,
  fieldsOf,
  items,
  type MaybePart,
  note,
  paragraph,
  section,
  type Text,
  t,
  table,
  us,
} from '../document/document.js';
import { plain } from '../text-pieces.js';

const BAR = 24;
/** Categories with a column in the course of the total. */
const MOST_CATEGORIES = 3;

export const profilerDocument = ({ schema, timelines }: ProfilerMemoryResult): Document =>
  document(schema, '', ...timelines.map(timelineSection));

function timelineSection(timeline: ProfilerTimeline): MaybePart {
  const { path, rank, peak, form, entries, span_us: span, preexisting, categories, points } = timeline;
  const shown = categories.filter((row) => row.max_bytes !== 0 || row.min_bytes !== 0);
  const largest = categories.filter((row) => row.at_peak_bytes > 0).slice(0, MOST_CATEGORIES);
  const length = t` · ${counted(entries, form === 'sums' ? 'point in time' : 'event', form === 'sums' ? 'points in time' : 'events', 'entries')}${span === null ? '' : t` over ${as('span_us', us(span))}`}`;
  return section(
    t`${as('path', code(path))}${rank === null ? '' : t` · rank ${rank}`}${peak === null ? '' : length}`,
    { key: 'timelines', isOneOf: true, fields: { rank, form } },
    ...(peak === null
      ? [note('no entry: the exported device allocated nothing while the profiler ran')]
      : [
          paragraph(
            t`peak ${as('peak_bytes', bytes(peak.total_bytes))} ${when(peak)}${preexisting === null ? '' : t`; ${as('preexisting_bytes', bytes(preexisting.total_bytes))} existed before the profiler started`}`,
          ),
          table(
            shown,
            [
              column('category', (row) => plain(row.category)),
              ...fieldsOf(shown, ['at_peak_bytes', 'at the peak']),
              column('share', (row) => (peak.total_bytes === 0 ? null : row.at_peak_bytes / peak.total_bytes)),
              ...fieldsOf(shown, ['max_bytes', 'own maximum']),
              column('max_since_start_us', (row) => row.max_since_start_us ?? 'before', { title: 'after' }),
              ...fieldsOf(shown, ['end_bytes', 'at the end']),
            ],
            { key: 'categories' },
          ),
          points.length > 1 &&
            table(
              points,
              [
                column('since_start_us', (point) => point.since_start_us ?? 0, { title: 'after' }),
                column('total_bytes', (point) => point.total_bytes),
                column('bar', (point) => bar(point.total_bytes, peak.total_bytes), { title: '' }),
                ...largest.map(({ category }) =>
                  column<ProfilerMoment>(`${category}_bytes`, (point) => point.categories[category], {
                    title: plain(category),
                  }),
                ),
              ],
              { key: 'points' },
            ),
          items(
            categories
              .filter((row) => row.min_bytes < 0)
              .map(
                ({ category, min_bytes: least }) =>
                  t`${plain(category)} falls to ${bytes(least)}: the profiler lost track of what it was, so its split by category is approximate`,
              ),
          ),
        ]),
  );
}

const when = ({ since_start_us: since }: ProfilerMoment): Text =>
  since === null ? 'before the profiler started' : t`after ${us(since)}`;

const bar = (size: number, most: number): string =>
  most <= 0 ? '' : '#'.repeat(Math.max(0, Math.round((BAR * size) / most)));
