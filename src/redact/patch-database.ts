/**
 * Replaces texts inside an SQLite database, in place. A record keeps its length, so no page moves. Space that no record
 * uses is zeroed: it may hold what was deleted. An index over a text column is out of order afterwards; exports of
 * Nsight Systems have none. Upstream: sqlite.org/fileformat2.html, 1.5 to 1.7 and 2.1.
 */
import { MbfError } from '../model/errors.js';
import { readDatabaseHeader } from '../sqlite/database-header.js';
import { Varint } from '../sqlite/varint.js';
import { isText, type Rewrite } from './rewrite-text.js';

interface Bytes {
  readonly sizeBytes: number;
  readAt(target: Uint8Array, position: number): number;
  writeAt(bytes: Uint8Array, position: number): void;
}

const LEAF_TABLE = 13;
const LEAF_INDEX = 10;
const INNER_TABLE = 5;
const INNER_INDEX = 2;
const MOST_PAYLOAD = 256 * 1024 * 1024;

export function patchDatabase(bytes: Bytes, rewrite: Rewrite): void {
  const { sizeBytes } = bytes;
  const geometry = readDatabaseHeader({ readAt: bytes.readAt, sizeBytes, siblingBytes: () => undefined });
  new Patcher(bytes, geometry.pageSize, geometry.usableSize, geometry.pages, rewrite).run();
}

class Patcher {
  readonly #bytes: Bytes;
  readonly #pageSize: number;
  readonly #usable: number;
  readonly #pages: number;
  readonly #rewrite: Rewrite;
  /** Pages that a tree or an overflow chain has reached; the others are free. */
  readonly #used: Uint8Array;
  readonly #varint = new Varint();

  constructor(bytes: Bytes, pageSize: number, usable: number, pages: number, rewrite: Rewrite) {
    this.#bytes = bytes;
    this.#pageSize = pageSize;
    this.#usable = usable;
    this.#pages = pages;
    this.#rewrite = rewrite;
    this.#used = new Uint8Array(pages + 1);
  }

  run(): void {
    const roots = [1];
    for (let root = roots.pop(); root !== undefined; root = roots.pop())
      this.#tree(root, root === 1 ? roots : undefined);
    this.#freeList();
    this.#pointerMap();
    // What is left is in no list, as after a crash.
    const zeros = Buffer.alloc(this.#pageSize);
    for (let page = 2; page <= this.#pages; page += 1)
      if (this.#used[page] === 0) this.#bytes.writeAt(zeros, (page - 1) * this.#pageSize);
  }

  /** Trunk pages keep the next trunk, a count and numbers of leaf pages; leaf pages keep nothing. */
  #freeList(): void {
    let trunk = this.#page(1).readUInt32BE(32);
    while (trunk > 1 && trunk <= this.#pages && this.#used[trunk] === 0) {
      this.#used[trunk] = 1;
      const content = this.#page(trunk);
      const count = Math.min(content.readUInt32BE(4), this.#usable / 4 - 2);
      content.fill(0, 8 + 4 * count, this.#usable);
      this.#bytes.writeAt(content, (trunk - 1) * this.#pageSize);
      trunk = content.readUInt32BE(0);
    }
  }

  /** With auto_vacuum, pages of pointers at equal distances; they hold no text. */
  #pointerMap(): void {
    if (this.#page(1).readUInt32BE(52) === 0) return;
    const distance = Math.floor(this.#usable / 5) + 1;
    for (let page = 2; page <= this.#pages; page += distance) this.#used[page] = 1;
  }

  #page(page: number): Buffer {
    const content = Buffer.alloc(this.#pageSize);
    this.#bytes.readAt(content, (page - 1) * this.#pageSize);
    return content;
  }

  #tree(root: number, roots: number[] | undefined): void {
    const pages = [root];
    for (let page = pages.pop(); page !== undefined; page = pages.pop()) {
      if (page < 1 || page > this.#pages || this.#used[page] === 1) continue;
      this.#used[page] = 1;
      const content = this.#page(page);
      const before = Buffer.from(content);
      this.#visit(content, page, pages, roots);
      if (!content.equals(before)) this.#bytes.writeAt(content, (page - 1) * this.#pageSize);
    }
  }

  #visit(content: Buffer, page: number, pages: number[], roots: number[] | undefined): void {
    const head = page === 1 ? 100 : 0;
    const type = content[head]!;
    const isInner = type === INNER_TABLE || type === INNER_INDEX;
    if (!isInner && type !== LEAF_TABLE && type !== LEAF_INDEX) return;
    const cells = content.readUInt16BE(head + 3);
    const pointers = head + (isInner ? 12 : 8);
    if (isInner) pages.push(content.readUInt32BE(head + 8));
    const used = new Uint8Array(this.#pageSize);
    for (let i = 0; i < cells && pointers + 2 * i + 2 <= this.#usable; i += 1) {
      const cell = content.readUInt16BE(pointers + 2 * i);
      if (cell < pointers || cell + 4 > this.#usable) this.#fail(page, 'a cell is outside its page');
      let at = cell;
      if (isInner) {
        pages.push(content.readUInt32BE(at));
        at += 4;
      }
      if (type === INNER_TABLE) {
        at = this.#varint.read(content, at);
        used.fill(1, cell, at);
        continue;
      }
      at = this.#varint.read(content, at);
      const payload = this.#varint.value;
      if (payload < 0 || payload > MOST_PAYLOAD) this.#fail(page, `a row of ${payload} bytes`);
      if (type === LEAF_TABLE) at = this.#varint.read(content, at);
      const end = this.#record(content, at, payload, type === LEAF_TABLE, page, roots);
      used.fill(1, cell, end);
    }
    // What is in no cell: deleted rows.
    for (let at = pointers + 2 * cells; at < this.#usable; at += 1) if (used[at] === 0) content[at] = 0;
    // The list of free blocks has gone with them.
    content.writeUInt16BE(0, head + 1);
    content[head + 7] = 0;
    this.#compact(content, head, pointers, cells, used);
  }

  /** All space between cells would have to be in the list of free blocks: the content begins with it. */
  #compact(content: Buffer, head: number, pointers: number, cells: number, used: Uint8Array): void {
    let first = this.#usable;
    for (let at = this.#usable - 1; at >= pointers + 2 * cells; at -= 1) if (used[at] === 1) first = at;
    content.writeUInt16BE(first === 65_536 ? 0 : first, head + 5);
    // Free blocks of four bytes and more, in order; smaller ones are counted as fragments.
    let fragments = 0;
    let link = head + 1;
    for (let at = first; at < this.#usable; ) {
      if (used[at] === 1) {
        at += 1;
        continue;
      }
      let end = at;
      while (end < this.#usable && used[end] === 0) end += 1;
      if (end - at < 4) fragments += end - at;
      else {
        content.writeUInt16BE(at, link);
        content.writeUInt16BE(0, at);
        content.writeUInt16BE(end - at, at + 2);
        link = at;
      }
      at = end;
    }
    content[head + 7] = Math.min(fragments, 255);
  }

  /** Rewrites the texts of one record, and returns where its part in the page ends. */
  #record(
    content: Buffer,
    at: number,
    payload: number,
    isTable: boolean,
    page: number,
    roots: number[] | undefined,
  ): number {
    const usable = this.#usable;
    const most = isTable ? usable - 35 : Math.floor(((usable - 12) * 64) / 255) - 23;
    if (payload <= most) {
      if (at + payload > usable) this.#fail(page, 'a row is outside its page');
      const record = content.subarray(at, at + payload);
      this.#texts(record, page, roots);
      return at + payload;
    }
    const least = Math.floor(((usable - 12) * 32) / 255) - 23;
    const preferred = least + ((payload - least) % (usable - 4));
    const local = preferred <= most ? preferred : least;
    if (at + local + 4 > usable) this.#fail(page, 'a row is outside its page');
    const record = Buffer.alloc(payload);
    content.copy(record, 0, at, at + local);
    const chain: { readonly page: number; readonly at: number; readonly length: number }[] = [];
    let next = content.readUInt32BE(at + local);
    for (let filled = local; filled < payload; ) {
      if (next < 1 || next > this.#pages || this.#used[next] === 1) this.#fail(page, 'an overflow chain is broken');
      this.#used[next] = 1;
      const overflow = this.#page(next);
      const length = Math.min(usable - 4, payload - filled);
      overflow.copy(record, filled, 4, 4 + length);
      chain.push({ page: next, at: filled, length });
      filled += length;
      next = overflow.readUInt32BE(0);
    }
    this.#texts(record, page, roots);
    record.copy(content, at, 0, local);
    for (const part of chain) {
      const overflow = this.#page(part.page);
      record.copy(overflow, 4, part.at, part.at + part.length);
      overflow.fill(0, 4 + part.length, usable);
      this.#bytes.writeAt(overflow, (part.page - 1) * this.#pageSize);
    }
    return at + local + 4;
  }

  #texts(record: Buffer, page: number, roots: number[] | undefined): void {
    const varint = this.#varint;
    let header = varint.read(record, 0);
    const headerBytes = varint.value;
    if (headerBytes > record.length) this.#fail(page, 'the header of a row is longer than the row');
    let at = headerBytes;
    const numbers: number[] = [];
    for (let column = 0; header < headerBytes; column += 1) {
      header = varint.read(record, header);
      const type = varint.value;
      const length = lengthOf(type);
      if (at + length > record.length) this.#fail(page, 'a column ends behind its row');
      // Blobs hold texts too, in exports of some versions.
      if (type >= 12 && length > 0 && roots === undefined) {
        const text = record.toString('latin1', at, at + length);
        if (type % 2 === 1 || isText(text)) {
          const replaced = this.#rewrite(text);
          if (replaced !== text) record.write(replaced, at, 'latin1');
        }
      } else if (type >= 1 && type <= 6 && column === 3) numbers.push(record.readUIntBE(at, Math.min(length, 6)));
      at += length;
    }
    // `rootpage` of sqlite_schema, its fourth column.
    if (roots !== undefined && numbers[0] !== undefined && numbers[0] > 1) roots.push(numbers[0]);
  }

  #fail(page: number, fact: string): never {
    throw new MbfError('MBF2701', `page ${page}: ${fact}`, { offset: (page - 1) * this.#pageSize });
  }
}

/** Bytes of a value by its serial type. */
function lengthOf(type: number): number {
  if (type >= 12) return Math.floor((type - 12) / 2);
  return [0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0][type] ?? 0;
}
