/** The training steps of a timeline as a table, and their growth. */
import { maxBy } from '../../model/lists.js';
import type { StepGrowth, TimelineStep, TimelineTrace } from '../../model/results/timeline.js';
import * as d from '../document/document.js';
import { allTexts, textMaker } from '../words/fill-pieces.js';

const MOST_NAMES = 3;

export function stepParts({ steps, zoomed }: TimelineTrace, limit: number | undefined): d.MaybePart[] {
  const { rows, growth, without_entries: idle, annotations } = steps;
  if (steps.origin === null) return [d.note(textOf('no_annotation'))];
  if (rows.length === 0) return [d.note(textOf('no_rows', { zoomed }))];
  const shown = limit === undefined ? rows : rows.slice(-limit);
  const highest = maxBy(rows, (step) => step.peak_active_bytes)!;
  const figures = {
    ...{ more: rows.length - shown.length, highest: highest.peak_active_bytes, in: stepName(highest), idle },
    partial: shown.some((step) => step.partial !== null),
  };
  return [
    d.paragraph(textOf(steps.origin, steps, { names: annotations.slice(0, MOST_NAMES).join(', ') || null })),
    d.table(
      shown,
      [
        d.counts('step', (step) => (step.partial === null && step.occurrence === 1 ? step.step : stepName(step))),
        ...d.fieldsOf(shown, ['peak_active_bytes', 'peak']),
        d.counts(
          'peak_first_seq',
          (step) => (step.peak_first_seq === step.peak_last_seq ? step.peak_first_seq : d.t`~${step.peak_first_seq}`),
          { title: 'after entry' },
        ),
        ...d.fieldsOf(shown, ['end_active_bytes', 'end'], ['end_reserved_bytes', 'reserved'], 'allocs', 'frees'),
        ...d.fieldsOf(shown, ['allocated_requested_bytes', 'requested']),
        shown.some((step) => step.segment_allocs + step.segment_frees > 0) &&
          d.column('segments', segmentsText, { align: 'right' }),
        ...d.fieldsOf(shown, ['duration_us', 'time']),
      ],
      { key: 'steps', notes: allTexts('moment', 'step_notes', figures) },
    ),
    d.paragraph(growthText(growth)),
  ];
}

const textOf = textMaker('moment', 'steps');

const stepName = ({ partial, occurrence, step }: TimelineStep): d.Text =>
  d.t`${partial === null ? '' : '*'}${step}${occurrence > 1 ? ` (${occurrence})` : ''}`;

const segmentsText = ({ segment_allocs: made, segment_frees: freed }: TimelineStep): string =>
  made + freed === 0 ? '' : `+${made} -${freed}`;

function growthText(growth: StepGrowth | null): d.Text {
  if (growth === null) return textOf('growth_unknown');
  const { trend, n, lowest_end_bytes: lowest, highest_end_bytes: highest } = growth;
  if (n === 1 && trend === null) return textOf('one_difference', growth);
  return textOf(trend === 'level' && highest === lowest ? 'exact' : (trend ?? 'few'), growth);
}
