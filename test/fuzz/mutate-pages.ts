/** Databases and columnar files: fields of the header, pages, cells, the text of the schema, the footer. */
import { below, type Mutator, mutateBytes, oneOf, pickOf, replaced } from './mutate-bytes.js';

const EXTREMES = [0, 1, 2, 5, 10, 13, 0x7f, 0x80, 0xff];

/** The offsets of SQLite's header that a reader looks at: sizes, versions, encoding, free pages. */
const SQLITE_HEADER = [16, 17, 18, 19, 20, 21, 22, 23, 28, 29, 30, 31, 32, 36, 39, 44, 47, 52, 56, 59];

export const mutateSqlite: Mutator = (bytes, random, spare) => {
  if (bytes.length < 512 || bytes.toString('latin1', 0, 6) !== 'SQLite') return mutateBytes(bytes, random, spare);
  const stated = bytes.readUInt16BE(16);
  const size = stated === 1 ? 65_536 : Math.max(stated, 512);
  const page = below(random, Math.max(1, Math.floor(bytes.length / size)));
  const start = page * size;
  const header = page === 0 ? 100 : start;
  const result = Buffer.from(bytes);
  const set = (at: number, value: number): void => {
    if (at < result.length) result[at] = value;
  };
  const put = (at: number, value: number): Buffer => {
    set(at, value);
    return result;
  };
  const mutated = (): Buffer => mutateBytes(bytes, random, spare);
  return oneOf(random, [
    () => put(pickOf(random, SQLITE_HEADER), pickOf(random, EXTREMES)),
    // Kind of the page, free blocks, cells, their area, the last child.
    () => put(header + below(random, 12), pickOf(random, EXTREMES)),
    () => put(header + 8 + below(random, 40), below(random, 256)),
    () => result.fill(pickOf(random, [0, 0xff]), start, start + size),
    () => {
      bytes.copy(result, start, below(random, Math.floor(bytes.length / size)) * size, start + size);
      return result;
    },
    () => {
      // A cell: its length, its key, its header.
      const cells = result.readUInt16BE(Math.min(result.length - 2, header + 3));
      const pointer = header + 8 + 2 * below(random, Math.max(1, Math.min(cells, 200)));
      if (pointer + 2 > result.length) return mutated();
      return put(start + result.readUInt16BE(pointer) + below(random, 24), below(random, 256));
    },
    () => {
      const at = bytes.indexOf('CREATE TABLE', below(random, 2) === 0 ? 0 : below(random, bytes.length));
      if (at >= 0) result.write(pickOf(random, SCHEMA_WORDS), at + below(random, 60), 'latin1');
      return at < 0 ? mutated() : result;
    },
    () => bytes.subarray(0, start + below(random, size)),
    mutated,
  ]);
};
const SCHEMA_WORDS = [
  ...['CREATE VIEW ', 'CREATE INDEX', 'WITHOUT ROWID', '((((((((', ')))))', '""""""', "''''", '--', '/*', '\0\0'],
];

/** Most of what a reader believes is in the footer, whose length is before the last mark; the other is page headers. */
export const mutateParquet: Mutator = (bytes, random, spare) => {
  if (bytes.length < 12) return mutateBytes(bytes, random, spare);
  const footer = Math.max(4, bytes.length - 8 - Math.min(bytes.length - 12, bytes.readUInt32LE(bytes.length - 8)));
  const result = Buffer.from(bytes);
  const inFooter = (): number => footer + below(random, Math.max(1, bytes.length - 8 - footer));
  const footerBytes = (): Buffer => {
    for (let i = below(random, 4); i >= 0; i--) result[inFooter()] = below(random, 256);
    return result;
  };
  return oneOf(random, [
    ...[footerBytes, footerBytes],
    () => {
      result[4 + below(random, 40)] = pickOf(random, EXTREMES);
      return result;
    },
    () => {
      result.writeUInt32LE(pickOf(random, [0, 1, 2 ** 31, 2 ** 32 - 1, bytes.length]), bytes.length - 8);
      return result;
    },
    () => {
      const at = footer + below(random, Math.max(1, bytes.length - footer));
      const part = Buffer.alloc(below(random, 20), below(random, 256));
      return replaced(bytes, at, Math.min(bytes.length, at + below(random, 20)), part);
    },
    () => mutateBytes(bytes, random, spare),
  ]);
};

/** A store of DuckDB: three headers of 4 KiB, then blocks of 256 KiB with a checksum each. */
export const mutateStore: Mutator = (bytes, random) => {
  const result = Buffer.from(bytes);
  const width = 262_144;
  const blocks = Math.max(1, Math.floor((result.length - 12_288) / width));
  const block = (): number => 12_288 + below(random, blocks) * width;
  return oneOf(random, [
    () => {
      for (let i = below(random, 30); i >= 0; i--) {
        const at = below(random, result.length);
        result[at] = result[at]! ^ (1 << below(random, 8));
      }
      return result;
    },
    () => {
      result[below(random, 12_288)] = pickOf(random, EXTREMES);
      return result;
    },
    () => {
      const start = Math.floor(below(random, result.length) / 4096) * 4096;
      return result.fill(0, start, Math.min(result.length, start + 4096 * (1 + below(random, 64))));
    },
    () => result.subarray(0, below(random, result.length)),
    () => {
      bytes.copy(result, block(), block(), block() + width);
      return result;
    },
  ]);
};
