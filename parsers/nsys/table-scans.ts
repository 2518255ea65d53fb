/**
 * Scans of the tables of an export: damage becomes a note, rows are counted, and columns that a release lacks are NULL.
 */
import type { RowSink } from '../../src/model/parser.js';
import type { CellBatch, SourceTable, TableSource } from '../../src/model/table-source.js';
import type { Cell, Row } from './capture.js';
import { cell } from './cells.js';

/** Rows of a small table; more rows add nothing and may be an attack. */
const MOST_SMALL_ROWS = 200_000;

export class TableScans {
  readonly tables: ReadonlyMap<string, SourceTable>;
  private readonly source: TableSource;
  private readonly sink: RowSink;
  /** Rows of the tables that were scanned. */
  private readonly counts = new Map<string, number>();

  constructor(source: TableSource, sink: RowSink) {
    this.source = source;
    this.sink = sink;
    this.tables = new Map(source.tables.map((table) => [table.name, table]));
  }

  /** Scanned tables of which not one row could be read. */
  readonly unreadable = new Set<string>();

  /** Of a table that was scanned; 0 of any other. */
  rowsOf(table: string): number {
    return this.counts.get(table) ?? 0;
  }

  /** Rows of every table, those that were not scanned counted now. */
  async *rows(): AsyncGenerator<{ readonly name: string; readonly rows: number }, void, void> {
    for (const { name } of this.source.tables) {
      let rows = this.counts.get(name);
      if (rows === undefined) {
        const counted = await this.source.count(name);
        rows = counted.rows;
        if (counted.problem !== undefined) this.damaged(name, counted.rows, counted.problem);
      }
      yield { name, rows };
    }
  }

  /** The rows of a small table, with NULL for columns that it lacks; none if it is not there. */
  async small(name: string, columns: readonly string[]): Promise<Row[]> {
    const table = this.tables.get(name);
    if (table === undefined) return [];
    const present = columns.filter((column) => table.columns.some((known) => known.name === column));
    const rows: Row[] = [];
    await this.scan(name, present, (batch) => {
      for (let row = 0; row < batch.rows && rows.length < MOST_SMALL_ROWS; row++) {
        const values: Record<string, Cell> = {};
        for (const column of columns) {
          const at = present.indexOf(column);
          values[column] = at < 0 ? null : cell(batch.columns[at]!, row);
        }
        rows.push(values);
      }
    });
    return rows;
  }

  async scan(name: string, columns: readonly string[], take: (batch: CellBatch) => void): Promise<void> {
    const scanned = await this.source.scan(name, columns, take);
    const isFirst = !this.counts.has(name);
    this.counts.set(name, scanned.rows);
    if (!isFirst) return;
    if (scanned.problem !== undefined) {
      this.damaged(name, scanned.rows, scanned.problem);
      if (scanned.rows === 0) this.unreadable.add(name);
    }
    if ((scanned.badTexts ?? 0) > 0) {
      const text = `texts of the table ${name} are not UTF-8; their bytes that are not were replaced`;
      this.sink.note({ kind: 'nsys_bad_text', severity: 'info', text, count: scanned.badTexts ?? 1 });
    }
  }

  private damaged(
    name: string,
    rows: number,
    problem: { readonly fact: string; readonly offset?: number | undefined },
  ): void {
    const text = `the table ${name} is damaged: ${problem.fact}; ${rows} rows before that were kept, the rest is lost`;
    this.sink.note({ kind: 'nsys_table_damaged', severity: 'warning', text, offset: problem.offset });
  }
}
