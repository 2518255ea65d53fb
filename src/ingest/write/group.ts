/**
 * What one transaction writes, of one file or of many small ones. Most of the time of a small file went into making,
 * flushing and closing appenders; these live as long as the group, and rows of small tables are inserted at its end.
 */
import type { ColumnBatch, TableLayout } from '../../model/columns.js';
import type { ColumnAppender } from '../../store/column-appender.js';
import type { Store } from '../../store/store.js';
import type { CellValue } from '../../store/to-duckdb.js';

type Row = Readonly<Record<string, CellValue>>;

export class Group {
  readonly store: Store;
  /** Of small files, each batch of which has memory of its own. Otherwise one file is written while it is decoded. */
  readonly isShared: boolean;
  private readonly appenders = new Map<TableLayout, ColumnAppender>();
  /** Of tables whose appender is not made yet: the calls of a decoder are synchronous, making one is not. */
  private waiting: ColumnBatch[] = [];
  private readonly rows = new Map<string, Row[]>();
  private readonly last: (() => Promise<void>)[] = [];
  /** Rows that wait for the end. */
  rowCount = 0;

  constructor(store: Store, isShared: boolean) {
    this.store = store;
    this.isShared = isShared;
  }

  /** To be awaited before batches of these layouts come: those of a large file are used again as soon as they can. */
  async expect(layouts: Iterable<TableLayout>): Promise<void> {
    if (!this.isShared) await this.open(layouts);
  }

  /** Has an appender for each layout, for batches that are used again once {@link append} has returned. */
  async open(layouts: Iterable<TableLayout>): Promise<void> {
    for (const layout of layouts)
      if (!this.appenders.has(layout)) this.appenders.set(layout, await this.store.appender(layout));
  }

  append(batch: ColumnBatch): void {
    const appender = this.appenders.get(batch.layout);
    if (appender === undefined) this.waiting.push(batch);
    else appender.append(batch);
  }

  insert(table: string, rows: readonly Row[]): void {
    const known = this.rows.get(table);
    if (known === undefined) this.rows.set(table, [...rows]);
    else for (const row of rows) known.push(row);
    this.rowCount += rows.length;
  }

  /** No rows of these layouts follow in this file. */
  close(layouts: Iterable<TableLayout>): void {
    if (!this.isShared) this.closeAppenders(layouts);
  }

  private closeAppenders(layouts: Iterable<TableLayout>): void {
    for (const layout of layouts) {
      this.appenders.get(layout)?.close();
      this.appenders.delete(layout);
    }
  }

  /** To be done when all rows are there. */
  atEnd(work: () => Promise<void>): void {
    this.last.push(work);
  }

  /** Appends the batches that wait: after each file. */
  async settle(): Promise<void> {
    const { waiting } = this;
    this.waiting = [];
    await this.open(new Set(waiting.map(({ layout }) => layout)));
    for (const batch of waiting) this.append(batch);
  }

  /** Writes everything; to be called once, before the transaction is committed. */
  async finish(): Promise<void> {
    await this.settle();
    this.closeAppenders([...this.appenders.keys()]);
    for (const [table, rows] of this.rows) await this.store.insertRows(table, rows);
    for (const work of this.last) await work();
  }
}
