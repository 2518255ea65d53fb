import type { Command } from 'commander';
import { MbfError } from '../../model/errors.js';
import type { SqlResult } from '../../model/results.js';
import { csvLine, jsonLine, SQL_FORMATS, type SqlFormat, sqlTable } from '../../report/sql-text.js';
import type { Context } from '../context.js';
import { openTargetStore } from '../target.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';
import { withHistoriesFor } from '../with-histories.js';

interface Options extends CommonOptions {
  readonly format?: string;
  readonly limit?: string;
}

export function registerSql(program: Command, context: Context): void {
  withCommon(
    program
      .command('sql')
      .description('read-only SQL over the store')
      .argument('<statement>', 'one SELECT, or - to read it from standard input')
      .argument('[path]', 'ask the store of a path instead')
      .option('--format <format>', `one of ${SQL_FORMATS.join(', ')}`, 'table')
      .option('--limit <n>', 'rows of a table or JSON document; 0 = all (jsonl and csv always print all)', '1000'),
    [
      'sql "SHOW TABLES"',
      'sql "SELECT action, count(*) FROM event GROUP BY ALL ORDER BY 2 DESC"',
      'sql "SELECT * FROM incident" runs/llama3-70b-sft --format jsonl',
      'sql - --format csv < query.sql',
    ],
  ).action(async (statement: string, path: string | undefined, options: Options) => {
    const format = (options.json === true ? 'json' : options.format) as SqlFormat;
    if (!SQL_FORMATS.includes(format))
      throw new MbfError('MBF1001', `--format ${JSON.stringify(format)} is none of ${SQL_FORMATS.join(', ')}`);
    const limit = Number(options.limit);
    if (!Number.isSafeInteger(limit) || limit < 0)
      throw new MbfError('MBF1001', `--limit ${JSON.stringify(options.limit)} is no count`);
    const text = statement === '-' ? await readInput() : statement;
    const opened = await openTargetStore(path, options, context);
    const { store, close } = await withHistoriesFor(text, opened, options, context);
    try {
      const { runReadOnly, streamReadOnly } = await import('../../store/read-only-sql.js');
      if (format === 'csv' || format === 'jsonl') {
        const stream = await streamReadOnly(store, text);
        if (format === 'csv') context.out(csvLine(stream.columns.map((column) => column.name)));
        for await (const row of stream.rows)
          context.out(format === 'csv' ? csvLine(row) : jsonLine(stream.columns, row));
        return;
      }
      const rows = await runReadOnly(store, text, limit === 0 ? {} : { maxRows: limit });
      const result: SqlResult = { schema: 'mbforensics/sql@1', ...rows };
      answer(context, { json: format === 'json' }, result, sqlTable);
    } finally {
      await close();
    }
  });
}

async function readInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
