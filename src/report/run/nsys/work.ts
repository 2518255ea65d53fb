/** What devices did: copies, kernels, work inside ranges, memory over time. */
import { maxOf } from '../../../model/lists.js';
import type {
  NsysBudget,
  NsysCopyGroup,
  NsysMemoryCurve,
  NsysRangeWork,
  NsysReport,
} from '../../../model/results/nsys.js';
import { GIB } from '../../../model/units.js';
import {
  bytes,
  type Cell,
  code,
  column,
  counts,
  fieldsOf,
  type MaybePart,
  names,
  paragraph,
  section,
  share,
  t,
  table,
} from '../../document/document.js';
import { excerpt } from '../../document/values.js';
import { plain } from '../../text-pieces.js';
import { left, limited, type NsysLook, processText, since, time } from './pieces.js';

export function budgetTable({ budgets, steps_by: by }: NsysReport): MaybePart {
  type Row = NonNullable<typeof budgets>[number];
  const part = (key: keyof NsysBudget, title: string) =>
    column<Row>(
      key,
      ({ per_step: step }): Cell =>
        step.window_ns > 0 ? t`${time(step[key])} ${share(step[key] / step.window_ns)}` : time(step[key]),
      { title, align: 'right' },
    );
  return table(
    budgets ?? [],
    [
      column('pid', ({ pid }) => pid, { title: 'process', unit: 'number' }),
      counts('device', ({ device }) => device),
      column('window_ns', ({ per_step: step }) => step.window_ns, { title: by === null ? 'capture' : 'step' }),
      part('compute_ns', 'compute'),
      part('exposed_communication_ns', 'communication alone'),
      part('exposed_copy_ns', 'copy alone'),
      part('idle_ns', 'idle'),
    ],
    { key: 'budgets', notes: [by === null && 'times of devices are from their first to their last work'] },
  );
}

/** Empty where the report does not contain the kinds of memory, as of managed memory. */
function memoryOf({ operation, source_kind: source, target_kind: target }: NsysCopyGroup): string {
  const [from, to] = [source, target].map((kind) => (kind === 'unknown' ? null : kind));
  if (operation === 'memset') return to ?? '';
  return from === null && to === null ? '' : `${from ?? '—'} → ${to ?? '—'}`;
}

export function copyTable(groups: readonly NsysCopyGroup[], { limit }: NsysLook): MaybePart {
  return table(
    limited(groups, limit),
    [
      column('copies', ({ operation, direction }) => (operation === 'memset' ? 'set' : direction && plain(direction))),
      groups.some((group) => memoryOf(group) !== '') && column('memory', memoryOf),
      ...fieldsOf(groups, ['count', 'times'], 'bytes', ['busy_ns', 'time']),
      column(
        'rate',
        (group) => (group.busy_ns > 0 ? `${((group.bytes / group.busy_ns) * (1e9 / GIB)).toFixed(1)} GiB/s` : null),
        { align: 'right' },
      ),
    ],
    { key: 'copy_groups', notes: left(groups, limit) },
  );
}

export const kernelTable = ({ kernel_groups: all }: NsysReport, { limit }: NsysLook): MaybePart =>
  table(
    limited(all ?? [], limit),
    [
      ...fieldsOf(all ?? [], ['count', 'times'], ['total_ns', 'sum'], 'median_ns'),
      names('kernel', ({ name }) => excerpt(name)),
    ],
    { key: 'kernel_groups', notes: left(all ?? [], limit) },
  );

export function rangeSection(
  path: string,
  text: string,
  work: readonly NsysRangeWork[],
  { limit }: NsysLook,
): MaybePart {
  return section(
    t`${code(path)}: launched inside ranges with ${code(`"${text}"`)}`,
    { key: 'range_work', isOneOf: true, fields: { path, text } },
    table(
      limited(work, limit),
      [
        ...fieldsOf(work, 'work', ['count', 'times'], ['total_ns', 'sum'], 'bytes'),
        names('name', ({ work: kind, name }) => excerpt(kind === 'kernel' ? name : plain(name))),
      ],
      { key: 'work', notes: left(work, limit) },
    ) ?? paragraph('nothing'),
  );
}

const LEVELS = ' ▁▂▃▄▅▆▇█';

/** One line a series: each sign is a slice, in eighths of the series' own most. */
export function curveSection(path: string, series: readonly NsysMemoryCurve[]): MaybePart {
  return section(
    t`${code(path)}: the driver's memory over time`,
    { key: 'curves', isOneOf: true, fields: { path } },
    ...series.flatMap((curve): MaybePart[] => {
      const most = Math.max(0, maxOf(curve.bytes));
      const drawn = curve.bytes.map((value) => LEVELS[most > 0 ? Math.ceil((8 * value) / most) : 0]).join('');
      const [first = 0, last = 0] = [curve.times_ns[0], curve.times_ns.at(-1)];
      return [
        paragraph(t`${processText(curve)} ${curve.kind}: most ${bytes(most)}, ${since(first)} to ${since(last)}`),
        { type: 'drawing', lines: () => [`  ${drawn}`] },
      ];
    }),
    series.length === 0 && paragraph('no memory event'),
  );
}
