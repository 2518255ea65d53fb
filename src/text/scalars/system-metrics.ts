/** Rows of the system metrics of W&B's monitor: memory figures are gauges, and everything else is a value. */
import { loadData } from '../../knowledge/load-data.js';
import type { GaugeFinding, GaugeMetric, ValueFinding } from '../../model/log-rows.js';
import { MIB } from '../../model/units.js';

interface GaugeName {
  readonly metric: GaugeMetric;
  readonly unit: 'bytes' | 'MiB';
  readonly process?: string;
}

interface ValueName {
  readonly name: string;
  readonly unit: string | null;
  /** What the reported number is multiplied with. */
  readonly factor?: number;
}

type Meaning = GaugeName | ValueName;

/** `gpu.<index>.<name>`, names of the host, `disk.<path>.<name>`. */
const {
  device: OF_DEVICE,
  host: OF_HOST,
  disk: OF_DISK,
} = loadData('inputs/system-metrics') as {
  readonly device: Readonly<Record<string, Meaning>>;
  readonly host: Readonly<Record<string, Meaning>>;
  readonly disk: Readonly<Record<string, ValueName>>;
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
  const { metric, unit, process } = meaning;
  const unitBytes = unit === 'bytes' ? 1 : MIB;
  const bytes = Math.round(value * unitBytes);
  if (bytes < 0 || bytes > MOST_BYTES) return null;
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
