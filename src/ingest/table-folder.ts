/** Folders that are one input: an export with one file a table. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { ParseContext, ParserSpec } from '../model/parser.js';
import { openParquetTables } from '../store/parquet-tables.js';
import { hashFile } from './byte-source.js';
import type { DecodedSource } from './decode-source.js';
import { type DerivedSink, deriving } from './derive-snapshot.js';

export interface TableFolder {
  readonly files: readonly string[];
  /** Set if it is such a folder in a form that is not read: why, and what to do. */
  readonly refusal?: string | undefined;
}

/** The one table that any export that is not empty has; its older name is that of schemas before 3.4. */
const MARK = /^(?:META_DATA_EXPORT|EXPORT_META_DATA)\.(parquet|arrows?)$/i;

/** What the names in a folder make of it, or undefined if it is an ordinary directory. */
export function tableFolder(names: readonly string[], directory: string): TableFolder | undefined {
  const kind = names.map((name) => MARK.exec(name)?.[1]?.toLowerCase()).find((found) => found !== undefined);
  if (kind === 'parquet') return { files: names.filter((name) => /\.parquet$/i.test(name)).sort() };
  if (kind === undefined && !(/_arwdir$/.test(directory) && names.some((name) => /\.arrows?$/i.test(name))))
    return undefined;
  const report = directory.replace(/_arwdir$/, '');
  const refusal = `is an Nsight Systems export as Arrow files, which are not read: nsys export --type parquetdir ${report}.nsys-rep`;
  return { files: [], refusal };
}

/** @throws {MbfError} of the parser. */
export async function decodeFolder(
  directory: string,
  files: readonly string[],
  parser: ParserSpec,
  sink: DerivedSink,
  context: ParseContext,
): Promise<DecodedSource> {
  const tables = await openParquetTables(directory, files);
  try {
    const derived = deriving(sink);
    const summary = await parser.parseTables!(tables, derived, context);
    derived.end();
    return { summary, sha256: await hashFolder(directory, files) };
  } finally {
    tables.close();
  }
}

/** The sha256 of the names and hashes of the files, lower-case hex. */
export async function hashFolder(directory: string, files: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const file of files) hash.update(`${file}\0${await hashFile(join(directory, file))}\n`);
  return hash.digest('hex');
}
