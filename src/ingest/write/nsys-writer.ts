/** Writes one Nsight Systems export into the open transaction. */
import type { ColumnBatch } from '../../model/columns.js';
import { getOrAdd } from '../../model/group-by.js';
import { NSYS_LAYOUTS, type NsysFact, type NsysKind } from '../../model/nsys-rows.js';
import type { PackedTexts } from '../../model/packed-texts.js';
import type { NsysSink, RawRows } from '../../model/parser.js';
import type { SourceColumn } from '../../model/table-source.js';
import type { ColumnAppender } from '../../store/column-appender.js';
import type { Store } from '../../store/store.js';
import type { TextAppender } from '../../store/text-appender.js';
import type { SqlValue } from '../../store/to-duckdb.js';
import { RawTables } from './raw-tables.js';

type Fields = Readonly<Record<string, SqlValue>>;

export class NsysWriter implements NsysSink {
  private readonly store: Store;
  private readonly sourceId: number;
  private readonly appenders: ReadonlyMap<NsysKind, ColumnAppender>;
  private readonly facts = new Map<string, Fields[]>();
  private readonly textAppender: TextAppender;
  private readonly rawTables: RawTables;

  /**
   * Opens the appenders up front: the parser's calls are synchronous, making an appender is not. `replacedId` is a
   * source whose raw rows are still there.
   */
  static async open(store: Store, sourceId: number, replacedId: number | undefined): Promise<NsysWriter> {
    const appenders = new Map<NsysKind, ColumnAppender>();
    for (const kind of Object.keys(NSYS_LAYOUTS) as NsysKind[]) {
      appenders.set(kind, await store.appender(NSYS_LAYOUTS[kind]));
    }
    const rawTables = new RawTables(store, sourceId, replacedId);
    return new NsysWriter(store, sourceId, appenders, await store.textAppender('nsys_text'), rawTables);
  }

  private constructor(
    store: Store,
    sourceId: number,
    appenders: ReadonlyMap<NsysKind, ColumnAppender>,
    textAppender: TextAppender,
    rawTables: RawTables,
  ) {
    this.store = store;
    this.sourceId = sourceId;
    this.appenders = appenders;
    this.textAppender = textAppender;
    this.rawTables = rawTables;
  }

  rows(kind: NsysKind, batch: ColumnBatch): void {
    batch.i32('source_id').fill(this.sourceId, 0, batch.rows);
    this.appenders.get(kind)!.append(batch);
  }

  texts(texts: PackedTexts): void {
    this.textAppender.append(this.sourceId, texts);
  }

  fact({ row, ...fields }: NsysFact): void {
    getOrAdd(this.facts, `nsys_${row}`, () => []).push({ source_id: this.sourceId, ...fields });
  }

  rawTable(table: string, columns: readonly SourceColumn[]): Promise<void> {
    return this.rawTables.begin(table, columns);
  }

  raw(rows: RawRows): void {
    this.rawTables.append(rows);
  }

  /** Writes what is still waiting; to be called once. */
  async finish(): Promise<void> {
    for (const appender of this.appenders.values()) appender.close();
    this.textAppender.close();
    await this.rawTables.finish();
    for (const [table, rows] of this.facts) await this.store.insertRows(table, rows);
  }
}
