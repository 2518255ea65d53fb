/** The training steps of a timeline as a table, and their growth. */
import type { StepGrowth, TimelineStep, TimelineSteps, TimelineTrace } from '../../model/results/timeline.js';
import * as d from '../document/document.js';

const MOST_NAMES = 3;

/** `limit`: steps to list, the last ones, undefined = all. */
export function stepParts({ steps, zoomed }: TimelineTrace, limit: number | undefined): d.MaybePart[] {
  const { rows, growth, without_entries: idle } = steps;
  if (steps.origin === null)
    return [
      d.note('no steps: no annotation ProfilerStep or Optimizer.step was recorded (torch 2.6 and newer have them)'),
    ];
  if (rows.length === 0) return [d.note(`no step is ${zoomed ? 'wholly in this range' : 'in the trace'}`)];
  const shown = limit === undefined ? rows : rows.slice(-limit);
  const highest = rows.reduce((most, step) => (step.peak_active_bytes > most.peak_active_bytes ? step : most));
  const more = rows.length - shown.length;
  return [
    d.paragraph(stepSource(steps)),
    d.table(
      shown,
      [
        d.counts('step', (step) => (isPlain(step) ? step.step : stepName(step))),
        ...d.fieldsOf(shown, ['peak_active_bytes', 'peak']),
        d.counts(
          'peak_first_seq',
          (step) => (step.peak_first_seq === step.peak_last_seq ? step.peak_first_seq : d.t`~${step.peak_first_seq}`),
          {
            title: 'after entry',
          },
        ),
        ...d.fieldsOf(shown, ['end_active_bytes', 'end'], ['end_reserved_bytes', 'reserved'], 'allocs', 'frees'),
        ...d.fieldsOf(shown, ['allocated_requested_bytes', 'requested']),
        shown.some((step) => step.segment_allocs + step.segment_frees > 0) &&
          d.column('segments', segmentsText, { align: 'right' }),
        ...d.fieldsOf(shown, ['duration_us', 'time']),
      ],
      {
        key: 'steps',
        notes: [
          more > 0 && d.t`${d.counted(more, 'earlier step')} left out; --limit 0 shows all`,
          more > 0 && d.t`highest peak: ${d.bytes(highest.peak_active_bytes)} in step ${stepName(highest)}`,
          shown.some((step) => step.partial !== null) &&
            '* only part of the step is in the trace; it does not count for growth',
          idle > 0 && d.t`${d.counted(idle, 'more step')} did not use the allocator`,
        ],
      },
    ),
    d.paragraph(growthText(growth)),
  ];
}

const isPlain = ({ partial, occurrence }: TimelineStep): boolean => partial === null && occurrence === 1;

const stepName = ({ partial, occurrence, step }: TimelineStep): d.Text =>
  d.t`${partial === null ? '' : '*'}${step}${occurrence > 1 ? ` (${occurrence})` : ''}`;

const segmentsText = ({ segment_allocs: made, segment_frees: freed }: TimelineStep): string =>
  made + freed === 0 ? '' : `+${made} -${freed}`;

function stepSource({ origin, annotations, annotations_of_device: device }: TimelineSteps): d.Text {
  const names = d.joined(annotations.slice(0, MOST_NAMES), ', ');
  const of = d.t`${names}${device === null ? '' : d.t`, recorded for device ${device}`}`;
  return origin === 'profiler_step'
    ? d.t`steps of the torch profiler (${of}): active at the peak and the end, reserved at the end`
    : d.t`steps end where the optimizer's do (${of}), counted from 1: active at the peak and the end, reserved at the end`;
}

function growthText(growth: StepGrowth | null): d.Text {
  if (growth === null) return 'growth unknown: it takes two whole steps after the first, which is warm-up';
  const { trend, n, first_step: first, last_step: last, lowest_end_bytes: lowest, highest_end_bytes: highest } = growth;
  const over = d.t`steps ${first} to ${last}`;
  const spread = d.t`median of ${n}, spread ${d.changeBytes(growth.min_bytes_per_step)} to ${d.changeBytes(growth.max_bytes_per_step)}`;
  const sum = d.as('growth_bytes', d.changeBytes(growth.total_bytes));
  const total = d.t`${sum} over ${over}`;
  const perStep = d.as('growth_per_step_bytes', d.changeBytes(growth.median_bytes_per_step));
  if (n === 1 && trend === null)
    return d.t`growth ${sum} from step ${first} to step ${last}: one difference does not show a trend`;
  switch (trend) {
    case 'level':
      return highest === lowest
        ? d.t`no growth: every step of ${over} ends with exactly ${d.bytes(highest)} active`
        : d.t`no growth: the ends of ${over} are within ${d.bytes(highest - lowest)} of each other (${spread})`;
    case 'plateau':
      return d.t`plateau: ${total}, but nothing in the second half of them (${spread})`;
    case 'rising':
      return d.t`growth ${perStep}/step (${spread}): more active after every step, ${total}`;
    case null:
      return d.t`growth ${perStep}/step (${spread}): too few steps for a trend, ${total}`;
    case 'mixed':
      return d.t`growth ${perStep}/step (${spread}): up and down, ${total}`;
  }
}
