/** Nsight Systems exports: SQLite, folders of Parquet files, lines of JSON. See FORMAT.md. */
import { MbfError } from '../../src/model/errors.js';
import type { ParserSpec } from '../../src/model/parser.js';
import { openDatabase } from '../../src/sqlite/open-database.js';
import { readJsonLines } from './read-json-lines.js';
import { readTables } from './read-tables.js';
import { sniff } from './sniff.js';

const SQLITE = 'SQLite format 3\0';

export const nsysExport: ParserSpec = {
  id: 'nsys',
  title: 'Nsight Systems export',
  sniff,
  async parse(source, sink, context) {
    const bytes = await source.randomAccess?.();
    if (bytes === undefined) throw new MbfError('MBF2704', 'an export is read from a file, not from a stream');
    const head = new Uint8Array(SQLITE.length);
    bytes.readAt(head, 0);
    const isDatabase =
      Buffer.from(head).toString('latin1') === SQLITE || /\.(?:nsys-)?sqlite(?:\.\w+)?$/i.test(context.name);
    if (!isDatabase) return readJsonLines(source, sink, context);
    return readTables(openDatabase(bytes), 'sqlite', sink, context);
  },
  parseTables: (tables, sink, context) => readTables(tables, 'parquetdir', sink, context),
};
