/** The tables of an export that the questions need: `src/knowledge/inputs/nsys-tables.yaml`. */
import { loadData } from '../../src/knowledge/load-data.js';
import { ENUMS } from '../../src/model/columns.js';
import type { NsysKind, NvtxType } from '../../src/model/nsys-rows.js';
import { always, type ColumnMap, codes, labelled, narrow, processOf, product, threadOf, wide } from './column-maps.js';

interface TableData {
  readonly table: string;
  readonly kind: NsysKind;
  readonly needs: readonly string[];
  readonly with: readonly string[];
  readonly row_text?: { readonly from: string; readonly to: string };
  readonly columns: Readonly<Record<string, string>>;
}

export interface TableMap extends Omit<TableData, 'with' | 'columns'> {
  /** Columns of the layout, by name; `source_id` and `seq` are filled by the reader, and so is that of `row_text`. */
  readonly columns: Readonly<Record<string, ColumnMap>>;
}

/** Labels of a column that is an ENUM, by its name in the data. */
export const labelsOf = (name: string): readonly string[] => ENUMS[name as keyof typeof ENUMS];

const DATA = loadData('inputs/nsys-tables') as {
  readonly groups: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly nvtx_types: Readonly<Record<string, NvtxType>>;
  readonly tables: readonly TableData[];
};

export const NVTX_TYPE_NUMBERS: ReadonlyMap<number, NvtxType> = new Map(
  Object.entries(DATA.nvtx_types).map(([number, type]) => [Number(number), type]),
);
const NVTX_CODES = new Map(
  [...NVTX_TYPE_NUMBERS].map(([number, type]) => [number, ENUMS.nsys_nvtx_type.indexOf(type)]),
);

const FUNCTIONS: Readonly<Record<string, (name: string, ...more: string[]) => ColumnMap>> = {
  wide: (name) => wide(name),
  needed: (name) => wide(name, { orZero: true }),
  text: (name) => wide(name, { isText: true }),
  needed_text: (name) => wide(name, { isText: true, orZero: true }),
  narrow,
  process: processOf,
  thread: threadOf,
  label: (name, list, other, missing?: string) => labelled(name, labelsOf(list!), other!, missing),
  is: (list, word) => always(labelsOf(list).indexOf(word!)),
  always: (code) => always(Number(code)),
  product: (x, y, z) => product(x, y!, z!),
  nvtx_type: (name) => codes(name, NVTX_CODES, ENUMS.nsys_nvtx_type.indexOf('other')),
  own: () => ({ from: [], fill: () => undefined }),
};

export const TABLE_MAPS: readonly TableMap[] = DATA.tables.map(({ with: groups, columns, ...table }) => ({
  ...table,
  columns: Object.fromEntries(
    [...groups.map((name) => DATA.groups[name]!), columns].flatMap(Object.entries<string>).map(([column, source]) => {
      const [what = '', name = '', ...more] = source.split(' ');
      return [column, FUNCTIONS[what]!(name, ...more)];
    }),
  ),
}));
