/**
 * The first 100 bytes of an SQLite database, and whether what follows is in a form that can be read without writing.
 * Upstream: sqlite.org/fileformat2.html, 1.3.
 */
import { type ErrorCode, MbfError } from '../model/errors.js';
import type { RandomAccess } from '../model/parser.js';

const HEADER_BYTES = 100;
const MAGIC = 'SQLite format 3\0';
const PROBE_BYTES = 1024;
/**
 * 1024 random bytes have 251 different values on average, and fewer than 220 in no file ever seen; text has under 100.
 */
const RANDOM_VALUES = 220;
/** A rollback journal that was kept after its transaction is at most one zeroed sector. */
const JOURNAL_HEADER_BYTES = 512;

/** Where pages are, and how much of one is used. */
export interface DatabaseGeometry {
  readonly pageSize: number;
  /** Bytes of a page that hold the tree: the page less the bytes that an extension reserved at its end. */
  readonly usableSize: number;
  /** Whole pages in the file; they are numbered from 1. */
  readonly pages: number;
  /** Pages that the database has by its own header: more than `pages` if the file was cut off. */
  readonly statedPages: number;
}

/**
 * Throws MBF2701 for another format or a damaged database, MBF2702 for an SQLite database in a form that is not read.
 */
export function readDatabaseHeader(bytes: RandomAccess): DatabaseGeometry {
  const head = Buffer.alloc(PROBE_BYTES);
  const length = bytes.readAt(head, 0);
  if (length === 0) fail('MBF2701', 'the file is empty', 0);
  if (head.toString('latin1', 0, Math.min(length, MAGIC.length)) !== MAGIC.slice(0, length)) {
    if (length === PROBE_BYTES && bytes.sizeBytes % JOURNAL_HEADER_BYTES === 0 && looksRandom(head)) {
      fail('MBF2702', 'no SQLite header, only what looks like random bytes: if this is a database, it is encrypted', 0);
    }
    fail('MBF2701', 'is not an SQLite database: it does not begin with "SQLite format 3"', 0);
  }
  if (length < HEADER_BYTES)
    fail('MBF2701', `the file ends after ${length} of the ${HEADER_BYTES} header bytes`, length);

  const pageSize = head.readUInt16BE(16) === 1 ? 65_536 : head.readUInt16BE(16);
  if (pageSize < 512 || (pageSize & (pageSize - 1)) !== 0)
    fail('MBF2701', `the header states pages of ${pageSize} bytes`, 16);
  const readVersion = head[19]!;
  if (readVersion > 2) fail('MBF2702', `file format version ${readVersion}, of an SQLite that is not known here`, 19);
  const usableSize = pageSize - head[20]!;
  if (usableSize < 480) fail('MBF2701', `the header reserves ${head[20]} bytes of pages of ${pageSize}`, 20);
  if (head[21] !== 64 || head[22] !== 32 || head[23] !== 32) {
    fail('MBF2701', 'the header states payload fractions other than 64, 32 and 32', 21);
  }
  const schemaFormat = head.readUInt32BE(44);
  if (schemaFormat > 4) fail('MBF2702', `schema format ${schemaFormat}, of an SQLite that is not known here`, 44);
  checkEncoding(head.readUInt32BE(56));
  if (bytes.sizeBytes < pageSize) {
    fail('MBF2701', `the file ends after ${bytes.sizeBytes} of the ${pageSize} bytes of page 1`, bytes.sizeBytes);
  }
  checkSiblings(bytes);

  const pages = Math.floor(bytes.sizeBytes / pageSize);
  // Before 3.7.0 the size was not kept in the header; it holds only if the last writer kept it (1.3.8).
  const stated = head.readUInt32BE(28);
  const isStated = stated > 0 && head.readUInt32BE(24) === head.readUInt32BE(92);
  return { pageSize, usableSize, pages, statedPages: isStated ? stated : pages };
}

function checkEncoding(encoding: number): void {
  if (encoding === 2 || encoding === 3) {
    fail('MBF2702', 'its texts are UTF-16; write it anew as UTF-8: sqlite3 FILE .dump | sqlite3 NEW', 56);
  }
  // 0 is a database in which nothing was ever created.
  if (encoding > 3) fail('MBF2701', `the header states text encoding ${encoding}`, 56);
}

/** Data in the write-ahead log or the journal belongs to the database, and only SQLite can merge it. */
function checkSiblings(bytes: RandomAccess): void {
  const wal = bytes.siblingBytes('-wal') ?? 0;
  if (wal > 0) {
    fail(
      'MBF2702',
      `${wal} bytes of it are still in the write-ahead log next to it (-wal); open it once with the sqlite3 program: sqlite3 FILE 'PRAGMA wal_checkpoint(TRUNCATE)'`,
      18,
    );
  }
  const journal = bytes.siblingBytes('-journal') ?? 0;
  if (journal > JOURNAL_HEADER_BYTES) {
    fail(
      'MBF2702',
      `a transaction was not finished: there is a rollback journal of ${journal} bytes next to it (-journal); open it once with the sqlite3 program: sqlite3 FILE 'PRAGMA integrity_check'`,
      0,
    );
  }
}

function looksRandom(head: Uint8Array): boolean {
  return new Set(head).size >= RANDOM_VALUES;
}

function fail(code: ErrorCode, fact: string, offset: number): never {
  throw new MbfError(code, fact, { offset });
}
