/** Nsight Systems exports: SQLite, folders of Parquet files, lines of JSON. See FORMAT.md. */
import { MbfError } from '../../src/model/errors.js';
import type { ParserSpec } from '../../src/model/parser.js';
import { openDatabase } from '../../src/sqlite/open-database.js';
import { precededBy, readHead } from '../../src/text/stream-head.js';
import { readJsonLines } from './read-json-lines.js';
import { readTables } from './read-tables.js';
import { sniff } from './sniff.js';

const SQLITE = 'SQLite format 3\0';

export const nsysExport: ParserSpec = {
  id: 'nsys',
  title: 'Nsight Systems export',
  sniff,
  async parse(source, sink, context) {
    // Lines are read as a stream, so that a compressed file need not be unpacked to the disk for its first bytes.
    const head = await readHead(source, SQLITE.length);
    const isDatabase = head.toString('latin1') === SQLITE || /\.(?:nsys-)?sqlite(?:\.\w+)?$/i.test(context.name);
    if (!isDatabase) return readJsonLines(precededBy(head, source), sink, context);
    const bytes = await source.randomAccess?.();
    if (bytes === undefined) throw new MbfError('MBF2704', 'an export is read from a file, not from a stream');
    const database = openDatabase(bytes);
    const { pages, statedPages, schemaProblem } = database;
    if (pages < statedPages) {
      const text = `the file was cut off: it has ${pages} of the ${statedPages} pages that its header states`;
      sink.note({ kind: 'nsys_file_cut', severity: 'warning', text, offset: bytes.sizeBytes });
    }
    return readTables({ ...database, listProblem: schemaProblem }, 'sqlite', sink, context);
  },
  parseTables: (tables, sink, context) => readTables(tables, 'parquetdir', sink, context),
};
