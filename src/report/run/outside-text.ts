/** The screen of `mbforensics log outside`. */
import { pushAll } from '../../model/lists.js';
import type { OutsideDevice, OutsidePoint, OutsideProcess, OutsideResult } from '../../model/results/outside.js';
import { formatBytes, formatCount } from '../../model/units.js';
import { keepEnd, left, printable, right, tableOf } from '../table.js';
import { bytesOr, clock, countOr, labelled, labelledList, rankName, UNKNOWN } from '../text-pieces.js';

export interface OutsideLook {
  /** Rows of moments and of processes of each device; 0 for all the result has. */
  readonly limit: number;
}

/** More devices than this become a table, and only the one with the largest change is described in full. */
const MOST_IN_FULL = 2;
/** Below this coefficient of determination a straight line does not describe the series. */
const STRAIGHT_R2 = 0.8;
const SECOND_US = 1_000_000;

export function outsideText(result: OutsideResult, look: OutsideLook): string {
  const blocks: string[][] = [];
  const wall = wallOf(result.clock);
  // A node is eight devices: first all of them at a glance.
  const isNode = result.devices.length > MOST_IN_FULL;
  if (isNode) blocks.push([overview(result.devices)]);
  const chosen = isNode && look.limit > 0 ? mostRemarkable(result.devices) : null;
  for (const device of chosen === null ? result.devices : [chosen.device]) blocks.push(deviceLines(device, look, wall));
  if (chosen !== null) blocks.push([`  shown because ${chosen.why}; --rank N shows another, --limit 0 all of them`]);
  if (result.devices.length === 0) blocks.push([`run ${printable(result.run)}: no memory of a device outside PyTorch`]);
  const notes = [
    ...(result.clock.shift_us === null || result.clock.shift_us === 0 ? [] : labelled('clocks', result.clock.origin)),
    ...labelledList('limits', result.limits.map(printable)),
  ];
  if (notes.length > 0) blocks.push(notes);
  return `${blocks.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

function overview(devices: readonly OutsideDevice[]): string {
  const foreignProcesses = ({ processes }: OutsideDevice): string =>
    processes.every(({ is_own: isOwn }) => isOwn === null)
      ? UNKNOWN
      : countOr(processes.filter(({ is_own: isOwn }) => isOwn === false).length);
  return tableOf(devices, [
    right('rank', ({ rank }) => rank ?? UNKNOWN),
    right('device', ({ device, gpu }) => device ?? (gpu === null ? UNKNOWN : keepEnd(gpu, 12))),
    left('host', ({ host }) => (host === null ? UNKNOWN : keepEnd(printable(host), 16))),
    right('used at last', ({ monitor }) => bytesOr(monitor?.last_bytes)),
    right('largest sample', ({ monitor }) => bytesOr(monitor?.max_bytes)),
    right('peak reserved', ({ peak_reserved_bytes: peak }) => bytesOr(peak)),
    right('outside, first', ({ outside }) => bytesOr(outside?.first_bytes)),
    right('last', ({ outside }) => bytesOr(outside?.last_bytes)),
    right('others', foreignProcesses),
  ]);
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

function deviceLines(device: OutsideDevice, look: OutsideLook, wall: Wall): string[] {
  const { monitor, outside } = device;
  const where = [
    rankName(device.rank),
    ...(device.device === null ? (device.gpu === null ? [] : [printable(device.gpu)]) : [`device ${device.device}`]),
    ...(device.host === null ? [] : [`host ${printable(device.host)}`]),
    ...(device.total_bytes === null ? [] : [`${formatBytes(device.total_bytes)} in all`]),
  ];
  const lines = [where.join(' · ')];
  if (monitor !== null) {
    const at = (us: number | null): string => clock(wall.time(us, monitor.clock));
    const every = monitor.interval_us === null ? '' : `, every ${seconds(monitor.interval_us)}`;
    const span =
      monitor.first_us === null ? '' : `, ${at(monitor.first_us)} to ${at(monitor.last_us)}${wall.zone(monitor.clock)}`;
    pushAll(lines, [
      ...labelled(
        'samples',
        `${countOr(monitor.samples)} of ${printable(monitor.file)} (${monitor.format})${every}${span}`,
      ),
      ...labelled(
        'used',
        `${formatBytes(monitor.first_bytes)} at first, ${formatBytes(monitor.last_bytes)} at last, ${formatBytes(monitor.max_bytes)} in the largest sample${monitor.max_us === null ? '' : ` (${at(monitor.max_us)})`}`,
      ),
    ]);
  }
  if (device.joined_by !== null && monitor !== null) pushAll(lines, labelled('joined by', printable(device.joined_by)));
  if (outside !== null) {
    pushAll(
      lines,
      labelled(
        'outside',
        `${formatBytes(outside.median_bytes)} outside PyTorch (median of ${formatCount(device.moments)} moments; ${formatBytes(outside.min_bytes)} to ${formatBytes(outside.max_bytes)})${growth(device)}`,
      ),
    );
  }
  if (device.missed_bytes !== null)
    pushAll(
      lines,
      labelled(
        'missed',
        `PyTorch's own counters peaked at ${bytesOr(device.peak_reserved_bytes)} reserved: the largest sample is at least ${formatBytes(device.missed_bytes)} short of what was in use then`,
      ),
    );
  const files = [...new Set(device.points.flatMap(({ file }) => file ?? []))];
  if (files.length > 0) pushAll(lines, labelled('sources', files.map(printable).join(', ')));
  if (device.points.length > 0) lines.push(pointTable(device, look.limit, wall));
  if (device.processes.length > 0) lines.push(processTable(device.processes, look.limit, wall));
  return lines;
}

function growth({ outside }: OutsideDevice): string {
  const { growth_bytes: bytes = null, growth_us: span = null, growth_r2: r2 = null } = outside ?? {};
  if (bytes === null || span === null || r2 === null || r2 < STRAIGHT_R2) return '';
  return `; it ${bytes < 0 ? 'shrinks' : 'grows'} by ${formatBytes(Math.abs(bytes))} in ${seconds(span)} (r² ${r2.toFixed(2)})`;
}

function pointTable({ points }: OutsideDevice, limit: number, wall: Wall): string {
  const shown = choose(points, limit);
  const day = dayOf(shown.map(({ time_us: time }) => time));
  const hasProcess = shown.some((point) => point.process_bytes !== null);
  const hasOthers = shown.some((point) => point.others_bytes !== null);
  const body = tableOf(shown, [
    {
      ...left<OutsidePoint>(`${day ?? 'time'}${wall.zone(shown[0]?.clock ?? '')}`, (point) =>
        timeIn(day, point.time_us),
      ),
      isWhole: true,
    },
    right('step', (point) => countOr(point.iteration)),
    right('used', (point) => formatBytes(point.used_bytes)),
    right('reserved', (point) => formatBytes(point.reserved_bytes)),
    right('outside', (point) => formatBytes(point.outside_bytes)),
    hasProcess && right('this process', (point) => bytesOr(point.process_bytes)),
    hasOthers && right('others', (point) => bytesOr(point.others_bytes)),
    right('gap', (point) => (point.apart_us === null ? 'same line' : seconds(point.apart_us))),
    { ...left('source', place), isWhole: true },
  ]);
  const hidden = points.length - shown.length;
  return hidden === 0 ? body : `${body}\n  and ${formatCount(hidden)} more ${hidden === 1 ? 'moment' : 'moments'}`;
}

function processTable(processes: readonly OutsideProcess[], limit: number, wall: Wall): string {
  const shown = limit === 0 ? processes : processes.slice(0, limit);
  const seen = shown.map(
    ({ clock: own, first_us: first, last_us: last }) => [wall.time(first, own), wall.time(last, own)] as const,
  );
  const day = dayOf(seen.flat());
  const body = tableOf(shown, [
    left(
      'process',
      (process) =>
        `${process.pid ?? UNKNOWN}${process.process === null ? '' : ` ${keepEnd(printable(process.process), 24)}`}`,
    ),
    left('whose', (process) => (process.is_own === null ? UNKNOWN : process.is_own ? 'this rank' : 'another')),
    right('largest', (process) => formatBytes(process.max_bytes)),
    right('last', (process) => formatBytes(process.last_bytes)),
    right('samples', (process) => formatCount(process.samples)),
    left('seen from', (_, i) => timeIn(day, seen[i]![0])),
    left('to', (_, i) => timeIn(day, seen[i]![1])),
  ]);
  const hidden = processes.length - shown.length;
  return hidden === 0 ? body : `${body}\n  and ${formatCount(hidden)} more ${hidden === 1 ? 'process' : 'processes'}`;
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

/** The file is named above the table. */
function place({ kind, line }: OutsidePoint): string {
  return line === null ? kind : `${kind} ${formatCount(line)}`;
}

/** The one day of all times that are known; null where there are several, or none. */
function dayOf(times: readonly (number | null)[]): string | null {
  const days = new Set(times.flatMap((time) => (time === null ? [] : [clock(time).slice(0, 10)])));
  return days.size === 1 ? [...days][0]! : null;
}

function timeIn(day: string | null, time: number | null): string {
  const text = clock(time);
  return day === null || time === null ? text : text.slice(11);
}

function seconds(us: number): string {
  const value = us / SECOND_US;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} s`;
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
