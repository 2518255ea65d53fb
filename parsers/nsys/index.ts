/** Nsight Systems exports: SQLite, folders of Parquet files, lines of JSON. See FORMAT.md. */
import { MbfError } from '../../src/model/errors.js';
import type { Head, ParserSpec, Sniff } from '../../src/model/parser.js';
import { openDatabase } from '../../src/sqlite/open-database.js';
import { precededBy, readHead } from '../../src/text/stream-head.js';
import { readJsonLines } from './read-json-lines.js';
import { readTables } from './read-tables.js';

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

/** Tables of the exporter, of which the first pages of a database name one at least. */
const TABLE =
  /\b(?:CUPTI_ACTIVITY_KIND_\w+|TARGET_INFO_\w+|META_DATA_EXPORT|EXPORT_META_DATA|NVTX_EVENTS|ENUM_NSYS_\w+|ENUM_CUDA_\w+|CUDA_GPU_MEMORY_\w+|ANALYSIS_DETAILS|StringIds)\b/;
/** Names that Nsight Systems' own tools give to databases; `.db` and `.sqlite3` are used by too many others. */
const NAME = /\.(?:sqlite|nsys-sqlite)$/i;
/** The beginning of a record of the JSON export: the string table, or an event with its type and one object. */
const STRINGS = /^\s*\{"data":\s*\["/;
const STRING_LINE = /^\s*\{"type":\s*"String","id":\s*"/;
const EVENT = /(?:^|\n)[ \t\r]{0,64}\{"Type":\s{0,16}\d{1,9},\s{0,16}"\w{1,64}Event":\s{0,16}\{/;

function sniff({ bytes, name }: Head): Sniff {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  if (text.startsWith('SQLite format 3\0')) {
    const table = TABLE.exec(text);
    if (table !== null) return { score: 1, why: `SQLite with the table ${table[0]} of Nsight Systems` };
    if (NAME.test(name)) return { score: 0.6, why: 'SQLite, and named as Nsight Systems names its exports' };
    return { score: 0, why: 'SQLite without a table of Nsight Systems in its first pages' };
  }
  // An encrypted or damaged database lacks the header; a user who names it as an export should get the reason for its
  // rejection.
  if (NAME.test(name) && /[^\t\n\r\x20-\x7e]/.test(text.slice(0, 100))) {
    return { score: 0.3, why: 'named as Nsight Systems names its exports, but without the header of SQLite' };
  }
  const event = EVENT.exec(text);
  if (event !== null) return { score: 1, why: 'lines of JSON with events of Nsight Systems' };
  if (STRINGS.test(text) && /\.jsonl?$/i.test(name))
    return { score: 0.7, why: 'begins with a table of strings, as the JSON of Nsight Systems does' };
  if (STRING_LINE.test(text)) return { score: 0.7, why: 'begins with strings, as the JSON of Nsight Systems does' };
  return { score: 0, why: 'neither SQLite nor events of Nsight Systems' };
}
