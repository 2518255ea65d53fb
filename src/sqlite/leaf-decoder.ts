/**
 * Rows of leaf pages into columns: the hot loop of this folder. Upstream: sqlite.org/fileformat2.html, 1.6 (cells) and
 * 2.1 (records).
 *
 * What makes it fast:
 * - no object and no closure per cell or row; values go straight into the arrays of the result, 64-bit integers as two
 *   halves;
 * - bounds are checked per cell and per record, not per byte: memory is readable a little beyond every page, and a
 *   record whose values do not add up to its length is refused before its row counts;
 * - rare cases (long varints, overflow, defaults, damage) are in separate methods, so that the loops stay small enough
 *   to be optimised.
 *
 * Measurements forced the form of this class.
 */
import { isUtf8 } from 'node:buffer';
import { CELL, type CellBatch } from '../model/table-source.js';
import { BATCH_TEXT_BYTES, CellColumns } from './cell-columns.js';
import { Damage } from './damage.js';
import { OverflowReader } from './overflow-reader.js';
import type { PageReader } from './page-reader.js';
import type { ScanPlan } from './scan-plan.js';
import type { TableWalk } from './table-walk.js';
import { Varint } from './varint.js';

/** Bytes of a value, of serial types below 12; 10 and 11 are reserved, and refused. */
const VALUE_BYTES = Uint8Array.of(0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0);
const MIN_CELL_BYTES = 4;
/** Where the hot loop is, a constant of its own is a number in the code. */
const { null: NULL, integer: INTEGER, real: REAL, text: TEXT, blob: BLOB } = CELL;
/** SQLite's own limit: a varint of three bytes for each of 32,767 columns. */
const MAX_HEADER_BYTES = 98_307;
/** No value is longer than half of it: SQLite allows 1,000,000,000 bytes. */
const MAX_SERIAL_TYPE = 0x7fffffff;

export class LeafDecoder {
  /** Rows handed out, or waiting to be. */
  rows = 0;
  badTexts = 0;
  private readonly plan: ScanPlan;
  private readonly columns: CellColumns;
  private readonly give: (batch: CellBatch) => void;
  private readonly overflow: OverflowReader;
  private readonly pageSize: number;
  private readonly usableSize: number;
  private readonly filePages: number;
  /** By place in the record: the first cell of its slot, −1 if the value is not wanted. */
  private readonly cellOf: Int32Array;
  private readonly varint = new Varint();
  /** Rows in the current batch, and bytes of their texts. */
  private pending = 0;
  private textBytes = 0;
  /** Of the current row, for messages about damage. */
  private page = 0;
  private cell = 0;
  private rowBadTexts = 0;

  /** `rows`: as many as there can be, if they are known to be few. */
  constructor(reader: PageReader, plan: ScanPlan, rows: number, give: (batch: CellBatch) => void) {
    this.plan = plan;
    this.columns = new CellColumns(plan.slots, plan.order, rows);
    this.give = give;
    this.overflow = new OverflowReader(reader);
    this.pageSize = reader.geometry.pageSize;
    this.usableSize = reader.geometry.usableSize;
    this.filePages = reader.geometry.pages;
    this.cellOf = plan.slotOf.map((slot) => (slot < 0 ? -1 : slot * this.columns.capacity));
  }

  /**
   * Decodes all rows of the current leaf, and hands out batches as they fill. Throws {@link Damage}; the rows before it
   * are kept.
   */
  decode(walk: TableWalk): void {
    const { bytes, base, cells, content, page } = walk;
    const { varint, usableSize } = this;
    const { capacity } = this.columns;
    const { rowidSlot } = this.plan;
    const end = base + usableSize;
    const lastCell = usableSize - MIN_CELL_BYTES;
    const maxLocal = usableSize - 35;
    this.page = page;
    let used = 0;
    let lastHigh = 0;
    let lastLow = 0;
    let pointer = base + walk.pointers;
    for (let i = 0; i < cells; i++, pointer += 2) {
      const cell = (bytes[pointer]! << 8) | bytes[pointer + 1]!;
      this.cell = cell;
      if (cell < content || cell > lastCell) this.fail('it does not begin within the page');
      let at = base + cell;
      let payload = bytes[at++]!;
      if (payload > 127) {
        const second = bytes[at++]!;
        if (second < 128) payload = ((payload & 127) << 7) | second;
        else {
          at = varint.read(bytes, at - 2);
          payload = varint.value;
        }
      }
      let high = 0;
      let low = bytes[at++]!;
      if (low > 127) {
        at = varint.read(bytes, at - 1);
        high = varint.high;
        low = varint.low;
      }
      if (at > end) this.fail('it does not end within the page');
      // The walk has compared the first one with those of other pages.
      if (i > 0 && (high < lastHigh || (high === lastHigh && low <= lastLow))) {
        this.fail('its rowid is not above the one before');
      }
      lastHigh = high;
      lastLow = low;

      const row = this.pending;
      if (payload > maxLocal || payload < 0) at = this.decodeSpilled(bytes, at, end, payload, row);
      else if (at + payload <= end) {
        this.decodeRecord(bytes, at, at + payload, row);
        at += payload;
      } else this.fail('it does not end within the page');
      used += Math.max(at - base - cell, MIN_CELL_BYTES);
      if (rowidSlot >= 0) {
        const to = rowidSlot * capacity + row;
        this.columns.kinds[to] = INTEGER;
        this.columns.halves[2 * to] = low;
        this.columns.halves[2 * to + 1] = high;
      }
      this.pending = row + 1;
      if (row + 1 === capacity || this.textBytes > BATCH_TEXT_BYTES) this.flush();
    }
    // Each row was whole, but the page has others, or not as many.
    if (used !== walk.cellBytes) this.failSum(used, walk.cellBytes);
  }

  /** Hands out the rows that wait. */
  flush(): void {
    const { columns, pending } = this;
    if (pending === 0) return;
    for (const slot of this.plan.realSlots) columns.makeReal(slot, pending);
    this.rows += pending;
    this.pending = 0;
    this.give(columns.take(pending));
    if (this.textBytes > 0) columns.dropTexts(pending);
    this.textBytes = 0;
  }

  /** A record from `start` to `end`. Throws {@link Damage} unless header and values fill it exactly. */
  private decodeRecord(bytes: Buffer, start: number, end: number, row: number): void {
    const { cellOf, varint } = this;
    const { kinds, halves } = this.columns;
    let at = start + 1;
    let headerEnd = start + bytes[start]!;
    if (headerEnd > start + 127) {
      at = varint.read(bytes, start);
      headerEnd = start + varint.value;
    }
    if (headerEnd < at || headerEnd > end) this.failHeader(headerEnd - start, end - start);
    const known = cellOf.length;
    let from = headerEnd;
    let place = 0;
    while (at < headerEnd) {
      let type = bytes[at++]!;
      if (type > 127) {
        const second = bytes[at++]!;
        if (second < 128) type = ((type & 127) << 7) | second;
        else {
          at = varint.read(bytes, at - 2);
          type = this.longSerialType();
        }
      }
      if (place === known) this.fail(`its record has more values than the table has columns (${known})`);
      const first = cellOf[place++]!;
      if (type > 11) {
        const length = (type - 12) >>> 1;
        if (first >= 0) {
          if ((type & 1) === 0) kinds[first + row] = BLOB;
          else if (from + length > end) this.fail('a text goes beyond its record');
          else {
            kinds[first + row] = TEXT;
            this.takeText(bytes, from, length, first, row);
          }
        }
        from += length;
        continue;
      }
      if (first < 0) {
        from += VALUE_BYTES[type]!;
        if (type > 9) this.fail(`serial type ${type}, which is reserved`);
        continue;
      }
      const to = first + row;
      const half = 2 * to;
      switch (type) {
        case 0:
          kinds[to] = NULL;
          break;
        case 1: {
          const value = (bytes[from]! << 24) >> 24;
          kinds[to] = INTEGER;
          halves[half] = value;
          halves[half + 1] = value >> 31;
          from += 1;
          break;
        }
        case 2: {
          const value = ((bytes[from]! << 24) >> 16) | bytes[from + 1]!;
          kinds[to] = INTEGER;
          halves[half] = value;
          halves[half + 1] = value >> 31;
          from += 2;
          break;
        }
        case 3: {
          const value = ((bytes[from]! << 24) >> 8) | (bytes[from + 1]! << 8) | bytes[from + 2]!;
          kinds[to] = INTEGER;
          halves[half] = value;
          halves[half + 1] = value >> 31;
          from += 3;
          break;
        }
        case 4: {
          const value = (bytes[from]! << 24) | (bytes[from + 1]! << 16) | (bytes[from + 2]! << 8) | bytes[from + 3]!;
          kinds[to] = INTEGER;
          halves[half] = value;
          halves[half + 1] = value >> 31;
          from += 4;
          break;
        }
        case 5:
          kinds[to] = INTEGER;
          halves[half + 1] = ((bytes[from]! << 24) >> 16) | bytes[from + 1]!;
          halves[half] =
            (bytes[from + 2]! << 24) | (bytes[from + 3]! << 16) | (bytes[from + 4]! << 8) | bytes[from + 5]!;
          from += 6;
          break;
        case 6:
        case 7: {
          const high = (bytes[from]! << 24) | (bytes[from + 1]! << 16) | (bytes[from + 2]! << 8) | bytes[from + 3]!;
          const low = (bytes[from + 4]! << 24) | (bytes[from + 5]! << 16) | (bytes[from + 6]! << 8) | bytes[from + 7]!;
          halves[half + 1] = high;
          halves[half] = low;
          if (type === 6) kinds[to] = INTEGER;
          else kinds[to] = isNan(high, low) ? NULL : REAL;
          from += 8;
          break;
        }
        case 8:
        case 9:
          kinds[to] = INTEGER;
          halves[half] = type - 8;
          halves[half + 1] = 0;
          break;
        default:
          this.fail(`serial type ${type}, which is reserved`);
      }
    }
    if (at !== headerEnd || from !== end) this.failHeader(headerEnd - start, end - start);
    if (place < known) this.fillMissing(place, row);
    if (this.rowBadTexts > 0) {
      this.badTexts += this.rowBadTexts;
      this.rowBadTexts = 0;
    }
  }

  private takeText(bytes: Buffer, from: number, length: number, first: number, row: number): void {
    const text = bytes.toString('utf8', from, from + length);
    // The file may contain U+FFFD itself.
    if (text.includes('\ufffd') && !isUtf8(bytes.subarray(from, from + length))) this.rowBadTexts += 1;
    this.columns.putText(first / this.columns.capacity, row, text);
    this.textBytes += length;
  }

  /** Values behind the last one of a record: columns that were added after it was written. */
  private fillMissing(place: number, row: number): void {
    const { slotOf, whenMissing } = this.plan;
    for (; place < slotOf.length; place++) {
      const slot = slotOf[place]!;
      if (slot < 0) continue;
      const value = whenMissing[place];
      if (value === undefined) this.fail('its record lacks a column with an expression as DEFAULT');
      this.columns.fill(slot, row, value);
      this.textBytes += value.text.length;
    }
  }

  /**
   * A record that goes on in overflow pages: read as far as the last value that is wanted. Returns where its cell ends.
   */
  private decodeSpilled(leaf: Buffer, at: number, end: number, payload: number, row: number): number {
    const { overflow, varint, cellOf } = this;
    if (payload < 0 || payload > this.filePages * this.usableSize) {
      this.fail('its payload is longer than the whole file');
    }
    const cellEnd = overflow.begin(leaf, at, payload, this.page, end);
    if (cellEnd < 0) this.fail('it does not end within the page');
    let place = varint.read(overflow.bytes, 0);
    const headerBytes = varint.value;
    if (headerBytes < place || headerBytes > Math.min(payload, MAX_HEADER_BYTES)) this.failHeader(headerBytes, payload);
    overflow.require(headerBytes);
    let needed = headerBytes;
    let from = headerBytes;
    for (let column = 0; place < headerBytes; column++) {
      place = varint.read(overflow.bytes, place);
      const type = this.longSerialType();
      from += type < 12 ? VALUE_BYTES[type]! : (type - 12) >>> 1;
      const isBlob = type > 11 && (type & 1) === 0;
      if (!isBlob && column < cellOf.length && cellOf[column]! >= 0) needed = from;
    }
    if (place !== headerBytes || from !== payload) this.failHeader(headerBytes, payload);
    overflow.require(needed);
    this.decodeRecord(overflow.bytes, 0, payload, row);
    return cellEnd;
  }

  private longSerialType(): number {
    const type = this.varint.value;
    if (type < 0 || type > MAX_SERIAL_TYPE) this.fail('a value longer than SQLite allows');
    return type;
  }

  private failHeader(headerBytes: number, payload: number): never {
    this.fail(`its record header of ${headerBytes} bytes does not add up to its payload of ${payload}`);
  }

  private failSum(used: number, stated: number): never {
    throw new Damage(
      `page ${this.page}: its cells fill ${used} bytes, by its header ${stated}`,
      (this.page - 1) * this.pageSize,
    );
  }

  private fail(fact: string): never {
    this.rowBadTexts = 0;
    throw new Damage(
      `page ${this.page}: cell at byte ${this.cell}: ${fact}`,
      (this.page - 1) * this.pageSize + this.cell,
    );
  }
}

/** SQLite lacks NaN: it reads one as NULL. */
function isNan(high: number, low: number): boolean {
  return (high & 0x7ff00000) === 0x7ff00000 && ((high & 0xfffff) | low) !== 0;
}
