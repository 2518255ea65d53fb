/**
 * What `launch.sh` of a generated repository calls: writes the run of a commit as the table says. Exits with 1 where
 * training fails.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { Table } from './table.js';
import { writeRun } from './train.js';

const text = (standard: string) => ({ type: 'string', default: standard }) as const;
const { values } = parseArgs({
  options: { table: text(''), output: text('out'), attempt: text('1'), commit: text('') },
});
const table = JSON.parse(readFileSync(values.table, 'utf8')) as Table;
const { ending } = writeRun(table, values.commit, Number(values.attempt), values.output);
process.exitCode = ending === 'completed' ? 0 : 1;
