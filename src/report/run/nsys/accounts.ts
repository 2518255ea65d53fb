/** Whose the driver's memory of one process and device is. */

import type { NsysAllocationGroup, NsysDriverAccount, NsysMomentShares } from '../../../model/results/nsys.js';
import * as d from '../../document/document.js';
import { excerpt, formatValue } from '../../document/values.js';
import { driverOwner } from '../../words/fill.js';
import { allTexts } from '../../words/fill-pieces.js';
import { left, limited, type NsysLook, processText } from './pieces.js';

/** Threads of one moment. */
const MOST_THREADS = 4;

export function accountSection(account: NsysDriverAccount, { limit }: NsysLook): d.MaybePart {
  const { moments, pid, device, rank } = account;
  const outside = account.groups.filter(({ owner }) => owner !== 'torch');
  return d.section(
    d.t`The driver's memory of ${processText(account)}`,
    { key: 'accounts', isOneOf: true, fields: { pid, device, rank } },
    ownerTable(moments),
    d.items(
      moments.flatMap(({ moment, ranges }) =>
        ranges
          .slice(0, MOST_THREADS)
          .map(
            ({ thread, tid, texts }) =>
              d.t`at the ${moment}: ${d.code(excerpt(texts.join(' › '), 300))} (thread ${thread ?? String(tid ?? 'unknown')})`,
          ),
      ),
      { key: 'ranges' },
    ),
    d.section('Outside PyTorch, by what made it', {}, groupTable(outside, limit)),
    d.items(basisTexts(account), { key: 'basis' }),
  );
}

function ownerTable(moments: readonly NsysMomentShares[]): d.MaybePart {
  const owners = [...new Set(moments.flatMap(({ shares }) => shares.map(({ owner }) => owner)))];
  const sizeOf = ({ shares, total_bytes: total }: NsysMomentShares, owner: (typeof owners)[number] | null): number =>
    owner === null ? total : (shares.find((share) => share.owner === owner)?.bytes ?? 0);
  return d.table(
    [...owners, null],
    [
      d.column('owner', (owner) => (owner === null ? 'sum' : driverOwner(owner))),
      ...moments.map((one) =>
        d.column<(typeof owners)[number] | null>(
          `${one.moment.replace(' ', '_')}_bytes`,
          (owner) => sizeOf(one, owner),
          {
            title: `${one.moment} ${formatValue(one.time_ns, 'since_ns')}`,
          },
        ),
      ),
    ],
    { key: 'owners', kind: (owner) => (owner === null ? 'sum' : undefined) },
  );
}

function groupTable(groups: readonly NsysAllocationGroup[], limit: number): d.MaybePart {
  const placeOf = ({ ranges, thread }: NsysAllocationGroup): string =>
    ranges.length > 0 ? ranges.slice(-2).join(' › ') : (thread ?? '');
  return d.table(
    limited(groups, limit),
    [
      d.column('live_at_peak_bytes', (group) => group.live_at_peak_bytes, { title: 'at peak' }),
      groups.some(({ live_at_oom_bytes: size }) => size !== null) &&
        d.column('live_at_oom_bytes', (group) => group.live_at_oom_bytes ?? 0, { title: 'at oom' }),
      ...d.fieldsOf(groups, 'allocated_bytes', ['allocations', 'times']),
      d.column('owner', (group) => driverOwner(group.owner)),
      groups.some(({ api }) => api !== null) && d.names('call', ({ api }) => api ?? ''),
      groups.some((group) => placeOf(group) !== '') &&
        d.names('place', (group) => excerpt(placeOf(group)), { title: 'range or thread' }),
    ],
    { key: 'groups', notes: left(groups, limit) },
  );
}

/** A report without its own clock differs by years; such a difference is not printed. */
const MAX_CORRECTION_US = 86_400e6;

function basisTexts(account: NsysDriverAccount): d.Text[] {
  const { snapshot, alignment } = account;
  const correction = alignment?.correction_us ?? 0;
  return allTexts('nsys', 'basis', account, {
    ...{ alone: snapshot === null, by: alignment?.by, pairs: alignment?.pairs },
    error: Math.round(alignment?.error_us ?? 0),
    shift: Math.abs(correction) <= MAX_CORRECTION_US && Math.round(correction),
  });
}
