/** Iteration lines as a table, and what they amount to. */
import type { IterationSummary, IterationsResult } from '../../model/results/log.js';
import * as d from '../document/document.js';
import { csvLine } from '../store/sql-text.js';

export function iterationsDocument({
  schema,
  run,
  summary,
  attempts,
  rows,
  rows_left_out,
}: IterationsResult): d.Document {
  const name = d.as('run', d.code(run));
  const { count: lines, first, last, target } = summary;
  if (lines === 0) return d.document(schema, d.t`run ${name}: no iteration line`);
  return d.document(
    schema,
    d.t`run ${name}: ${d.counted(lines, 'line', 'lines', 'count')}, iterations ${d.as('first', d.count(first))} to ${d.as('last', d.count(last))}${target === null ? '' : d.t` of ${d.as('target', d.count(target))}`}${summary.monotonic === false ? ', not rising throughout' : ''}`,
    d.table(
      rows,
      [
        attempts.length > 1 && d.counts('attempt', (row) => row.attempt, { title: 'launch' }),
        ...d.fieldsOf(rows, 'iteration', 'step_ms', ['tflops_per_gpu', 'TFLOP/s/GPU'], 'loss', 'grad_norm'),
        ...d.fieldsOf(
          rows,
          ['global_batch_size', 'batch'],
          ['skipped_iterations', 'skipped'],
          ['nan_iterations', 'nan'],
        ),
      ],
      {
        key: 'rows',
        notes: [rows_left_out > 0 && d.t`${d.counted(rows_left_out, 'earlier line')} left out; --limit 0 shows all`],
      },
    ),
    statisticsTable(summary, attempts),
    summary.timed === 0 && d.paragraph('no step time printed'),
  );
}

const ALL = 'all lines';
const STEADY = 'without warm-up';

/** Of all lines, and without the first line of each launch. */
function statisticsTable(summary: IterationSummary, attempts: IterationsResult['attempts']) {
  const rowsOf = (name: string, one: IterationSummary) => [
    { name, lines: one.count, ...one },
    { name: name === ALL ? STEADY : `${name}, ${STEADY}`, lines: one.steady.timed, ...one.steady },
  ];
  const rows = [
    ...rowsOf(ALL, summary),
    ...(attempts.length > 1 ? attempts.flatMap((one) => rowsOf(`launch ${one.attempt}`, one)) : []),
  ].filter((row) => row.timed > 0 || row.median_tflops_per_gpu !== null);
  return d.table(
    rows,
    [
      d.column('of', ({ name }) => name, { title: 'step times' }),
      ...d.fieldsOf(rows, 'lines', ['median_step_ms', 'median'], ['mean_step_ms', 'mean'], ['p95_step_ms', 'p95']),
      ...d.fieldsOf(rows, ['min_step_ms', 'least'], ['max_step_ms', 'most'], ['median_tflops_per_gpu', 'TFLOP/s/GPU']),
    ],
    { key: 'step_times', notes: ['warm-up: the first line of each launch'] },
  );
}

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

/** Every row, with a heading; unknown is the empty field. */
export function iterationsCsv(result: IterationsResult): string {
  return csvLine(COLUMNS) + result.rows.map((row) => csvLine(COLUMNS.map((column) => row[column]))).join('');
}
