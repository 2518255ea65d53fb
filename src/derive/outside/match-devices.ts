/**
 * Which device of the driver a rank runs on. The driver numbers the devices of a node; a process numbers those visible
 * to it; a rank is a number of a process in the run. NCCL's lines and pids give the device explicitly. Otherwise
 * launchers assign the ranks of a node to its devices in order; the result states this.
 */

import { groupBy } from '../../model/group-by.js';
import { minOf } from '../../model/lists.js';
import { sentencesOf, type Text } from '../../model/statement.js';
import type { QueryRow } from '../../store/query-catalog.js';

const sentence = sentencesOf('outside');

type Monitor = Pick<QueryRow<'outside.monitors'>, 'host' | 'device' | 'gpu' | 'display_path'>;
type Place = QueryRow<'outside.rank_places'>;
type Listed = Pick<QueryRow<'outside.processes'>, 'host' | 'device' | 'gpu' | 'pid'>;

export interface RankOfDevice {
  readonly rank: number;
  readonly joinedBy: Text;
  /** Of the rank's process, if its own messages contain it. */
  readonly pid: number | null;
}

export interface MatchQuestion {
  readonly monitors: readonly Monitor[];
  readonly processes: readonly Listed[];
  readonly places: readonly Place[];
  /** Ranks about which anything is known. */
  readonly ranks: readonly number[];
  readonly worldSize: number | null;
  /** CUDA_VISIBLE_DEVICES of the launch, if one value holds for all. */
  readonly visibleDevices: string | null;
}

/** Same machine, with or without its domain. */
export function sameHost(a: string, b: string): boolean {
  const [shortA = '', shortB = ''] = [a, b].map((host) => host.toLowerCase().split('.')[0]);
  return shortA !== '' && shortA === shortB;
}

/** `0000:1B:00.0`, `00000000:1B:00.0` and NCCL's `1b000` are one bus. */
export function busNumber(text: string): number | null {
  const full = /^(?:([\da-f]{4,8}):)?([\da-f]{2}):([\da-f]{2})\.(\d)$/i.exec(text);
  if (full !== null) {
    const [domain, bus, slot, part] = [full[1] ?? '0', full[2]!, full[3]!, full[4]!].map((digits) =>
      Number.parseInt(digits, 16),
    );
    return ((domain! * 256 + bus!) * 256 + slot!) * 16 + part!;
  }
  return /^[\da-f]{1,12}$/i.test(text) ? Number.parseInt(text, 16) : null;
}

/**
 * The host of a monitor's samples: from the samples, otherwise a host of the run that the file's name contains,
 * otherwise the only host.
 */
export function hostOfMonitor(monitor: Monitor, hosts: readonly string[]): string | null {
  if (monitor.host !== null) return monitor.host;
  const path = monitor.display_path.toLowerCase();
  const named = hosts.filter((host) => {
    const short = host.toLowerCase().split('.')[0]!;
    const at = short.length < 3 ? -1 : path.indexOf(short);
    return at >= 0 && !/[a-z0-9]/.test(path[at + short.length] ?? '') && !/[a-z0-9]/.test(path[at - 1] ?? '');
  });
  if (named.length === 1) return named[0]!;
  return hosts.length === 1 ? hosts[0]! : null;
}

/** By the key of the monitor's device (see {@link deviceKey}). */
export function matchDevices(question: MatchQuestion): ReadonlyMap<string, RankOfDevice> {
  const { monitors, processes, places, worldSize } = question;
  const hosts = [...new Set(places.flatMap(({ host }) => host ?? []))];
  const rankOfDevice = new Map<string, RankOfDevice>();
  const taken = new Set<number>();
  const take = (monitor: Monitor, rank: number, joinedBy: Text, pid: number | null): void => {
    const key = deviceKey(monitor);
    if (rankOfDevice.has(key) || taken.has(rank)) return;
    rankOfDevice.set(key, { rank, joinedBy, pid });
    taken.add(rank);
  };
  const listed = (monitor: Monitor) => processes.filter((process) => isOn(process, monitor));
  for (const monitor of monitors) {
    for (const { rank, pid } of places) {
      if (pid !== null && rank !== null && listed(monitor).some((process) => process.pid === pid))
        take(monitor, rank, sentence('pid_of', { pid, rank }), pid);
    }
  }
  for (const monitor of monitors) {
    const host = hostOfMonitor(monitor, hosts);
    for (const place of places) {
      if (place.nccl === null || (place.host !== null && host !== null && !sameHost(place.host, host))) continue;
      const words = /^rank (\d+) of (\d+),(?: nvmlDev (\d+))?(?: busId ([\da-f]+))?/.exec(place.nccl);
      if (words === null || (worldSize !== null && Number(words[2]) !== worldSize)) continue;
      // In the communicator of all ranks, and only there, NCCL's rank is the global one.
      const rank = place.rank ?? (worldSize === null ? null : Number(words[1]));
      if (rank === null) continue;
      const bus = words[4] === undefined ? null : busNumber(words[4]);
      const isBus = monitor.gpu !== null && bus !== null && busNumber(monitor.gpu) === bus;
      const isIndex = words[3] !== undefined && monitor.device === Number(words[3]);
      // With several nodes, an index without a host is ambiguous.
      if (isBus || (isIndex && (host !== null || hosts.length <= 1)))
        take(monitor, rank, sentence('nccl_lines', isBus ? { bus: words[4] } : { device: words[3] }), null);
    }
  }
  byOrder(question, hosts, taken, rankOfDevice, take);
  return rankOfDevice;
}

/** Ranks of a node in order on the devices of the node in order. */
function byOrder(
  { monitors, places, ranks, worldSize, visibleDevices }: MatchQuestion,
  hosts: readonly string[],
  taken: ReadonlySet<number>,
  rankOfDevice: ReadonlyMap<string, RankOfDevice>,
  take: (monitor: Monitor, rank: number, joinedBy: Text, pid: number | null) => void,
): void {
  const nodes = groupBy(monitors, (monitor) => hostOfMonitor(monitor, hosts));
  for (const [host, devices] of nodes) {
    const indices = [...new Set(devices.flatMap(({ device }) => device ?? []))].sort((a, b) => a - b);
    const visible = visibleDevices?.split(',').map((text) => text.trim());
    const seen = visible?.every((text) => /^\d+$/.test(text)) === true ? visible.map(Number) : indices;
    const ownRanks = [
      ...new Set(
        places.flatMap((p) =>
          p.rank !== null && p.host !== null && host !== null && sameHost(p.host, host) ? [p.rank] : [],
        ),
      ),
    ];
    const isOneNode = nodes.size === 1 && (worldSize ?? ranks.length) <= indices.length;
    // Some prefixes lack the host: without all ranks of the node their order on it is unknown, unless nodes hold whole
    // multiples.
    const first = isOneNode
      ? 0
      : ownRanks.length > 0
        ? Math.floor(minOf(ownRanks) / indices.length) * indices.length
        : null;
    if (first === null || ownRanks.some((rank) => rank < first || rank >= first + indices.length)) continue;
    for (const rank of ranks) {
      if (taken.has(rank) || rank < first || rank >= first + seen.length) continue;
      const index = seen[rank - first];
      const monitor = devices.find(({ device }) => device === index);
      if (monitor === undefined || rankOfDevice.has(deviceKey(monitor))) continue;
      take(monitor, rank, sentence('in_order', { node: isOneNode ? null : String(host) }), null);
    }
  }
  // One device and one rank need no order.
  const keys = new Set(monitors.map(deviceKey));
  if (keys.size === 1 && ranks.length === 1 && (worldSize ?? 1) === 1 && monitors[0] !== undefined)
    take(monitors[0], ranks[0]!, sentence('only_device'), null);
}

export function deviceKey({ host, device, gpu }: Pick<Monitor, 'host' | 'device' | 'gpu'>): string {
  return JSON.stringify([host, device, device === null ? gpu : null]);
}

/** A list of processes names the device by index, by UUID or by bus. */
export function isOn(process: Omit<Listed, 'pid'>, monitor: Pick<Monitor, 'host' | 'device' | 'gpu'>): boolean {
  if (process.host !== null && monitor.host !== null && !sameHost(process.host, monitor.host)) return false;
  if (process.device !== null && monitor.device !== null) return process.device === monitor.device;
  return process.gpu !== null && process.gpu === monitor.gpu;
}
