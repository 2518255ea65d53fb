/** Collects rows of one table of the store, and hands them on batch by batch. */

import {
  batchBytes,
  type ColumnArray,
  ColumnBatch,
  type ColumnKind,
  NULL_F64,
  NULL_HIGH,
  NULL_I32,
  NULL_U8,
} from '../../src/model/columns.js';
import { maxOf } from '../../src/model/lists.js';
import { NSYS_BATCH_ROWS, NSYS_LAYOUTS, type NsysKind } from '../../src/model/nsys-rows.js';
import type { NsysSink } from '../../src/model/parser.js';

export type RowField = number | bigint | null | undefined;

/** Enough for a batch of any kind. */
export const BUILDER_BYTES = maxOf(Object.values(NSYS_LAYOUTS).map((layout) => batchBytes(layout, NSYS_BATCH_ROWS)));

export class RowBuilder {
  readonly kind: NsysKind;
  readonly batch: ColumnBatch;
  /** Rows handed out and waiting. */
  total = 0;
  private readonly sink: NsysSink;

  /** Over `buffer`, which builders that follow each other may share, if given: of {@link BUILDER_BYTES}. */
  constructor(kind: NsysKind, sink: NsysSink, buffer?: ArrayBuffer) {
    this.kind = kind;
    this.sink = sink;
    this.batch = new ColumnBatch(NSYS_LAYOUTS[kind], NSYS_BATCH_ROWS, buffer);
    this.batch.arrays[0]!.fill(0); // source_id, the writer's
  }

  get freeRows(): number {
    return this.batch.capacity - this.batch.rows;
  }

  /** `rows` more rows of the batch were filled. */
  filled(rows: number): void {
    this.batch.rows += rows;
    this.total += rows;
    if (this.batch.rows === this.batch.capacity) this.flush();
  }

  flush(): void {
    if (this.batch.rows > 0) this.sink.rows(this.kind, this.batch);
    this.batch.rows = 0;
  }

  /** One row by the names of its columns; what is not named is NULL, `seq` the row's number. */
  add(fields: Readonly<Record<string, RowField>>): void {
    const { batch } = this;
    const row = batch.rows;
    batch.layout.columns.forEach(({ name, kind, nullable }, i) => {
      const value = name === 'seq' ? this.total : fields[name];
      put(batch.arrays[i]!, kind, row, name === 'source_id' ? 0 : value, nullable === true);
    });
    this.filled(1);
  }
}

function put(array: ColumnArray, kind: ColumnKind, row: number, value: RowField, nullable: boolean): void {
  const isMissing = value === null || value === undefined;
  if (kind === 'i64' || kind === 'u64') {
    const wide = isMissing ? 0n : BigInt.asUintN(64, BigInt(value));
    array[row * 2] = Number(wide & 0xffffffffn);
    array[row * 2 + 1] = isMissing && nullable ? NULL_HIGH : Number(wide >> 32n);
  } else if (isMissing) array[row] = !nullable ? 0 : kind === 'u8' ? NULL_U8 : kind === 'f64' ? NULL_F64 : NULL_I32;
  else if (kind === 'i32') array[row] = value >= 0 && value < 2 ** 31 ? Number(value) : nullable ? NULL_I32 : 0;
  else array[row] = Number(value);
}
