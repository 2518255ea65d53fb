/** What the fields of NVIDIA's monitors mean: `src/knowledge/inputs/monitor-fields.tsv`. */
import { loadData } from '../../src/knowledge/load-data.js';
import { groupBy } from '../../src/model/group-by.js';
import type { GaugeMetric } from '../../src/model/log-rows.js';

export type Meaning =
  | { readonly kind: 'gauge'; readonly metric: GaugeMetric }
  | { readonly kind: 'series'; readonly name: string; readonly unit: string }
  | { readonly kind: 'change'; readonly name: string; readonly unit: string | null }
  | { readonly kind: 'time' | 'index' | 'uuid' | 'bus' | 'pid' | 'process' | 'xid' };

type FieldTable = 'query' | 'report' | 'dmon' | 'pmon' | 'dcgm' | 'dcgmi';
interface FieldRow {
  readonly table: FieldTable;
  readonly field: string;
  readonly kind: Meaning['kind'];
  readonly name: string | null;
  readonly unit: string | null;
}

const TABLES = groupBy(loadData('inputs/monitor-fields') as readonly FieldRow[], ({ table }) => table);

/** Fields of `nvidia-smi --query-gpu`, of `-q`, of `dmon` and `pmon`, of dcgm-exporter and of `dcgmi dmon`. */
export const fieldsOf = (table: FieldTable): ReadonlyMap<string, Meaning> =>
  new Map(
    TABLES.get(table)!.map(({ field, kind, name, unit }) => [
      field,
      (kind === 'gauge' ? { kind, metric: name } : { kind, name, unit }) as Meaning,
    ]),
  );

/** Words of a report for a healthy state: kept only if the value was different before. */
export const GOOD_WORDS: ReadonlySet<string> = new Set(['No', 'Not Active', 'None', 'Disabled']);
