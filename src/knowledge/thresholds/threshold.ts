/** Numbers that decide, of thresholds.yaml. */
import { loadData } from '../load-data.js';

type Thresholds = Readonly<Record<string, Readonly<Record<string, { readonly value: number }>>>>;

export const THRESHOLDS = loadData('thresholds/thresholds') as Thresholds;

/** `name`: its group and its name, `ranks.alone_share`; the unit is in the file. */
export function threshold(name: `${string}.${string}`): number {
  const [group, own] = name.split('.') as [string, string];
  return THRESHOLDS[group]![own]!.value;
}
