/** What devices did: steps, copies, kernels, work inside ranges, and memory over time. */
import { pushAll } from '../../../model/lists.js';
import type {
  NsysBudget,
  NsysCopyGroup,
  NsysMemoryCurve,
  NsysRangeWork,
  NsysReport,
} from '../../../model/results/nsys.js';
import { formatBytes, formatCount } from '../../../model/units.js';
import { left, printable, right, table, tableOf } from '../../table.js';
import { labelled, shortText, UNKNOWN } from '../../text-pieces.js';
import { duration, more, type NsysLook, seconds } from './pieces.js';
import { stepBasisLines } from './step-lines.js';

export function stepLines(report: NsysReport): string[] {
  const { steps_by, budgets } = report;
  const lines = stepBasisLines(report);
  const rows = (budgets ?? []).map(({ pid, device, per_step }) => [pid, device, ...budgetCells(per_step)]);
  if (rows.length > 0) {
    if (steps_by === null) pushAll(lines, labelled('', 'times of devices are from their first to their last work'));
    const title = steps_by === null ? 'capture' : 'step';
    lines.push(
      table(
        [
          right('process'),
          right('device'),
          right(title),
          right('compute'),
          right('communication alone'),
          right('copy alone'),
          right('idle'),
        ],
        rows,
        '  ',
      ),
    );
  }
  return lines;
}

function budgetCells({
  window_ns,
  compute_ns,
  exposed_communication_ns,
  exposed_copy_ns,
  idle_ns,
}: NsysBudget): string[] {
  const share = (ns: number): string =>
    `${duration(ns)} ${window_ns > 0 ? `${((100 * ns) / window_ns).toFixed(0)} %` : ''}`.trim();
  return [
    duration(window_ns),
    share(compute_ns),
    share(exposed_communication_ns),
    share(exposed_copy_ns),
    share(idle_ns),
  ];
}

/** Empty where the report does not contain the kinds of memory, as of managed memory. */
function memoryOf({ operation, source_kind, target_kind }: NsysCopyGroup): string {
  const [from, to] = [source_kind, target_kind].map((kind) => (kind === 'unknown' ? null : kind));
  if (operation === 'memset') return to ?? '';
  return from === null && to === null ? '' : `${from ?? UNKNOWN} → ${to ?? UNKNOWN}`;
}

export function copyLines({ copy_groups }: NsysReport, { limit }: NsysLook): string[] {
  const groups = copy_groups ?? [];
  return [
    tableOf(groups.slice(0, limit), [
      left('copies', ({ operation, direction }) =>
        operation === 'memset' ? 'set' : (direction ?? UNKNOWN).replaceAll('_', ' '),
      ),
      groups.some((group) => memoryOf(group) !== '') && left('memory', memoryOf),
      right('times', ({ count }) => formatCount(count)),
      right('bytes', ({ bytes }) => formatBytes(bytes)),
      right('time', ({ busy_ns }) => duration(busy_ns)),
      right('rate', ({ bytes, busy_ns }) =>
        busy_ns > 0 ? `${((bytes / busy_ns) * (1e9 / 2 ** 30)).toFixed(1)} GiB/s` : '',
      ),
    ]),
    ...more(groups.length, limit),
  ];
}

export function kernelLines({ kernel_groups }: NsysReport, { limit }: NsysLook): string[] {
  const groups = kernel_groups ?? [];
  return [
    tableOf(groups.slice(0, limit), [
      left('kernel', ({ name }) => shortText(name, 60)),
      right('times', ({ count }) => formatCount(count)),
      right('sum', ({ total_ns }) => duration(total_ns)),
      right('median', ({ median_ns }) => duration(median_ns)),
    ]),
    ...more(groups.length, limit),
  ];
}

export function rangeLines(path: string, text: string, work: readonly NsysRangeWork[], { limit }: NsysLook): string[] {
  const lines = [`${printable(path)}: launched inside ranges with "${printable(text)}"`];
  if (work.length === 0) return [...lines, '  nothing'];
  return [
    ...lines,
    tableOf(work.slice(0, limit), [
      left('work', ({ work: kind }) => kind),
      left('name', ({ work: kind, name }) => shortText(name.replaceAll('_', kind === 'kernel' ? '_' : ' '), 60)),
      right('times', ({ count }) => formatCount(count)),
      right('sum', ({ total_ns }) => duration(total_ns)),
      work.some(({ bytes }) => bytes !== null) &&
        right('bytes', ({ bytes }) => (bytes === null ? '' : formatBytes(bytes))),
    ]),
    ...more(work.length, limit),
  ];
}

const LEVELS = ' ▁▂▃▄▅▆▇█';

/** One line a series: each sign is a slice, in eighths of the series' own most. */
export function curveLines(path: string, series: readonly NsysMemoryCurve[]): string[] {
  const lines = [`${printable(path)}: the driver's memory over time`];
  if (series.length === 0) return [...lines, '  no memory event'];
  for (const { pid, device, kind, times_ns, bytes } of series) {
    const most = bytes.reduce((all, value) => Math.max(all, value), 0);
    const drawn = bytes.map((value) => LEVELS[most > 0 ? Math.ceil((8 * value) / most) : 0]).join('');
    const span = `${seconds(times_ns[0] ?? 0)} to ${seconds(times_ns.at(-1) ?? 0)}`;
    lines.push(
      `  process ${pid ?? UNKNOWN} device ${device ?? UNKNOWN} ${kind}: most ${formatBytes(most)}, ${span}`,
      `    ${drawn}`,
    );
  }
  return lines;
}
