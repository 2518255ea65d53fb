import type { Head, Sniff } from '../../src/model/parser.js';

/** Tables of the exporter, of which the first pages of a database name one at least. */
const TABLE =
  /\b(?:CUPTI_ACTIVITY_KIND_\w+|TARGET_INFO_\w+|META_DATA_EXPORT|EXPORT_META_DATA|NVTX_EVENTS|ENUM_NSYS_\w+|ENUM_CUDA_\w+|CUDA_GPU_MEMORY_\w+|ANALYSIS_DETAILS|StringIds)\b/;
/** Names that Nsight Systems' own tools give to databases; `.db` and `.sqlite3` are used by too many others. */
const NAME = /\.(?:sqlite|nsys-sqlite)$/i;
/** The beginning of a record of the JSON export: the string table, or an event with its type and one object. */
const STRINGS = /^\s*\{"data":\s*\["/;
const STRING_LINE = /^\s*\{"type":\s*"String","id":\s*"/;
const EVENT = /(?:^|\n)[ \t\r]{0,64}\{"Type":\s{0,16}\d{1,9},\s{0,16}"\w{1,64}Event":\s{0,16}\{/;

export function sniff({ bytes, name }: Head): Sniff {
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
