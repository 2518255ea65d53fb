/** Which values of a record go where: the columns asked for, against the declaration of the table. */
import { MbfError } from '../model/errors.js';
import type { TableDeclaration } from './create-table.js';
import type { DefaultValue } from './default-value.js';

export interface ScanPlan {
  /** By place in the record: the slot of the value, −1 if it was not requested. */
  readonly slotOf: Int32Array;
  /** By place in the record; undefined is an expression. */
  readonly whenMissing: readonly (DefaultValue | undefined)[];
  /** The slot of the rowid; −1 if it was not requested. */
  readonly rowidSlot: number;
  /** Slots of REAL columns. */
  readonly realSlots: readonly number[];
  readonly slots: number;
  /** The slots in the order in which they were asked for, where one may come twice. */
  readonly order: readonly number[];
}

export function planScan(declaration: TableDeclaration, names: readonly string[]): ScanPlan {
  const { columns, rowidColumn } = declaration;
  const slotOf = new Int32Array(columns.length).fill(-1);
  const realSlots: number[] = [];
  const slotByName = new Map<string, number>();
  const placeByName = new Map(columns.map((column, place) => [column.name, place]));
  const order = names.map((name) => {
    const known = slotByName.get(name);
    if (known !== undefined) return known;
    const place = placeByName.get(name);
    if (place === undefined) throw new MbfError('MBF9001', `the table has no column "${name}"`);
    const slot = slotByName.size;
    slotByName.set(name, slot);
    slotOf[place] = slot;
    if (columns[place]!.affinity === 'real') realSlots.push(slot);
    return slot;
  });
  const rowidSlot = rowidColumn < 0 ? -1 : slotOf[rowidColumn]!;
  // The record holds NULL in its place.
  if (rowidColumn >= 0) slotOf[rowidColumn] = -1;
  const whenMissing = columns.map((column) => column.whenMissing);
  return { slotOf, whenMissing, rowidSlot, realSlots, slots: slotByName.size, order };
}
