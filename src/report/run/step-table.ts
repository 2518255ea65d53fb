/** The training steps of a timeline as a table, and their growth. */
import { pushAll } from '../../model/lists.js';
import type { StepGrowth, TimelineStep, TimelineSteps, TimelineTrace } from '../../model/results/timeline.js';
import { formatBytes, formatCount, GIB, KIB, MIB } from '../../model/units.js';
import { printable, right, tableOf } from '../table.js';
import { grouped, paragraph, signedBytes, UNKNOWN } from '../text-pieces.js';

/** Lines below the chart; `limit`: steps to list, the last ones, undefined = all. */
export function stepLines(trace: TimelineTrace, limit: number | undefined): string[] {
  const { steps } = trace;
  if (steps.origin === null)
    return [
      '',
      '  no steps: no annotation ProfilerStep or Optimizer.step was recorded (torch 2.6 and newer have them)',
    ];
  if (steps.rows.length === 0) return ['', `  no step is ${trace.zoomed ? 'wholly in this range' : 'in the trace'}`];
  const shown = limit === undefined ? steps.rows : steps.rows.slice(-limit);
  const [unit, unitBytes] =
    UNITS.find(([, bytes]) => steps.rows.some((step) => step.peak_active_bytes >= bytes)) ?? UNITS[2];
  const longest = shown.reduce((most, step) => Math.max(most, step.duration_us ?? 0), 0);
  const lines = ['', ...paragraph(`  ${stepSource(steps)}`)];
  lines.push(`  ${unit}: active at the start, at the peak and at the end; reserved at the end`);
  const highest = steps.rows.reduce((most, step) => (step.peak_active_bytes > most.peak_active_bytes ? step : most));
  const pages = shown.some((step) => step.segment_allocs > 0 || step.segment_frees > 0);
  const size = (bytes: number | null): string => (bytes === null ? UNKNOWN : grouped(bytes / unitBytes, 2));
  const pagesText = ({ segment_allocs, segment_frees }: TimelineStep): string =>
    segment_allocs + segment_frees === 0 ? '' : `+${segment_allocs} -${segment_frees}`;
  lines.push(
    tableOf(shown, [
      right('step', stepName),
      right('start', (step) => size(step.start_active_bytes)),
      right('peak', (step) => size(step.peak_active_bytes)),
      right(
        'after entry',
        ({ peak_first_seq: first, peak_last_seq: last }) => `${first === last ? '' : '~'}${formatCount(first)}`,
      ),
      right('end', (step) => size(step.end_active_bytes)),
      right('reserved', (step) => size(step.end_reserved_bytes)),
      right('allocs', (step) => formatCount(step.allocs)),
      right('frees', (step) => formatCount(step.frees)),
      right('requested', (step) => size(step.allocated_requested_bytes)),
      pages && right('segments', pagesText),
      right('time', ({ duration_us: time }) => (time === null ? UNKNOWN : duration(time, longest))),
    ]),
  );
  if (shown.length < steps.rows.length)
    lines.push(
      `  ${formatCount(steps.rows.length - shown.length)} earlier steps left out; --limit 0 shows all`,
      `  highest peak: ${formatBytes(highest.peak_active_bytes)} in step ${stepName(highest)}`,
    );
  if (shown.some((step) => step.partial !== null))
    lines.push('  * only part of the step is in the trace; it does not count for growth');
  if (steps.without_entries > 0)
    lines.push(`  ${formatCount(steps.without_entries)} more steps touched the allocator in no way`);
  pushAll(lines, paragraph(`  ${growthText(steps.growth)}`));
  return lines;
}

const UNITS = [
  ['GiB', GIB],
  ['MiB', MIB],
  ['KiB', KIB],
] as const;

function stepSource(steps: TimelineSteps): string {
  const of = steps.annotations_of_device === null ? '' : `, recorded for device ${steps.annotations_of_device}`;
  const names = steps.annotations
    .slice(0, 3)
    .map((name) => printable(name))
    .join(', ');
  if (steps.origin === 'profiler_step') return `steps of the torch profiler (${names}${of})`;
  return `steps end where the optimizer's do (${names}${of}), counted from 1`;
}

function stepName(step: TimelineStep): string {
  const again = step.occurrence > 1 ? ` (${step.occurrence})` : '';
  return `${step.partial === null ? '' : '*'}${formatCount(step.step)}${again}`;
}

function growthText(growth: StepGrowth | null): string {
  if (growth === null) return 'growth unknown: it takes two whole steps after the first, which is warm-up';
  const over = `steps ${growth.first_step} to ${growth.last_step}`;
  const spread = `median of ${growth.n}, spread ${signedBytes(growth.min_bytes_per_step)} to ${signedBytes(growth.max_bytes_per_step)}`;
  const total = `${signedBytes(growth.total_bytes)} over ${over}`;
  const width = growth.highest_end_bytes - growth.lowest_end_bytes;
  if (growth.n === 1 && growth.trend === null)
    return `growth ${signedBytes(growth.total_bytes)} from step ${growth.first_step} to step ${growth.last_step}: one difference does not show a trend`;
  switch (growth.trend) {
    case 'level':
      return width === 0
        ? `no growth: every step of ${over} ends with exactly ${formatBytes(growth.highest_end_bytes)} active`
        : `no growth: the ends of ${over} are within ${formatBytes(width)} of each other (${spread})`;
    case 'plateau':
      return `plateau: ${total}, but nothing in the second half of them (${spread})`;
    case 'rising':
      return `growth ${signedBytes(growth.median_bytes_per_step)}/step (${spread}): more active after every step, ${total}`;
    case null:
      return `growth ${signedBytes(growth.median_bytes_per_step)}/step (${spread}): too few steps for a trend, ${total}`;
    case 'mixed':
      return `growth ${signedBytes(growth.median_bytes_per_step)}/step (${spread}): up and down, ${total}`;
  }
}

/** `2.31 s`, `1.20 ms`: in the unit of `of`, so that labels of one scale agree. */
export function duration(us: number, of = us): string {
  const size = Math.abs(of);
  if (size < 1000) return `${Math.round(us)} us`;
  if (size < 1e6) return `${(us / 1000).toFixed(2)} ms`;
  if (size < 600e6) return `${(us / 1e6).toFixed(2)} s`;
  return `${(us / 60e6).toFixed(1)} min`;
}
