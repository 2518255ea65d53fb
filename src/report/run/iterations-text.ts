/** Iteration lines as a table, and what they amount to. */
import { pushAll } from '../../model/lists.js';
import type { IterationSummary, IterationsResult } from '../../model/results/log.js';
import { formatCount } from '../../model/units.js';
import { csvLine } from '../store/sql-text.js';
import { printable, right, tableOf } from '../table.js';
import { countOr, figure, grouped, paragraph, stepTime, UNKNOWN, wrapped } from '../text-pieces.js';

const COLUMNS = [
  'attempt',
  'iteration',
  'target',
  'rank',
  'step_ms',
  'tflops_per_gpu',
  'loss',
  'learning_rate',
  'grad_norm',
  'loss_scale',
  'global_batch_size',
  'consumed_samples',
  'skipped_iterations',
  'nan_iterations',
  'time_us',
  'file',
  'line',
] as const;

export function iterationsText(result: IterationsResult): string {
  const { summary } = result;
  if (summary.count === 0) return `run ${printable(result.run)}: no iteration line\n`;
  const lines: string[] = [];
  if (result.rows.length > 0) {
    lines.push(
      tableOf(
        result.rows,
        [
          right('attempt', (row) => row.attempt),
          right('iteration', (row) => formatCount(row.iteration)),
          right('ms', (row) => (row.step_ms === null ? UNKNOWN : grouped(row.step_ms, 1))),
          right('TFLOP/s/GPU', (row) => (row.tflops_per_gpu === null ? UNKNOWN : grouped(row.tflops_per_gpu, 1))),
          right('loss', (row) => figure(row.loss)),
          right('grad norm', (row) => figure(row.grad_norm)),
          right('batch', (row) => countOr(row.global_batch_size)),
          right('skipped', (row) => countOr(row.skipped_iterations)),
          right('nan', (row) => countOr(row.nan_iterations)),
        ],
        '',
      ),
    );
  }
  if (result.rows_left_out > 0)
    lines.push(`${formatCount(result.rows_left_out)} earlier lines left out; --limit 0 shows all`);
  pushAll(lines, ['', ...summaryLines(`run ${printable(result.run)}`, summary)]);
  if (result.attempts.length > 1)
    for (const attempt of result.attempts) pushAll(lines, summaryLines(`attempt ${attempt.attempt}`, attempt));
  return `${lines.join('\n')}\n`;
}

function summaryLines(title: string, summary: IterationSummary): string[] {
  const target = summary.target === null ? '' : ` of ${formatCount(summary.target)}`;
  const order = summary.monotonic === false ? ', not rising throughout' : '';
  const { steady } = summary;
  const head = `${title}: ${formatCount(summary.count)} lines, iterations ${countOr(summary.first)} to ${countOr(summary.last)}${target}${order}`;
  const all = `all lines: median ${stepTime(summary.median_step_ms)}, mean ${stepTime(summary.mean_step_ms)}, p95 ${stepTime(summary.p95_step_ms)}, ${stepTime(summary.min_step_ms)} to ${stepTime(summary.max_step_ms)}`;
  const without = `without the first line of each attempt (${formatCount(steady.left_out)} left out as warm-up): median ${stepTime(steady.median_step_ms)}, mean ${stepTime(steady.mean_step_ms)}, p95 ${stepTime(steady.p95_step_ms)}, ${stepTime(steady.min_step_ms)} to ${stepTime(steady.max_step_ms)}`;
  const tflops = steady.median_tflops_per_gpu ?? summary.median_tflops_per_gpu;
  return [
    ...wrapped(head, '  '),
    ...(summary.timed > 0 ? paragraph(`  ${all}`) : []),
    ...(steady.timed > 0 ? paragraph(`  ${without}`) : []),
    ...(tflops === null ? [] : [`  throughput: median ${grouped(tflops, 1)} TFLOP/s/GPU`]),
  ];
}

/** Every row, with a heading; unknown is the empty field. */
export function iterationsCsv(result: IterationsResult): string {
  return csvLine(COLUMNS) + result.rows.map((row) => csvLine(COLUMNS.map((column) => row[column]))).join('');
}
