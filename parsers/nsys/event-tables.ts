/**
 * The large tables of an export, copied column by column. The texts and processes that they name are collected at the
 * same time.
 */
import { NULL_HIGH } from '../../src/model/columns.js';
import { NSYS_LAYOUTS } from '../../src/model/nsys-rows.js';
import { packTexts } from '../../src/model/packed-texts.js';
import type { NsysSink, RowSink } from '../../src/model/parser.js';
import { CELL, type CellColumn } from '../../src/model/table-source.js';
import { part, takeFrom } from './cells.js';
import { BUILDER_BYTES, RowBuilder } from './row-builder.js';
import type { TableMap } from './table-maps.js';
import type { TableScans } from './table-scans.js';
import { cutText, RowTexts, UsedTexts } from './text-numbers.js';

export class EventTables {
  /** Texts that rows name. */
  readonly used = new UsedTexts();
  /** Texts inside rows; to be flushed after the last table. */
  readonly rowTexts: RowTexts;
  /** By process, the tables in which it did something. */
  readonly pids = new Map<number, Set<string>>();
  private readonly scans: TableScans;
  private readonly sink: RowSink;
  private readonly nsys: NsysSink;
  /** Taken from every time; see `ReportClock`. */
  private readonly shiftNs: bigint;
  /** Of the builders of all tables, which follow each other. */
  private readonly buffer = new ArrayBuffer(BUILDER_BYTES);

  constructor(scans: TableScans, sink: RowSink, nsys: NsysSink, shiftNs: bigint) {
    this.scans = scans;
    this.sink = sink;
    this.nsys = nsys;
    this.shiftNs = shiftNs;
    this.rowTexts = new RowTexts((texts) => nsys.texts(packTexts(texts)));
  }

  /** Whether the export has the table, in a form that is known. */
  async read(map: TableMap): Promise<boolean> {
    const table = this.scans.tables.get(map.table);
    // A table without columns cannot be read; the reason is reported where its rows are counted.
    if (table === undefined || table.columns.length === 0) return false;
    const present = new Map(table.columns.map(({ name }) => [name, name]));
    for (const name of map.needs) {
      if (present.has(name)) continue;
      // An export of another version, or a user's table with this name: the other tables are still useful.
      const text = `the table ${map.table} has no column ${name}, so it was not read`;
      this.sink.note({ kind: 'nsys_table_unknown', severity: 'warning', text });
      return false;
    }
    const builder = new RowBuilder(map.kind, this.nsys, this.buffer);
    const { columns: layout } = NSYS_LAYOUTS[map.kind];
    const columnNames: string[] = [];
    const indexOf = (name: string): number => {
      if (!present.has(name)) return -1;
      if (!columnNames.includes(name)) columnNames.push(name);
      return columnNames.indexOf(name);
    };
    const fills = layout.flatMap(({ name }, index) => {
      const column = map.columns[name];
      if (column === undefined) return [];
      return [{ target: builder.batch.arrays[index]!, from: column.from.map(indexOf), column }];
    });
    const seq = layout.findIndex(({ name }) => name === 'seq');
    const pid = layout.findIndex(({ name }) => name === 'pid');
    const times = this.shiftNs === 0n ? [] : layout.flatMap(({ name }, i) => (name.endsWith('_ns') ? [i] : []));
    const rowText = map.row_text;
    const textFrom = rowText === undefined ? -1 : indexOf(rowText.from);
    const textTo = rowText === undefined ? -1 : layout.findIndex(({ name }) => name === rowText.to);
    const byText = map.table === 'CUDA_GPU_MEMORY_USAGE_EVENTS';

    await this.scans.scan(map.table, columnNames, (whole) => {
      for (let start = 0; start < whole.rows; ) {
        const rows = Math.min(whole.rows - start, builder.freeRows);
        const batch = start === 0 && rows === whole.rows ? whole : part(whole, start, rows);
        const at = builder.batch.rows;
        for (const { target, from, column } of fills) {
          const sources = from.map((index) => (index < 0 ? undefined : batch.columns[index]));
          column.fill(sources, rows, target, at);
          if (column.isText === true) this.used.addColumn(target as Uint32Array, rows, at);
        }
        if (seq >= 0) for (let row = 0; row < rows; row++) builder.batch.arrays[seq]![at + row] = builder.total + row;
        if (textTo >= 0) {
          this.fillTexts(
            textFrom < 0 ? undefined : batch.columns[textFrom],
            rows,
            builder.batch.arrays[textTo] as Uint32Array,
            at,
            byText,
          );
        }
        for (const i of times) takeFrom(builder.batch.arrays[i] as Uint32Array, rows, at, this.shiftNs);
        if (pid >= 0) this.seePids(builder.batch.arrays[pid] as Int32Array, rows, at, map.table);
        builder.filled(rows);
        start += rows;
      }
    });
    builder.flush();
    return true;
  }

  /** Texts of the rows themselves, as numbers. `alone`: the only source, so that a row without a text is NULL. */
  private fillTexts(
    source: CellColumn | undefined,
    rows: number,
    target: Uint32Array,
    at: number,
    alone: boolean,
  ): void {
    for (let row = 0; row < rows; row++) {
      const text = source?.texts[row];
      const to = (at + row) * 2;
      if (source !== undefined && source.kinds[row] === CELL.text && text !== undefined && text !== '') {
        const id = this.rowTexts.number(cutText(text));
        target[to] = id | 0;
        target[to + 1] = 0xffffffff;
      } else if (alone) {
        target[to] = 0;
        target[to + 1] = NULL_HIGH;
      }
    }
  }

  private seePids(pids: Int32Array, rows: number, at: number, table: string): void {
    let last = -1;
    for (let row = at; row < at + rows; row++) {
      const pid = pids[row]!;
      if (pid === last || pid < 0) continue;
      last = pid;
      let seen = this.pids.get(pid);
      if (seen === undefined) {
        seen = new Set();
        this.pids.set(pid, seen);
      }
      seen.add(table);
    }
  }

  /**
   * Processes that used a GPU, by number. Calls alone do not count: a launcher that asks for the number of devices
   * makes some.
   */
  cudaProcesses(): number[] {
    const used = [...this.pids].filter(([, tables]) =>
      ['CUDA_GPU_MEMORY_USAGE_EVENTS', 'CUPTI_ACTIVITY_KIND_KERNEL', 'CUPTI_ACTIVITY_KIND_MEMCPY'].some((name) =>
        tables.has(name),
      ),
    );
    return used.map(([pid]) => pid).sort((a, b) => a - b);
  }
}
