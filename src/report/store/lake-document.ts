/** What `lake` and its parts print. */
import { groupBy } from '../../model/group-by.js';
import { sumOf } from '../../model/lists.js';
import type { LakeAddResult, LakeAskResult, LakeQuestionsResult, LakeRun } from '../../model/results/lake.js';
import * as d from '../document/document.js';
import { formatValue } from '../document/values.js';
import { causeName } from '../words/fill.js';

/** A row for each level: its tables, rows and bytes. */
export function lakeAddDocument({ schema, lake, run, block, blocks, ranks, tables }: LakeAddResult): d.Document {
  const levels = [...groupBy(tables, ({ level }) => level)].map(([level, own]) => ({
    level,
    tables: own.length,
    rows: sumOf(own.map(({ rows }) => rows)),
    bytes: sumOf(own.map(({ bytes }) => bytes)),
  }));
  return d.document(
    schema,
    '',
    d.paragraph(
      d.t`${d.as('run', d.code(run))}: ${d.counted(ranks, 'rank', 'ranks', 'ranks')}, block ${d.as('block', d.shownAs(block, String(block)))} of ${d.as('blocks', d.count(blocks))} → ${d.as('lake', d.code(lake))}`,
    ),
    d.table(levels, ['level', 'tables', 'rows', 'bytes'], { key: 'levels' }),
  );
}

/** `2026-11-30 21:06:00`, by the clock of the logs. */
export const startText = (us: number | null): string | null => (us === null ? null : formatValue(us, 'clock'));

/** A row for each run. */
export const lakeRunsTable = (runs: readonly LakeRun[]) =>
  d.table(
    runs.map((run) => ({ ...run, started: startText(run.started_us), causes: causesText(run) })),
    [
      d.names('run', ({ run }) => run),
      d.column('started', ({ started }) => started),
      d.column('commit', ({ commit_sha: commit }) => commit?.slice(0, 12) ?? null),
      d.counts('ranks', ({ ranks }) => ranks),
      d.counts('blocks', ({ blocks }) => blocks),
      d.counts('missing_blocks', ({ missing }) => missing.length),
      d.column('peak_allocated_bytes', ({ peak_allocated_bytes: bytes }) => bytes),
      d.column('peak_reserved_bytes', ({ peak_reserved_bytes: bytes }) => bytes),
      d.column('causes', ({ causes }) => causes),
    ],
    { key: 'runs' },
  );

/** `fragmentation 12, capacity 4`: ranks by cause. */
const causesText = ({ causes }: LakeRun): string =>
  causes.length === 0 ? 'no failure' : causes.map(({ cause, ranks }) => `${causeName(cause)} ${ranks}`).join(', ');

/** Every question with its parameters; for one that is named also its columns. */
export const lakeQuestionsDocument = ({ schema, questions }: LakeQuestionsResult, isOne: boolean): d.Document =>
  d.document(
    schema,
    '',
    ...questions.map(({ name, title, why, parameters, columns }) =>
      d.section(
        d.t`${d.as('name', d.code(name))}: ${d.as('title', title)}`,
        { key: 'questions', isOneOf: true, about: isOne ? why : null },
        d.table(
          parameters,
          [
            d.names('parameter', (parameter) => `--set ${parameter.name}=${parameter.initial ?? '…'}`),
            d.column('meaning', (parameter) => parameter.text),
          ],
          { key: 'parameters', isBare: true },
        ),
        isOne && d.table(columns, ['name', 'type', d.column('meaning', ({ text }) => text)], { key: 'columns' }),
      ),
    ),
  );

/** The rows of an answer, each figure in the unit at the end of its column's name; `_us` are times of a clock. */
export function lakeAskDocument(answer: LakeAskResult): d.Document {
  const { schema, lake, question, title, parameters, columns, rows, truncated } = answer;
  const shown = columns.map(({ name, type }, i) =>
    d.column(name, (row: readonly unknown[]) => cellOf(row[i]), {
      ...(name.endsWith('_us') ? { unit: 'clock' as const } : {}),
      ...(/^(?:BIGINT|INTEGER|DOUBLE|DECIMAL)/.test(type) ? { align: 'right' as const } : {}),
    }),
  );
  return d.document(
    schema,
    title === '' ? d.as('question', d.code(question)) : d.t`${title} (${d.as('question', d.code(question))})`,
    d.table(rows, shown, { key: 'rows', notes: [truncated && 'more rows were left out; --limit 0 prints all'] }) ??
      d.paragraph(d.t`no rows: nothing in ${d.as('lake', d.code(lake))} answers it`),
    d.note(
      d.joined(
        parameters.map(({ name, value }) => d.t`${d.code(`${name}=${value}`)}`),
        ', ',
      ),
    ),
  );
}

function cellOf(value: unknown): d.Cell {
  if (value === null || value === undefined) return null;
  return typeof value === 'number' || typeof value === 'boolean' ? value : String(value);
}
