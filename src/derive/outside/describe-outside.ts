/**
 * `mbforensics log outside`: what a device holds according to the driver, less what PyTorch reports it holds, over time
 * and by process.
 */
import { threshold } from '../../knowledge/thresholds/threshold.js';
import { maxOf } from '../../model/lists.js';
import { pick } from '../../model/pick.js';
import type { OutsideDevice, OutsideProcess, OutsideResult } from '../../model/results/outside.js';
import { sentencesOf, type Text, type Unworded } from '../../model/statement.js';
import type { QueryRow } from '../../store/query-catalog.js';
import type { Store } from '../../store/store.js';
import { readEnvironment } from '../run/env.js';
import { readLogFacts } from '../run/log-facts.js';
import { clockShift, type FoundShift } from './clock-shift.js';
import { deviceKey, hostOfMonitor, isOn, matchDevices, type RankOfDevice } from './match-devices.js';

const sentence = sentencesOf('outside');

type Words = 'joined_by' | 'origin' | 'limits';
type Outside = Unworded<OutsideResult, Words>;
type Device = Unworded<OutsideDevice, Words>;

const MISSED_LEAST_BYTES = threshold('outside.missed_least_bytes');

export interface OutsideQuestion {
  readonly rank?: number | undefined;
  /** UTC less the printed clock, in microseconds, where the user knows it. */
  readonly shiftUs?: number | undefined;
}

type MonitorRow = QueryRow<'outside.monitors'>;

/** Fields of the result, after the file. */
const MONITOR = [
  ...(['format', 'clock', 'samples', 'interval_us', 'first_us', 'last_us'] as const),
  ...(['first_bytes', 'last_bytes', 'max_bytes', 'max_us', 'max_line'] as const),
] as const;

const POINT = [
  ...(['time_us', 'clock', 'iteration', 'kind', 'reserved_bytes', 'used_bytes', 'total_bytes'] as const),
  ...(['process_bytes', 'others_bytes', 'apart_us', 'line', 'outside_bytes', 'file'] as const),
] as const;
const STATISTICS = [
  ...(['first_bytes', 'last_bytes', 'min_bytes', 'median_bytes', 'max_bytes'] as const),
  ...(['growth_bytes', 'growth_us', 'growth_r2'] as const),
] as const;
/** Most points of one device in a result: more than any screen is wide. */
const MOST_POINTS = 400;

export async function describeOutside(
  store: Store,
  runId: number,
  run: string,
  question: OutsideQuestion = {},
): Promise<Outside> {
  const id = { run_id: runId };
  const places = await store.all('outside.rank_places', id);
  const monitors = bestMonitors(await store.all('outside.monitors', id), places);
  const processes = await store.all('outside.processes', id);
  const readings = await store.all('outside.readings', id);
  const traces = await store.all('outside.traces', id);
  const peaks = await store.all('outside.peaks', id);
  const { facts } = await readLogFacts(store, runId);
  const { variables } = await readEnvironment(store, runId);
  const visible = variables.find(({ key }) => key === 'CUDA_VISIBLE_DEVICES');
  const known = new Set<number>();
  for (const { rank } of [...readings, ...traces, ...peaks]) if (rank !== null) known.add(rank);
  // A run of one process may omit its rank.
  if (known.size === 0 && readings.length + traces.length + peaks.length > 0 && (facts.world_size ?? 1) === 1)
    known.add(0);
  const ranks = [...known].sort((a, b) => a - b);
  const joined = matchDevices({
    monitors,
    processes,
    places,
    ranks,
    worldSize: facts.world_size,
    visibleDevices: visible !== undefined && visible.values.length <= 1 ? visible.value : null,
  });
  const shift = await readShift(store, runId, monitors, readings, traces, question);
  const context: Context = { store, runId, shift, processes, readings, traces, peaks, soleRank: ranks.length === 1 };
  const devices: Device[] = [];
  const seen = new Set<number | null>();
  for (const monitor of monitors) {
    const owner = withProcess(context, monitor, joined.get(deviceKey(monitor)));
    if (question.rank !== undefined && owner?.rank !== question.rank) continue;
    if (owner !== undefined) seen.add(owner.rank);
    devices.push(await describeDevice(context, monitor, owner));
  }
  for (const { rank, complete } of readings) {
    const number = rank ?? (ranks.length === 1 ? ranks[0]! : null);
    if (complete === 0 || seen.has(number) || (question.rank !== undefined && number !== question.rank)) continue;
    seen.add(number);
    devices.push(
      await describeDevice(
        context,
        null,
        number === null ? undefined : { rank: number, joinedBy: sentence('own_lines'), pid: null },
      ),
    );
  }
  return {
    schema: 'mbforensics/outside@1',
    run,
    clock: shift,
    devices,
    limits: limitsOf(context, monitors, devices, ranks, seen, question),
  };
}

interface Context {
  readonly store: Store;
  readonly runId: number;
  readonly shift: FoundShift;
  readonly processes: readonly QueryRow<'outside.processes'>[];
  readonly readings: readonly QueryRow<'outside.readings'>[];
  readonly traces: readonly QueryRow<'outside.traces'>[];
  readonly peaks: readonly QueryRow<'outside.peaks'>[];
  /** Rows without a rank belong to the only rank. */
  readonly soleRank: boolean;
}

/**
 * The rank's own process among those listed on its device, if its pid is unknown: the only one that ever held as much
 * as PyTorch printed as reserved. A single listed process need not be the rank's: inside a container a monitor shows
 * other processes and not its own, or the reverse.
 */
function withProcess(context: Context, monitor: MonitorRow, owner: RankOfDevice | undefined): RankOfDevice | undefined {
  if (owner === undefined || owner.pid !== null) return owner;
  const { processes, readings, peaks } = context;
  const isOwn = ownRows(context, owner);
  const reservedPeaks = readings.filter(isOwn).map(({ max_reserved_bytes: bytes }) => bytes);
  const held = reservedPeaks.length > 0 ? maxOf(reservedPeaks) : (peaks.find(isOwn)?.peak_reserved_bytes ?? null);
  if (held === null || held === 0) return owner;
  const listed = processes.filter((process) => isOn(process, monitor) && process.pid !== null);
  const able = listed.filter((process) => process.max_bytes >= held);
  const [only] = able;
  if (only === undefined || able.length > 1) return owner;
  const joinedBy =
    listed.length === 1 ? owner.joinedBy : sentence('only_process', { source: owner.joinedBy, pid: only.pid });
  return { ...owner, pid: only.pid, joinedBy };
}

function ownRows({ soleRank }: Context, owner: RankOfDevice | undefined) {
  return ({ rank }: { readonly rank: number | null }): boolean =>
    owner !== undefined && (rank === owner.rank || (rank === null && soleRank));
}

/** The file with the most samples of each device: two monitors of one device have the same content. */
function bestMonitors(rows: readonly MonitorRow[], places: readonly QueryRow<'outside.rank_places'>[]): MonitorRow[] {
  const hosts = [...new Set([...places, ...rows].flatMap(({ host }) => host ?? []))];
  const best = new Map<string, MonitorRow>();
  for (const row of rows) {
    // nvidia-smi does not print a host name, W&B and DCGM do.
    const key = deviceKey({ ...row, host: hostOfMonitor(row, hosts) });
    const before = best.get(key);
    if (
      before === undefined ||
      row.timed > before.timed ||
      (row.timed === before.timed && row.samples > before.samples)
    )
      best.set(key, row);
  }
  return [...best.values()];
}

async function readShift(
  store: Store,
  runId: number,
  monitors: readonly MonitorRow[],
  readings: readonly QueryRow<'outside.readings'>[],
  traces: readonly QueryRow<'outside.traces'>[],
  { shiftUs }: OutsideQuestion,
): Promise<FoundShift> {
  const clocks = new Set<string>();
  if (monitors.length > 0) {
    for (const { clock, timed } of monitors) if (timed > 0) clocks.add(clock);
    for (const row of readings) for (const clock of row.clocks ?? []) clocks.add(clock);
    if (traces.length > 0) clocks.add('utc');
  }
  const pairs =
    clocks.size > 1 && shiftUs === undefined ? await store.all('outside.clock_pairs', { run_id: runId }) : [];
  return clockShift({ pairs, clocks, given: shiftUs });
}

async function describeDevice(
  context: Context,
  monitor: MonitorRow | null,
  owner: RankOfDevice | undefined,
): Promise<Device> {
  const { store, runId, shift, peaks, processes, soleRank } = context;
  const isOwn = ownRows(context, owner);
  const onDevice = monitor === null ? [] : processes.filter((process) => isOn(process, monitor));
  const points =
    owner === undefined && monitor !== null
      ? []
      : await store.all('outside.points', {
          run_id: runId,
          rank: owner?.rank ?? null,
          is_sole: owner !== undefined && soleRank,
          ...(monitor === null ? {} : pick(monitor, ['source_id', 'host', 'device', 'gpu', 'interval_us'])),
          pid: owner?.pid ?? null,
          shift_us: shift.shift_us,
          most: MOST_POINTS,
        });
  const [first] = points;
  const ownPeaks = [...peaks, ...context.traces].filter(isOwn);
  const peak = ownPeaks.length === 0 ? null : maxOf(ownPeaks.map(({ peak_reserved_bytes: bytes }) => bytes));
  return {
    host: monitor?.host ?? null,
    device: monitor?.device ?? null,
    gpu: monitor?.gpu ?? null,
    rank: owner?.rank ?? null,
    joined_by: owner?.joinedBy ?? null,
    total_bytes: monitor?.total_bytes ?? first?.device_bytes ?? null,
    monitor: monitor === null ? null : { file: monitor.display_path, ...pick(monitor, MONITOR) },
    peak_reserved_bytes: peak,
    missed_bytes: missedBytes(monitor, peak, first?.min_bytes ?? 0),
    outside: first === undefined ? null : pick(first, STATISTICS),
    moments: first?.moments ?? 0,
    points: points.map((row) => pick(row, POINT)),
    processes: onDevice.map(
      (row): OutsideProcess => ({
        pid: row.pid,
        process: row.process,
        is_own: owner?.pid == null ? null : row.pid === owner.pid,
        ...pick(row, ['samples', 'clock', 'first_us', 'last_us', 'max_bytes', 'last_bytes']),
        file: row.display_path,
        line: row.line,
      }),
    ),
  };
}

function missedBytes(monitor: MonitorRow | null, peak: number | null, leastOutside: number): number | null {
  if (monitor === null || peak === null) return null;
  const missed = peak + Math.max(0, leastOutside) - monitor.max_bytes;
  return missed > MISSED_LEAST_BYTES ? missed : null;
}

function limitsOf(
  { shift, readings, traces }: Context,
  monitors: readonly MonitorRow[],
  devices: readonly Device[],
  ranks: readonly number[],
  seen: ReadonlySet<number | null>,
  { rank }: OutsideQuestion,
): Text[] {
  const limits: Text[] = [];
  if (shift.is_needed && shift.shift_us === null) limits.push(shift.origin);
  if (monitors.length === 0) {
    limits.push(sentence('no_samples'));
  } else if (rank === undefined) {
    const alone = devices.filter((device) => device.rank === null).length;
    if (alone > 0 && ranks.length > 0) limits.push(sentence('not_joined', { alone, devices: devices.length }));
    const missing = ranks.filter((number) => !seen.has(number));
    if (missing.length > 0) limits.push(sentence('ranks_without', { missing: missing.length, ranks: ranks.length }));
    if (monitors.every(({ timed }) => timed === 0)) limits.push(sentence('no_times'));
  }
  if (readings.length === 0 && traces.length === 0) limits.push(sentence('pytorch_unknown'));
  return limits;
}
