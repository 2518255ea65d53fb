/**
 * The memory of a batch: one block for all columns, so that the decoder writes to two arrays and looks up no column.
 * The low half of a 64-bit value comes first, which makes a double of its bits on little-endian machines: all that
 * DuckDB is built for.
 */
import { CELL, type CellBatch, type CellColumn } from '../model/table-source.js';
import type { DefaultValue } from './default-value.js';

/** Rows of a batch, and of many columns fewer: no batch has more cells than 256 columns of so many rows. */
export const BATCH_ROWS = 8192;
const BATCH_CELLS = 256 * BATCH_ROWS;
/** A batch ends early with so many bytes of text, which may be 256 MiB each. */
export const BATCH_TEXT_BYTES = 16 * 1_048_576;

export class CellColumns {
  /** Rows that a batch can take. */
  readonly capacity: number;
  /** By slot × capacity + row. */
  readonly kinds: Uint8Array;
  /** By 2 × (slot × capacity + row), low half first. */
  readonly halves: Int32Array;
  /** By slot, then row. */
  readonly texts: (string | undefined)[][] = [];
  /** By slot: this batch has texts in it. */
  readonly hasTexts: Uint8Array;
  private readonly reals: Float64Array;
  private readonly columns: CellColumn[] = [];
  private readonly batch: { rows: number; readonly columns: readonly CellColumn[] };

  /** `order`: the slots as they were asked for, where one may come twice. */
  constructor(slots: number, order: readonly number[], rows: number) {
    this.capacity = Math.max(1, Math.min(rows, BATCH_ROWS, Math.floor(BATCH_CELLS / Math.max(slots, 1))));
    const cells = slots * this.capacity;
    this.kinds = new Uint8Array(cells);
    this.hasTexts = new Uint8Array(slots);
    this.reals = new Float64Array(cells);
    this.halves = new Int32Array(this.reals.buffer);
    const bits = new Uint32Array(this.reals.buffer);
    for (let slot = 0; slot < slots; slot++) {
      const from = slot * this.capacity;
      const to = from + this.capacity;
      const texts = new Array<string | undefined>(this.capacity);
      this.texts.push(texts);
      this.columns.push({
        kinds: this.kinds.subarray(from, to),
        bits: bits.subarray(2 * from, 2 * to),
        reals: this.reals.subarray(from, to),
        texts,
      });
    }
    this.batch = { rows: 0, columns: order.map((slot) => this.columns[slot]!) };
  }

  /** The first `rows` rows as a batch. */
  take(rows: number): CellBatch {
    this.batch.rows = rows;
    return this.batch;
  }

  /** Lets go of the texts of the first `rows` rows, which may be large. */
  dropTexts(rows: number): void {
    for (const [slot, texts] of this.texts.entries()) if (this.hasTexts[slot] === 1) texts.fill(undefined, 0, rows);
    this.hasTexts.fill(0);
  }

  putText(slot: number, row: number, text: string): void {
    this.texts[slot]![row] = text;
    this.hasTexts[slot] = 1;
  }

  fill(slot: number, row: number, value: DefaultValue): void {
    const cell = slot * this.capacity + row;
    this.kinds[cell] = value.kind;
    this.halves[2 * cell] = Number(BigInt.asIntN(32, value.bits));
    this.halves[2 * cell + 1] = Number(value.bits >> 32n);
    if (value.kind === CELL.text) this.putText(slot, row, value.text);
  }

  /** SQLite stores whole numbers of a REAL column as integers, to save space; they are reals again when read. */
  makeReal(slot: number, rows: number): void {
    const { kinds, bits, reals } = this.columns[slot]!;
    for (let row = 0; row < rows; row++) {
      if (kinds[row] !== CELL.integer) continue;
      reals[row] = (bits[2 * row + 1]! | 0) * 4294967296 + bits[2 * row]!;
      kinds[row] = CELL.real;
    }
  }
}
