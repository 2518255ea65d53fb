/** Memory figures of ranks as a table that fits a screen: equal ranks together, then stages, then all. */

import { groupBy } from '../../model/group-by.js';
import { maxOf } from '../../model/lists.js';
import type { MemoryGroup } from '../../model/results/log.js';
import { screen } from '../screen.js';
import { type Column, left, right, table } from '../table.js';
import { byteRange, grouped, rankList, UNKNOWN } from '../text-pieces.js';

/** Columns in order: metric, whether its last or its largest value is shown, title. */
const COLUMNS: readonly (readonly [metric: string, of: 'last' | 'max' | 'counts', title: string])[] = [
  ['allocated', 'last', 'allocated'],
  ['reserved', 'last', 'reserved'],
  ['max_allocated', 'max', 'peak allocated'],
  ['max_reserved', 'max', 'peak reserved'],
  ['inactive_split', 'last', 'inactive split'],
  ['device_used', 'max', 'device used'],
  ['alloc_retries', 'counts', 'retries'],
];
/** Shown even where they are zero: that is news then. */
const ALWAYS = new Set(['allocated', 'reserved', 'max_allocated', 'max_reserved']);
const MOST_COLUMNS = 5;

interface Row {
  readonly stage: number | null;
  readonly ranks: readonly (number | null)[];
  readonly groups: readonly MemoryGroup[];
}

/** Groups as they are, if they are few; else one row a stage; else one row of all. */
function fold(groups: readonly MemoryGroup[], most: number): Row[] {
  if (groups.length <= most)
    return groups.map((group) => ({ stage: group.stage, ranks: group.ranks, groups: [group] }));
  const stages = groupBy(groups, ({ stage }) => stage);
  const rowOf = (stage: number | null, members: readonly MemoryGroup[]): Row => ({
    stage,
    ranks: members.flatMap(({ ranks }) => ranks),
    groups: members,
  });
  if (stages.size > most) return [rowOf(null, groups)];
  return [...stages].sort((a, b) => (a[0] ?? -1) - (b[0] ?? -1)).map(([stage, members]) => rowOf(stage, members));
}

function cell(row: Row, metric: string, of: 'last' | 'max' | 'counts'): string {
  const values = row.groups.flatMap((group) => group[of][metric] ?? []);
  if (of !== 'counts') return byteRange(values);
  return values.length === 0 ? UNKNOWN : grouped(maxOf(values), 0);
}

/** Null where no group has a figure of the allocator or the device's use. */
export function memoryTable(groups: readonly MemoryGroup[], mostRows: number, indent: string): string | null {
  // Optional columns with only zeros are left out.
  const isInformative = (value: number | undefined, metric: string): boolean =>
    value !== undefined && (value !== 0 || ALWAYS.has(metric));
  const columns = COLUMNS.filter(([metric, of]) =>
    groups.some((group) => isInformative(group[of][metric], metric)),
  ).slice(0, MOST_COLUMNS);
  if (columns.length === 0) return null;
  // A row that is empty in all shown columns is left out.
  const rows = fold(
    groups.filter((group) => columns.some(([metric, of]) => group[of][metric] !== undefined)),
    mostRows,
  );
  const hasStages = rows.some(({ stage }) => stage !== null);
  for (;;) {
    const head: Column[] = [
      ...(hasStages ? [right('stage')] : []),
      left('ranks'),
      ...columns.map(([, , title]) => right(title)),
    ];
    const text = table(
      head,
      rows.map((row) => [
        ...(hasStages ? [row.stage === null ? UNKNOWN : String(row.stage)] : []),
        rankList(row.ranks, 3),
        ...columns.map(([metric, of]) => cell(row, metric, of)),
      ]),
      indent,
    );
    // Ranges are wide: the last column gives way.
    if (screen.isLossless || columns.length < 2 || text.split('\n').every((line) => line.length <= screen.width))
      return text;
    columns.pop();
  }
}
