/** Device memory that PyTorch does not hold: by device, over time, by process. */

import type { OutsideDevice, OutsidePoint, OutsideProcess, OutsideResult } from '../../model/results/outside.js';
import * as d from '../document/document.js';
import { formatValue } from '../document/values.js';
import { factsOf, textMaker } from '../words/fill-pieces.js';

export interface OutsideLook {
  /** Rows of moments and of processes of each device; 0 for all the result has. */
  readonly limit: number;
}

/** More devices than this become a table, and only the one with the largest change is described in full. */
const MOST_IN_FULL = 2;
/** Below this coefficient of determination a straight line does not describe the series. */
const STRAIGHT_R2 = 0.8;

export function outsideDocument(result: OutsideResult, { limit }: OutsideLook): d.Document {
  const { schema, run, devices, clock, limits } = result;
  const wall = wallOf(clock);
  // A node is eight devices: first all of them at a glance.
  const isNode = devices.length > MOST_IN_FULL;
  const chosen = isNode && limit > 0 ? mostRemarkable(devices) : null;
  return d.document(
    schema,
    d.t`run ${d.as('run', d.code(run))}: ${devices.length === 0 ? 'no memory of a device outside PyTorch' : 'device memory outside PyTorch'}`,
    isNode && overview(devices),
    ...(chosen === null ? devices : [chosen.device]).map((device) => deviceSection(device, limit, wall)),
    chosen !== null && d.note(`shown because ${chosen.why}; --rank N shows another, --limit 0 all of them`),
    d.section(
      'Limits',
      {},
      (clock.shift_us ?? 0) !== 0 && d.note(d.t`clocks: ${clock.origin}`, { key: 'clock' }),
      d.items(limits, { key: 'limits' }),
    ),
  );
}

const textOf = textMaker('outside', 'device');

const gpuName = ({ device, gpu }: OutsideDevice): d.Cell => device ?? (gpu === null ? null : d.code(gpu));

function overview(devices: readonly OutsideDevice[]): d.MaybePart {
  const foreignProcesses = ({ processes }: OutsideDevice): number | null =>
    processes.every(({ is_own: isOwn }) => isOwn === null)
      ? null
      : processes.filter(({ is_own: isOwn }) => isOwn === false).length;
  const has = (of: (device: OutsideDevice) => unknown): boolean => devices.some((device) => of(device) !== null);
  return d.table(
    devices,
    [
      ...d.fieldsOf(devices, 'rank'),
      d.column('device', gpuName, { align: 'right' }),
      has(({ host }) => host) && d.names('host', ({ host }) => host),
      d.column('used_at_last_bytes', ({ monitor }) => monitor?.last_bytes ?? null),
      d.column('largest_sample_bytes', ({ monitor }) => monitor?.max_bytes ?? null),
      ...d.fieldsOf(devices, 'peak_reserved_bytes'),
      d.column('first_bytes', ({ outside }) => outside?.first_bytes ?? null, { title: 'outside, first' }),
      d.column('last_bytes', ({ outside }) => outside?.last_bytes ?? null, { title: 'last' }),
      has(foreignProcesses) && d.counts('others', foreignProcesses),
    ],
    { key: 'overview' },
  );
}

/** The device whose memory outside PyTorch changed most; the fullest one where PyTorch's share is unknown. */
function mostRemarkable(devices: readonly OutsideDevice[]): { readonly device: OutsideDevice; readonly why: string } {
  const compared = devices.filter(({ outside }) => outside !== null);
  const change = ({ outside, monitor }: OutsideDevice): number =>
    outside === null ? (monitor?.max_bytes ?? 0) : Math.abs(outside.last_bytes - outside.first_bytes);
  const device = (compared.length > 0 ? compared : devices).reduce((most, one) =>
    change(one) > change(most) ? one : most,
  );
  return { device, why: compared.length > 0 ? 'its memory outside PyTorch changed most' : 'it was the fullest' };
}

function deviceSection(device: OutsideDevice, limit: number, wall: Wall): d.MaybePart {
  const { rank, host, gpu, outside, total_bytes: total, missed_bytes: missed, points } = device;
  const files = [...new Set(points.flatMap(({ file }) => file ?? []))];
  return d.section(
    d.joined(
      [
        rank !== null && d.t`rank ${rank}`,
        device.device !== null ? d.t`device ${device.device}` : gpu !== null && d.code(gpu),
        host !== null && d.t`host ${d.code(host)}`,
        total !== null && d.t`${d.as('total_bytes', d.bytes(total))} in all`,
      ],
      ' · ',
    ),
    { key: 'devices', isOneOf: true, fields: { rank, device: device.device, gpu, host } },
    d.facts([
      ...monitorFacts(device, wall),
      outside !== null &&
        d.fact('outside', textOf('outside', outside, { moments: device.moments, growth: growth(device) || null })),
      missed !== null && d.fact('missed', textOf('missed', device)),
      files.length > 0 && d.fact('sources', d.joined(files.map(d.code), ', ')),
    ]),
    pointTable(points, limit, wall),
    processTable(device.processes, limit, wall),
  );
}

function monitorFacts({ monitor, joined_by: joinedBy }: OutsideDevice, wall: Wall) {
  if (monitor === null) return [];
  const { clock, first_us: first, last_us: last, max_us: most } = monitor;
  const at = (time: number | null): d.Text | null =>
    time === null ? null : { value: wall.time(time, clock), unit: 'clock' };
  const times = { from: at(first), to: at(last), most: at(most), zone: wall.zone(clock) };
  return factsOf('outside', 'monitor', monitor, times, { joined_by: joinedBy });
}

function growth({ outside }: OutsideDevice): d.Text {
  const { growth_bytes: change = null, growth_us, growth_r2: r2 = null } = outside ?? {};
  if (change === null || growth_us == null || r2 === null || r2 < STRAIGHT_R2) return '';
  return textOf('growth', { growth_us, r2, down: change < 0, size_bytes: Math.abs(change) });
}

function pointTable(points: readonly OutsidePoint[], limit: number, wall: Wall): d.MaybePart {
  const shown = choose(points, limit);
  const day = dayOf(shown.map(({ time_us: time }) => time));
  const zone = wall.zone(shown[0]?.clock ?? '');
  const hidden = points.length - shown.length;
  return d.table(
    shown,
    [
      d.column('time_us', (point) => point.time_us, {
        title: day === null ? `time${zone}` : 'time',
        unit: day === null ? 'clock' : 'time_of_day',
        align: 'left',
      }),
      ...d.fieldsOf(shown, ['iteration', 'step'], 'used_bytes', 'reserved_bytes', 'outside_bytes'),
      ...d.fieldsOf(shown, 'process_bytes', 'others_bytes'),
      d.column('apart_us', (point) => point.apart_us ?? d.shownAs(null, 'same line'), { title: 'gap' }),
      d.column('source', ({ kind, line }) => (line === null ? kind : d.t`${kind} ${line}`)),
    ],
    {
      key: 'points',
      caption: day === null ? undefined : `${day}${zone}`,
      notes: [hidden > 0 && d.t`${d.counted(hidden, 'more moment')} (--limit 0 shows all)`],
    },
  );
}

function processTable(processes: readonly OutsideProcess[], limit: number, wall: Wall): d.MaybePart {
  const shown = limit === 0 ? processes : processes.slice(0, limit);
  const times = (process: OutsideProcess) =>
    [process.first_us, process.last_us].map((time) => wall.time(time, process.clock));
  const day = dayOf(shown.flatMap(times));
  const look = { unit: day === null ? 'clock' : 'time_of_day', align: 'left' } as const;
  const hidden = processes.length - shown.length;
  return d.table(
    shown,
    [
      d.column('pid', ({ pid }) => pid, { title: 'process', unit: 'number' }),
      shown.some(({ process }) => process !== null) && d.names('name', ({ process }) => process),
      d.column('of', ({ is_own: isOwn }) => (isOwn === null ? null : isOwn ? 'this rank' : 'another')),
      ...d.fieldsOf(shown, ['max_bytes', 'largest'], 'last_bytes', 'samples'),
      d.column('first_us', (process) => times(process)[0]!, { title: 'seen from', ...look }),
      d.column('last_us', (process) => times(process)[1]!, { title: 'to', ...look }),
    ],
    {
      key: 'processes',
      notes: [hidden > 0 && d.t`${d.counted(hidden, 'more process', 'more processes')} (--limit 0 shows all)`],
    },
  );
}

/** Evenly over time, with the first, the last and the extremes: a curve, not a beginning. */
function choose(points: readonly OutsidePoint[], limit: number): readonly OutsidePoint[] {
  if (limit === 0 || points.length <= limit) return points;
  const kept = new Set([0, points.length - 1]);
  const by = (better: (a: number, b: number) => boolean): number =>
    points.reduce((best, point, i) => (better(point.outside_bytes, points[best]!.outside_bytes) ? i : best), 0);
  for (const extreme of [by((a, b) => a > b), by((a, b) => a < b)]) if (kept.size < limit) kept.add(extreme);
  for (let i = 1; kept.size < limit && i < limit; i += 1) kept.add(Math.round((i * (points.length - 1)) / limit));
  return [...kept].sort((a, b) => a - b).map((index) => points[index]!);
}

/** The one day of all times that are known; null where there are several, or none. */
function dayOf(times: readonly (number | null)[]): string | null {
  const days = new Set(times.flatMap((time) => (time === null ? [] : [formatValue(time, 'clock').slice(0, 10)])));
  return days.size === 1 ? [...days][0]! : null;
}

/** Times of all clocks on one: UTC, where the shift is known. */
interface Wall {
  time(us: number | null, own: string): number | null;
  zone(own: string): string;
}

function wallOf({ shift_us: shift }: OutsideResult['clock']): Wall {
  return {
    time: (us, own) => (us === null || own !== 'printed' ? us : us + (shift ?? 0)),
    zone: (own) => (own === 'utc' || (own === 'printed' && shift !== null) ? ' UTC' : ''),
  };
}
