/**
 * System metrics of W&B's monitor: meanings and units of its names. The monitor polls at an interval (wandb-core every
 * 15 s; Python's took the mean of samples every 2 s over 30 s), so memory figures are gauges, and everything else is a
 * value.
 *
 * Upstream, by generation (numbers of versions [mem]): `wandb/sdk/internal/stats.py` (psutil and NVML, to 0.13.4),
 * `wandb/sdk/internal/system/assets/*.py` (to 0.18), `core/pkg/monitor/*.go` and `core/internal/monitor/*.go`
 * (wandb-core), `gpu_stats/src/gpu_nvidia.rs` (0.19), `xpu/src/*.rs` (0.30). Comments at the names state changes of
 * meaning between generations.
 */
import type { GaugeFinding, GaugeMetric, ValueFinding } from '../../model/log-rows.js';
import { GIB, MIB } from '../../model/units.js';

interface GaugeName {
  readonly metric: GaugeMetric;
  /** Bytes of one unit. */
  readonly unitBytes: number;
  readonly process?: string;
}

interface ValueName {
  readonly name: string;
  readonly unit: string | null;
  /** What the reported number is multiplied with. */
  readonly factor?: number;
}

type Meaning = GaugeName | ValueName;

/** `gpu.<index>.<name>`. The index is NVML's (or rocm-smi's), whatever CUDA_VISIBLE_DEVICES shows to the process. */
const OF_DEVICE: Readonly<Record<string, Meaning>> = {
  // nvmlDeviceGetMemoryInfo().used: all processes and contexts, and with NVML's first version of that call the driver's
  // reserve too.
  memoryAllocatedBytes: { metric: 'device_used', unitBytes: 1 },
  // DCGM_FI_DEV_FB_* through a Prometheus query (`core/internal/monitor/dcgm_exporter.go`): MiB, whatever their names.
  memoryUsed: { metric: 'device_used', unitBytes: MIB },
  memoryTotal: { metric: 'device_total', unitBytes: MIB },
  memoryFree: { metric: 'device_free', unitBytes: MIB },
  // A percentage of the total. Without the total it cannot be converted to bytes, so it stays a percentage.
  memoryAllocated: { name: 'gpu.memory_used_percent', unit: '%' },
  // Time in which the memory controller was busy, not how full the memory is.
  memory: { name: 'gpu.memory_activity', unit: '%' },
  memoryReadWriteActivity: { name: 'gpu.memory_activity', unit: '%' },
  gpu: { name: 'gpu.utilization', unit: '%' },
  temp: { name: 'gpu.temperature', unit: '°C' },
  memoryTemp: { name: 'gpu.memory_temperature', unit: '°C' },
  powerWatts: { name: 'gpu.power', unit: 'W' },
  powerPercent: { name: 'gpu.power_percent', unit: '%' },
  enforcedPowerLimitWatts: { name: 'gpu.power_limit', unit: 'W' },
  smClock: { name: 'gpu.sm_clock', unit: 'MHz' },
  memoryClock: { name: 'gpu.memory_clock', unit: 'MHz' },
  graphicsClock: { name: 'gpu.graphics_clock', unit: 'MHz' },
  fanSpeed: { name: 'gpu.fan_speed', unit: '%' },
  encoderUtilization: { name: 'gpu.encoder_utilization', unit: '%' },
  correctedMemoryErrors: { name: 'gpu.corrected_memory_errors', unit: 'count' },
  uncorrectedMemoryErrors: { name: 'gpu.uncorrected_memory_errors', unit: 'count' },
  // smActive and its like are percent from NVML and a ratio from DCGM; pcieTxBytes bytes or MiB: kept without a unit,
  // see `systemGauge`.
};

const OF_HOST: Readonly<Record<string, Meaning>> = {
  // psutil's and gopsutil's RSS / 1024 / 1024: MiB, whatever the name. With `x_stats_track_process_tree` of all
  // descendants together.
  'proc.memory.rssMB': { metric: 'process_rss', unitBytes: MIB },
  // W&B's own processes.
  'wandb.memory.rssMB': { metric: 'process_rss', unitBytes: MIB, process: 'wandb' },
  // `available`, not `free`: page cache counts. Under a cgroup with a limit, what the limit leaves (newer wandb-core).
  'proc.memory.availableMB': { metric: 'host_free', unitBytes: MIB },
  // Apple only.
  'memory.used': { metric: 'host_used', unitBytes: 1 },
  memory: { name: 'host.used_percent', unit: '%' },
  memory_percent: { name: 'host.used_percent', unit: '%' },
  'memory.used_percent': { name: 'host.used_percent', unit: '%' },
  'swap.used': { name: 'host.swap_used', unit: 'bytes' },
  'swap.used_percent': { name: 'host.swap_used_percent', unit: '%' },
  'proc.memory.percent': { name: 'process.memory_percent', unit: '%' },
  'proc.memory.oomKills': { name: 'host.oom_kills', unit: 'count' },
  'proc.cpu.threads': { name: 'process.threads', unit: 'count' },
  // Of all cores; of the whole host in `stats.py`, of the process since.
  cpu: { name: 'cpu.utilization', unit: '%' },
  disk: { name: 'disk.used_percent', unit: '%' },
  // Since the monitor began.
  'disk.in': { name: 'disk.read', unit: 'bytes', factor: MIB },
  'disk.out': { name: 'disk.written', unit: 'bytes', factor: MIB },
  'network.sent': { name: 'network.sent', unit: 'bytes' },
  'network.recv': { name: 'network.received', unit: 'bytes' },
};

const OF_DISK: Readonly<Record<string, ValueName>> = {
  usagePercent: { name: 'disk.used_percent', unit: '%' },
  usageGB: { name: 'disk.used', unit: 'bytes', factor: GIB },
  in: { name: 'disk.read', unit: 'bytes', factor: MIB },
  out: { name: 'disk.written', unit: 'bytes', factor: MIB },
};

/** Exports put this before every name; the dot in files of the client, the slash in those of the server. */
const PREFIX = /^system[./]/;
/** The label of a writer (`x_label`), or the node of a DCGM exporter, or both. */
const LABEL = /\/l:.{0,256}$/;
const DEVICE_NAME = /^gpu\.(process\.)?(\d{1,3})\.(\w{1,64})$/;
const DISK_NAME = /^disk\.(.{1,200})\.(usagePercent|usageGB|in|out)$/;
const MOST_NAME_CHARS = 300;
/** 2^60: no host and no device has that much. */
const MOST_BYTES = 2 ** 60;

/** Name and label of a metric: `gpu.0.temp/l:node1` → `gpu.0.temp`, `node1`. */
export function splitSystemLabel(tag: string): { readonly name: string; readonly label: string | null } {
  const at = tag.indexOf('/l:');
  if (at < 0) return { name: tag, label: null };
  const label = tag.slice(at + 3);
  const next = label.indexOf('/l:');
  return { name: tag.slice(0, at), label: next < 0 ? label : label.slice(0, next) };
}

/**
 * The row for a system metric of W&B, with or without the prefix that exports put before it. `gpu.process.<n>.*` are,
 * in every generation, copies of the device's own figures that appear where the run's process uses the device; they do
 * not measure the process, and give the same row as `gpu.<n>.*`. Null for a name outside the system metrics, and for
 * invalid numbers; an unknown name with the prefix becomes a value under its own name.
 */
export function systemGauge(tag: string, value: number): GaugeFinding | ValueFinding | null {
  if (!Number.isFinite(value) || tag.length > MOST_NAME_CHARS) return null;
  const hasPrefix = PREFIX.test(tag);
  const name = (hasPrefix ? tag.slice('system.'.length) : tag).replace(LABEL, '');
  const ofDevice = DEVICE_NAME.exec(name);
  if (ofDevice !== null) {
    const device = Number(ofDevice[2]);
    const field = ofDevice[3]!;
    const meaning = ownValue(OF_DEVICE, field) ?? { name: `gpu.${field}`, unit: null };
    return rowOf(meaning, value, { device });
  }
  const ofHost = ownValue(OF_HOST, name);
  if (ofHost !== undefined) return rowOf(ofHost, value, {});
  const ofDisk = DISK_NAME.exec(name);
  if (ofDisk !== null) {
    const meaning = OF_DISK[ofDisk[2]!]!;
    return rowOf({ ...meaning, name: `${meaning.name}[${ofDisk[1]!}]` }, value, {});
  }
  return hasPrefix ? { row: 'value', name: `system.${name}`, value, unit: null } : null;
}

function ownValue<Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

function rowOf(
  meaning: Meaning,
  value: number,
  where: { readonly device?: number },
): GaugeFinding | ValueFinding | null {
  if (!('metric' in meaning)) {
    return { row: 'value', name: meaning.name, value: value * (meaning.factor ?? 1), unit: meaning.unit, ...where };
  }
  const { metric, unitBytes, process } = meaning;
  const bytes = Math.round(value * unitBytes);
  if (bytes < 0 || bytes > MOST_BYTES) return null;
  const unit = unitBytes === 1 ? 'bytes' : 'MiB';
  const precisionBytes = unitBytes === 1 ? 0 : halfDigit(value) * unitBytes;
  return {
    row: 'gauge',
    metric,
    bytes,
    value,
    unit,
    precisionBytes,
    ...where,
    ...(process === undefined ? {} : { process }),
  };
}

/** Half of the last digit. The Python monitors round to two digits, and then leave zeros away. */
function halfDigit(value: number): number {
  const text = String(value);
  const dot = text.indexOf('.');
  const decimals = dot < 0 || text.includes('e') ? 0 : text.length - dot - 1;
  return 0.5 * 10 ** -Math.max(2, decimals);
}
