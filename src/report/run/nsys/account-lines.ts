/** Whose the driver's memory of one process and device is. */

import { pushAll } from '../../../model/lists.js';
import type { DriverOwner, NsysDriverAccount } from '../../../model/results/nsys.js';
import { formatBytes, formatCount } from '../../../model/units.js';
import { left, printable, right, table, tableOf } from '../../table.js';
import { paragraph, shortText, UNKNOWN, wrapped } from '../../text-pieces.js';
import { DRIVER_OWNER_WORDS } from '../../words/fill.js';
import { more, type NsysLook, seconds } from './pieces.js';

export function accountLines(account: NsysDriverAccount, { limit }: NsysLook): string[] {
  const { pid, device, rank, moments, groups } = account;
  const who = `process ${pid ?? UNKNOWN}${rank === null ? '' : ` rank ${rank}`} device ${device ?? UNKNOWN}`;
  const lines = [`  the driver's memory of ${who}`];
  const owners = [...new Set(moments.flatMap(({ shares }) => shares.map(({ owner }) => owner)))];
  const at = (moment: (typeof moments)[number], owner: DriverOwner): string => {
    const bytes = moment.shares.find((share) => share.owner === owner)?.bytes;
    return formatBytes(bytes ?? 0);
  };
  const columns = [left(''), ...moments.map(({ moment, time_ns }) => right(`${moment} ${seconds(time_ns)}`))];
  const rows = [
    ...owners.map((owner) => [DRIVER_OWNER_WORDS[owner], ...moments.map((moment) => at(moment, owner))]),
    ['sum', ...moments.map(({ total_bytes }) => formatBytes(total_bytes))],
  ];
  lines.push(table(columns, rows, '    '));
  for (const { moment, ranges } of moments) {
    for (const { thread, tid, texts } of ranges.slice(0, 4)) {
      pushAll(
        lines,
        paragraph(
          `    at the ${moment}: ${shortText(texts.join(' › '), 150)} (thread ${thread === null ? (tid ?? UNKNOWN) : printable(thread)})`,
        ),
      );
    }
  }
  const outside = groups.filter(({ owner }) => owner !== 'torch');
  if (outside.length > 0) {
    lines.push('', `    outside PyTorch, by what made it`);
    const placeOf = ({ ranges, thread }: (typeof outside)[number]): string =>
      ranges.length > 0 ? ranges.slice(-2).join(' › ') : (thread ?? '');
    lines.push(
      tableOf(
        outside.slice(0, limit),
        [
          right('at peak', (group) => formatBytes(group.live_at_peak_bytes)),
          outside.some(({ live_at_oom_bytes }) => live_at_oom_bytes !== null) &&
            right('at oom', (group) => formatBytes(group.live_at_oom_bytes ?? 0)),
          right('allocated', (group) => formatBytes(group.allocated_bytes)),
          right('times', (group) => formatCount(group.allocations)),
          left('whose', (group) => DRIVER_OWNER_WORDS[group.owner]),
          outside.some(({ api }) => api !== null) && left('call', (group) => printable(group.api ?? '')),
          outside.some((group) => placeOf(group) !== '') &&
            left('range or thread', (group) => shortText(placeOf(group), 34)),
        ],
        '    ',
      ),
    );
    pushAll(lines, more(outside.length, limit));
  }
  pushAll(lines, basisLines(account));
  return lines;
}

function* basisLines({ snapshot, alignment, torch_unseen_bytes, vmm_calls }: NsysDriverAccount): Generator<string> {
  if (snapshot === null) {
    yield* wrapped("    no memory snapshot of this process: which of it is PyTorch's is only guessed", '    ');
  } else if (alignment !== null) {
    const clocks =
      alignment.by === 'nominal'
        ? `clocks taken at their word (${alignment.pairs} segments found once on both sides)`
        : `clocks laid side by side by ${alignment.pairs} segments${correctionText(alignment.correction_us ?? 0)}, ±${Math.round(alignment.error_us ?? 0)} µs`;
    yield* wrapped(`    segments of ${printable(snapshot)}; ${clocks}`);
  }
  if ((torch_unseen_bytes ?? 0) > 0) {
    yield* wrapped(
      `    ${formatBytes(torch_unseen_bytes ?? 0)} of PyTorch's reserve were taken before the capture, or page by page: no allocation of the driver is behind them`,
      '    ',
    );
  }
  if (vmm_calls > 0) {
    yield* wrapped(
      `    ${formatCount(vmm_calls)} calls mapped memory page by page (cuMemCreate, cuMemMap): such memory is in none of these sums`,
      '    ',
    );
  }
}

/** A report without its own clock differs by years; such a difference is not printed. */
const MAX_CORRECTION_US = 86_400e6;

function correctionText(correctionUs: number): string {
  return Math.abs(correctionUs) > MAX_CORRECTION_US ? '' : `, ${Math.round(correctionUs)} µs difference`;
}
