import { MbfError } from '../../../model/errors.js';
import type { SqlResult } from '../../../model/results/common.js';
import { toJson } from '../../../report/json.js';
import { documentText } from '../../../report/render/text.js';
import { csvLine, jsonLine, SQL_FORMATS, sqlDocument, sqlLibraryText } from '../../../report/store/sql-text.js';
import { defineVerb } from '../../define-verb.js';
import { CSV_RAW, flag, misuse, oneOf, operand, option, ROW_LIMIT, text } from '../../options.js';
import { readTextFile } from '../../text-input.js';

export const verb = defineVerb({
  name: 'sql',
  operands: {
    statement: operand('[statement]', 'one SELECT, or - to read it from standard input'),
    path: operand('[path]', 'ask the store of a path instead, or with --lake one of its runs'),
  },
  options: {
    format: option('--format <format>', `one of ${SQL_FORMATS.join(', ')}`, text, 'table'),
    limit: ROW_LIMIT,
    csvRaw: CSV_RAW,
    list: flag('--list', 'tables, views and macros of the analysis library with their columns, or the one named'),
  },
  async ask({ statement, path, format: wanted, limit, csvRaw, lake, list, json }, session) {
    if (list) {
      const { describeLibrary } = await import('../../../store/install-library.js');
      const library = describeLibrary(statement);
      if (library.objects.length === 0)
        throw new MbfError('MBF1002', `no table, view or macro is named ${JSON.stringify(statement)}`);
      return { library };
    }
    if (statement === undefined) throw misuse('no statement was given; --list shows the named queries');
    const format = json ? 'json' : oneOf(SQL_FORMATS)(wanted, '--format');
    if (csvRaw && format !== 'csv') throw misuse('--csv-raw is an option of --format csv');
    const select = statement === '-' ? await readTextFile('-') : statement;
    const { context } = session;
    // Of one run of a lake, its store.
    const { store } =
      lake === undefined || path !== undefined ? await session.store(path) : await session.lake(lake, select);
    const { runReadOnly, streamReadOnly } = await import('../../../store/read-only-sql.js');
    if (format === 'csv' || format === 'jsonl') {
      const { columns, rows } = await streamReadOnly(store, select);
      const out = csvRaw ? (line: string) => context.bytes(Buffer.from(line)) : context.out;
      const line = (row: readonly unknown[]) => (format === 'csv' ? csvLine(row, csvRaw) : jsonLine(columns, row));
      if (format === 'csv') out(line(columns.map((column) => column.name)));
      for await (const row of rows) out(line(row));
      return undefined;
    }
    const result: SqlResult = {
      schema: 'mbforensics/sql@1',
      ...(await runReadOnly(store, select, limit === undefined ? {} : { maxRows: limit })),
    };
    return { result, format };
  },
  full: (answer) => ('library' in answer ? answer.library : answer.result),
  render: (answer) =>
    'library' in answer
      ? sqlLibraryText(answer.library)
      : answer.format === 'json'
        ? toJson(answer.result)
        : documentText(sqlDocument(answer.result)),
});
