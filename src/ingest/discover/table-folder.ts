/** Folders that are one input: an export with one file a table. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { ParseContext, ParserSpec } from '../../model/parser.js';
import { type DerivedSink, deriving } from '../derive/derive-snapshot.js';
import { hashFile } from '../read/byte-source.js';
import type { DecodedSource } from '../read/decode-source.js';
import { type FileDigest, wholeDigest } from '../read/file-digest.js';
import { exportCommand } from './known-wrong.js';

export interface TableFolder {
  /** Those that belong to it; others in the same directory are files like any other. */
  readonly files: readonly string[];
  /** Set if it is such a folder in a form that is not read: why, and what to do. */
  readonly refusal?: string | undefined;
}

/** The one table that any export that is not empty has; its older name is that of schemas before 3.4. */
const MARK = /^(?:META_DATA_EXPORT|EXPORT_META_DATA)\.(parquet|arrows?)$/i;
/** What the exporter calls its folders. */
const NAMES = { parquet: /_pqtdir$/, arrow: /_arwdir$/ } as const;
const FILES = { parquet: /\.parquet$/i, arrow: /\.arrows?$/i } as const;
/** Two tables that no other data set has, where the first one is lost. */
const OTHER_MARKS = [/^StringIds\.parquet$/, /^(?:TARGET_INFO|ENUM_NSYS|CUPTI_ACTIVITY_KIND)_\w+\.parquet$/];

/** What the names in a folder make of it, or undefined if it is an ordinary directory. */
export function tableFolder(names: readonly string[], directory: string): TableFolder | undefined {
  const mark = names.map((name) => MARK.exec(name)?.[1]?.toLowerCase()).find((found) => found !== undefined);
  const filesOf = (form: 'parquet' | 'arrow'): string[] => names.filter((name) => FILES[form].test(name)).sort();
  const isNamed = (form: 'parquet' | 'arrow'): boolean => NAMES[form].test(directory) && filesOf(form).length > 0;
  const isParquet =
    mark === 'parquet' ||
    (mark === undefined &&
      (isNamed('parquet') || OTHER_MARKS.every((pattern) => names.some((name) => pattern.test(name)))));
  if (isParquet) return { files: filesOf('parquet') };
  if (mark === undefined && !isNamed('arrow')) return undefined;
  const report = directory.replace(NAMES.arrow, '');
  const refusal = `is an Nsight Systems export as Arrow files, which are not read: ${exportCommand('parquetdir', `${report}.nsys-rep`)}`;
  return { files: filesOf('arrow'), refusal };
}

/** @throws {MbfError} of the parser. */
export async function decodeFolder(
  directory: string,
  files: readonly string[],
  parser: ParserSpec,
  sink: DerivedSink,
  context: ParseContext,
): Promise<DecodedSource> {
  // With the first folder: the database library takes as long to load as Node to start, and a walk only asks for names.
  const { openParquetTables } = await import('../../store/parquet-tables.js');
  const tables = await openParquetTables(directory, files);
  try {
    const derived = deriving(sink);
    const summary = await parser.parseTables!(tables, derived, context);
    derived.end();
    return { summary, digest: await hashFolder(directory, files) };
  } finally {
    tables.close();
  }
}

/** Of the names and digests of the files. */
export async function hashFolder(directory: string, files: readonly string[]): Promise<FileDigest> {
  const hash = createHash('sha256');
  let isWhole = true;
  for (const file of files) {
    const { of, hex } = await hashFile(join(directory, file));
    isWhole &&= of === 'whole';
    hash.update(`${file}\0${hex}\n`);
  }
  return { ...wholeDigest(hash), of: isWhole ? 'whole' : 'sample' };
}
