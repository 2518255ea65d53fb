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

const TABLE_OF_FACT = {
  report: 'nsys_report',
  table: 'nsys_table',
  gpu: 'nsys_gpu',
  device: 'nsys_device',
  process: 'nsys_process',
  thread: 'nsys_thread',
  diagnostic: 'nsys_diagnostic',
  option: 'nsys_option',
} as const satisfies Record<NsysFact['row'], string>;

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

  fact(fact: NsysFact): void {
    const table = TABLE_OF_FACT[fact.row];
    getOrAdd(this.facts, table, () => []).push({ source_id: this.sourceId, ...columnsOf(fact) });
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

function columnsOf(fact: NsysFact): Fields {
  switch (fact.row) {
    case 'report':
      return {
        form: fact.form,
        product_version: fact.productVersion,
        schema_version: fact.schemaVersion,
        clock_offset_ns: fact.clockOffsetNs,
        clock_origin: fact.clockOrigin,
        duration_ns: fact.durationNs,
        host: fact.host,
        memory_events_collected: fact.memoryEventsCollected,
        graph_trace: fact.graphTrace,
        is_partial: fact.isPartial,
        has_all_tables: fact.hasAllTables,
      };
    case 'table':
      return { name: fact.name, row_count: fact.rows, is_read: fact.isRead };
    case 'gpu':
      return {
        gpu: fact.id,
        name: fact.name,
        total_bytes: fact.totalBytes,
        bus_location: fact.busLocation,
        uuid: fact.uuid,
      };
    case 'device':
      return { pid: fact.pid, device: fact.device, gpu: fact.gpuId };
    case 'process':
      return { pid: fact.pid, name: fact.name, rank: fact.rank, rank_origin: fact.rankOrigin };
    case 'thread':
      return { pid: fact.pid, tid: fact.tid, name: fact.name };
    case 'diagnostic':
      return { time_ns: fact.timeNs, severity: fact.severity, text: fact.text };
    case 'option':
      return { key: fact.key, value: fact.value };
  }
}
