/** Iteration lines as a table, and what they amount to. */
import type { IterationSummary, IterationsResult } from '../../model/results/log.js';
import {
  as,
  code,
  column,
  count,
  counted,
  counts,
  type Document,
  document,
  fieldsOf,
  paragraph,
  t,
  table,
} from '../document/document.js';
import { csvLine } from '../store/sql-text.js';

export function iterationsDocument({
  schema,
  run,
  summary,
  attempts,
  rows,
  rows_left_out,
}: IterationsResult): Document {
  const name = as('run', code(run));
  const { count: lines, first, last, target } = summary;
  if (lines === 0) return document(schema, t`run ${name}: no iteration line`);
  return document(
    schema,
    t`run ${name}: ${counted(lines, 'line', 'lines', 'count')}, iterations ${as('first', count(first))} to ${as('last', count(last))}${target === null ? '' : t` of ${as('target', count(target))}`}${summary.monotonic === false ? ', not rising throughout' : ''}`,
    table(
      rows,
      [
        attempts.length > 1 && counts('attempt', (row) => row.attempt, { title: 'launch' }),
        ...fieldsOf(rows, 'iteration', 'step_ms', ['tflops_per_gpu', 'TFLOP/s/GPU'], 'loss', 'grad_norm'),
        ...fieldsOf(rows, ['global_batch_size', 'batch'], ['skipped_iterations', 'skipped'], ['nan_iterations', 'nan']),
      ],
      {
        key: 'rows',
        notes: [rows_left_out > 0 && t`${counted(rows_left_out, 'earlier line')} left out; --limit 0 shows all`],
      },
    ),
    statisticsTable(summary, attempts),
    summary.timed === 0 && paragraph('no step time printed'),
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
  return table(
    rows,
    [
      column('of', ({ name }) => name, { title: 'step times' }),
      ...fieldsOf(rows, 'lines', ['median_step_ms', 'median'], ['mean_step_ms', 'mean'], ['p95_step_ms', 'p95']),
      ...fieldsOf(rows, ['min_step_ms', 'least'], ['max_step_ms', 'most'], ['median_tflops_per_gpu', 'TFLOP/s/GPU']),
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
