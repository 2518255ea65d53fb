/** What devices did: copies, kernels, work inside ranges, memory over time. */
import { maxOf } from '../../../model/lists.js';
import type * as results from '../../../model/results/nsys.js';
import { GIB } from '../../../model/units.js';
import * as d from '../../document/document.js';
import { excerpt, formatValue } from '../../document/values.js';
import { plain } from '../../text-pieces.js';
import { left, limited, type NsysLook, processText, since, time } from './pieces.js';

export function budgetTable({ budgets, steps_by: by }: results.NsysReport): d.MaybePart {
  type Row = NonNullable<typeof budgets>[number];
  const part = (key: keyof results.NsysBudget, title: string) =>
    d.column<Row>(
      key,
      ({ per_step: step }): d.Cell =>
        step.window_ns > 0
          ? d.t`${time(step[key])} ${formatValue(step[key] / step.window_ns, 'share')}`
          : time(step[key]),
      { title, align: 'right' },
    );
  return d.table(
    budgets ?? [],
    [
      d.column('pid', ({ pid }) => pid, { title: 'process', unit: 'number' }),
      d.counts('device', ({ device }) => device),
      d.column('window_ns', ({ per_step: step }) => step.window_ns, { title: by === null ? 'capture' : 'step' }),
      part('compute_ns', 'compute'),
      part('exposed_communication_ns', 'communication alone'),
      part('exposed_copy_ns', 'copy alone'),
      part('idle_ns', 'idle'),
    ],
    { key: 'budgets', notes: [by === null && 'times of devices are from their first to their last work'] },
  );
}

/** Empty where the report does not contain the kinds of memory, as of managed memory. */
function memoryOf({ operation, source_kind: source, target_kind: target }: results.NsysCopyGroup): string {
  const [from, to] = [source, target].map((kind) => (kind === 'unknown' ? null : kind));
  if (operation === 'memset') return to ?? '';
  return from === null && to === null ? '' : `${from ?? '—'} → ${to ?? '—'}`;
}

export function copyTable(groups: readonly results.NsysCopyGroup[], { limit }: NsysLook): d.MaybePart {
  return d.table(
    limited(groups, limit),
    [
      d.column('copies', ({ operation, direction }) =>
        operation === 'memset' ? 'set' : direction && plain(direction),
      ),
      groups.some((group) => memoryOf(group) !== '') && d.column('memory', memoryOf),
      ...d.fieldsOf(groups, ['count', 'times'], 'bytes', ['busy_ns', 'time']),
      d.column(
        'rate',
        (group) => (group.busy_ns > 0 ? `${((group.bytes / group.busy_ns) * (1e9 / GIB)).toFixed(1)} GiB/s` : null),
        { align: 'right' },
      ),
    ],
    { key: 'copy_groups', notes: left(groups, limit) },
  );
}

export const kernelTable = ({ kernel_groups: all }: results.NsysReport, { limit }: NsysLook): d.MaybePart =>
  d.table(
    limited(all ?? [], limit),
    [
      ...d.fieldsOf(all ?? [], ['count', 'times'], ['total_ns', 'sum'], 'median_ns'),
      d.names('kernel', ({ name }) => excerpt(name)),
    ],
    { key: 'kernel_groups', notes: left(all ?? [], limit) },
  );

export function rangeSection(
  path: string,
  text: string,
  work: readonly results.NsysRangeWork[],
  { limit }: NsysLook,
): d.MaybePart {
  return d.section(
    d.t`${d.code(path)}: launched inside ranges with ${d.code(`"${text}"`)}`,
    { key: 'range_work', isOneOf: true, fields: { path, text } },
    d.table(
      limited(work, limit),
      [
        ...d.fieldsOf(work, 'work', ['count', 'times'], ['total_ns', 'sum'], 'bytes'),
        d.names('name', ({ work: kind, name }) => excerpt(kind === 'kernel' ? name : plain(name))),
      ],
      { key: 'work', notes: left(work, limit) },
    ) ?? d.paragraph('nothing'),
  );
}

const LEVELS = ' ▁▂▃▄▅▆▇█';

/** One line a series: each sign is a slice, in eighths of the series' own most. */
export function curveSection(path: string, series: readonly results.NsysMemoryCurve[]): d.MaybePart {
  return d.section(
    d.t`${d.code(path)}: the driver's memory over time`,
    { key: 'curves', isOneOf: true, fields: { path } },
    ...series.flatMap((curve): d.MaybePart[] => {
      const most = Math.max(0, maxOf(curve.bytes));
      const drawn = curve.bytes.map((value) => LEVELS[most > 0 ? Math.ceil((8 * value) / most) : 0]).join('');
      const [first = 0, last = 0] = [curve.times_ns[0], curve.times_ns.at(-1)];
      return [
        d.paragraph(d.t`${processText(curve)} ${curve.kind}: most ${d.bytes(most)}, ${since(first)} to ${since(last)}`),
        { type: 'drawing', lines: () => [`  ${drawn}`] },
      ];
    }),
    series.length === 0 && d.paragraph('no memory event'),
  );
}
