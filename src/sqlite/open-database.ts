/**
 * SQLite databases as tables of columns, read page by page and never written. Upstream: sqlite.org/fileformat2.html.
 *
 * A separate implementation, because every library for Node 20 brings native code, loads the whole file, or writes lock
 * files into the directory of the evidence, and none is as fast: a table is scanned in the order of its pages, without
 * running SQL or reading an index.
 *
 * It cannot detect, because the format lacks checksums, a value whose bytes were changed into another value, nor a
 * pointer that was changed to a page of another table with fitting rowids and no more columns. A count uses the headers
 * of leaf pages; only a scan checks their cells.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { MbfError } from '../model/errors.js';
import type { RandomAccess } from '../model/parser.js';
import type { TableScan, TableSource } from '../model/table-source.js';
import { BATCH_ROWS } from './cell-columns.js';
import { Damage } from './damage.js';
import { readDatabaseHeader } from './database-header.js';
import { LeafDecoder } from './leaf-decoder.js';
import { PageReader } from './page-reader.js';
import { planScan } from './scan-plan.js';
import { readSchema, type SchemaTable } from './schema.js';
import { TableWalk } from './table-walk.js';

/** Read between turns of the event loop: about 100 ms of work. */
const TURN_BYTES = 32 * 1_048_576;

export interface SqliteDatabase extends TableSource {
  readonly pageSize: number;
  /** Whole pages in the file. */
  readonly pages: number;
  /** Pages that there should be by the header: more than `pages` if the file was cut off. */
  readonly statedPages: number;
  /** The list of tables could be read only in part, and `tables` lacks the rest. */
  readonly schemaProblem: TableScan['problem'];
}

/**
 * Throws MBF2701 (no SQLite database, or one whose header or schema is damaged) or MBF2702 (one in a form that is not
 * read), with the offset in the file. Tables that cannot be read, such as WITHOUT ROWID and virtual ones, are listed;
 * scanning them ends with a problem.
 */
export function openDatabase(bytes: RandomAccess): SqliteDatabase {
  const geometry = readDatabaseHeader(bytes);
  const { tables, damage } = readSchema(new PageReader(bytes, geometry));
  if (damage !== undefined && tables.size === 0) {
    throw new MbfError('MBF2701', `the list of tables is damaged: ${damage.message}`, { offset: damage.offset });
  }

  function tableNamed(name: string): SchemaTable {
    const table = tables.get(name);
    if (table === undefined) throw new MbfError('MBF9001', `there is no table "${name}"`);
    return table;
  }

  /** Calls `visit` for every leaf in order; returns what ended the walk early. */
  async function eachLeaf(
    table: SchemaTable,
    visit: (walk: TableWalk, reader: PageReader) => void,
  ): Promise<TableScan['problem']> {
    if (table.refusal !== undefined) return { fact: table.refusal };
    // A reader for each walk, so that scans may overlap at turns of the event loop.
    const reader = new PageReader(bytes, geometry);
    const walk = new TableWalk(reader, table.root);
    let sinceTurn = 0;
    try {
      while (walk.next()) {
        visit(walk, reader);
        sinceTurn += geometry.pageSize;
        if (sinceTurn < TURN_BYTES) continue;
        sinceTurn = 0;
        await turn();
      }
      return undefined;
    } catch (error) {
      if (!(error instanceof Damage)) throw error;
      return { fact: error.message, offset: error.offset };
    }
  }

  return {
    pageSize: geometry.pageSize,
    pages: geometry.pages,
    statedPages: geometry.statedPages,
    schemaProblem: damage && { fact: damage.message, offset: damage.offset },
    tables: [...tables.values()].map(({ name, declaration }) => ({
      name,
      columns: declaration?.columns.map((column) => ({ name: column.name, type: column.type })) ?? [],
    })),

    async scan(name, columns, take) {
      const table = tableNamed(name);
      const plan = table.declaration && planScan(table.declaration, columns);
      let decoder: LeafDecoder | undefined;
      const problem = await eachLeaf(table, (walk, reader) => {
        decoder ??= new LeafDecoder(reader, plan!, walk.isOnlyLeaf ? walk.cells : BATCH_ROWS, take);
        decoder.decode(walk);
      });
      decoder?.flush();
      return { rows: decoder?.rows ?? 0, problem, badTexts: decoder?.badTexts ?? 0 };
    },

    async count(name) {
      let rows = 0;
      const problem = await eachLeaf(tableNamed(name), (walk) => {
        rows += walk.cells;
      });
      return { rows, problem };
    },
  };
}
