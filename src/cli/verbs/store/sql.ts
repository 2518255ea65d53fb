import type { SqlResult } from '../../../model/results/common.js';
import { toJson } from '../../../report/json.js';
import { csvLine, jsonLine, SQL_FORMATS, sqlTable } from '../../../report/store/sql-text.js';
import { defineVerb } from '../../define-verb.js';
import { countOrAll, oneOf, operand, option, text } from '../../options.js';
import { withHistoriesFor } from '../../with-histories.js';

export const verb = defineVerb({
  name: 'sql',
  group: 'Store',
  summary: 'read-only SQL over the store',
  operands: {
    statement: operand('<statement>', 'one SELECT, or - to read it from standard input'),
    path: operand('[path]', 'ask the store of a path instead'),
  },
  options: {
    format: option('--format <format>', `one of ${SQL_FORMATS.join(', ')}`, text, 'table'),
    limit: option(
      '--limit <n>',
      'rows of a table or JSON document; 0 = all (jsonl and csv always print all)',
      countOrAll,
      '1000',
    ),
  },
  examples: [
    'sql "SHOW TABLES"',
    'sql "SELECT action, count(*) FROM event GROUP BY ALL ORDER BY 2 DESC"',
    'sql "SELECT * FROM incident" runs/llama3-70b-sft --format jsonl',
    'sql - --format csv < query.sql',
  ],
  async ask({ statement, path, format: wanted, limit, json }, session) {
    const format = json ? 'json' : oneOf(SQL_FORMATS)(wanted, '--format');
    const select = statement === '-' ? await readInput() : statement;
    const { context, common } = session;
    const { store } = session.keep(await withHistoriesFor(select, await session.store(path), common, context));
    const { runReadOnly, streamReadOnly } = await import('../../../store/read-only-sql.js');
    if (format === 'csv' || format === 'jsonl') {
      const { columns, rows } = await streamReadOnly(store, select);
      if (format === 'csv') context.out(csvLine(columns.map((column) => column.name)));
      for await (const row of rows) context.out(format === 'csv' ? csvLine(row) : jsonLine(columns, row));
      return undefined;
    }
    const result: SqlResult = {
      schema: 'mbforensics/sql@1',
      ...(await runReadOnly(store, select, limit === undefined ? {} : { maxRows: limit })),
    };
    return { result, format };
  },
  document: ({ result }) => result,
  render: ({ result, format }) => (format === 'json' ? toJson(result) : sqlTable(result)),
});

async function readInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
