/** Memory readings that cannot be true: slips of units, glued digits, figures of another field. */
import { DOUBTFUL, MEMORY_METRICS, type MemoryFinding } from '../../src/model/log-rows.js';

/** Counts, a difference, the device's total, and figures of the host: not memory that a device holds. */
const NOT_HELD: ReadonlySet<string> = new Set([
  'reserved_allocated',
  'alloc_retries',
  'ooms',
  'allocated_count',
  'device_total',
  'host_used',
  'host_total',
]);
const DEVICE_METRICS: ReadonlySet<string> = new Set(MEMORY_METRICS.filter((metric) => !NOT_HELD.has(metric)));
/** Every figure is at most the one behind it, at the same moment or since the same reset. */
const ORDERED: readonly (readonly [lower: string, upper: string])[] = [
  ['allocated', 'max_allocated'],
  ['allocated', 'reserved'],
  ['max_allocated', 'max_reserved'],
  ['reserved', 'max_reserved'],
  ['active', 'max_active'],
  ['active', 'reserved'],
  ['device_used', 'device_total'],
  ['device_free', 'device_total'],
];
/** Seven times the largest device of 2026: a figure of the next smaller unit is above it. */
const MOST_DEVICE_BYTES = 2 * 1024 ** 4;
/** Readings are rounded, and totals are printed before or after what the driver keeps. */
const TOLERANCE = 1.01;

const words = (metric: string): string => metric.replaceAll('_', ' ');

function doubt(finding: MemoryFinding, reason: string): MemoryFinding {
  return finding.metric.startsWith(DOUBTFUL)
    ? finding
    : { ...finding, metric: `${DOUBTFUL}${finding.metric}`, moment: reason };
}

const PLACES: ReadonlyMap<string, number> = new Map([...DEVICE_METRICS, 'device_total'].map((name, at) => [name, at]));
const PAIRS = ORDERED.map(([lower, upper]) => [PLACES.get(lower)!, PLACES.get(upper)!] as const);
/** Bytes of a record by the places of its metrics, at least and at most. */
const least = new Float64Array(PLACES.size);
const most = new Float64Array(PLACES.size);

const limitOf = (deviceTotal: number | null): number =>
  deviceTotal === null ? MOST_DEVICE_BYTES : Math.min(MOST_DEVICE_BYTES, deviceTotal * TOLERANCE);

/** Whether any reading may be impossible: what nearly no record is, without a set or a map of its own. */
function isSuspect(findings: readonly MemoryFinding[], deviceTotal: number | null): boolean {
  const limit = limitOf(deviceTotal);
  const total = PLACES.size - 1;
  least.fill(Number.NEGATIVE_INFINITY);
  most.fill(Number.POSITIVE_INFINITY);
  for (const { metric, bytes, precisionBytes } of findings) {
    const place = bytes === null ? undefined : PLACES.get(metric);
    if (place === undefined) continue;
    least[place] = bytes! - precisionBytes!;
    most[place] = bytes! + precisionBytes!;
    if (place !== total && (most[place]! < 0 || least[place]! > limit)) return true;
  }
  // Not `>`: a reading may be NaN.
  for (const [lower, upper] of PAIRS) if (!(least[lower]! <= most[upper]!)) return true;
  return false;
}

/**
 * Marks the readings of one record that are impossible: their metric becomes `doubtful.<metric>`, so that nothing takes
 * them for a fact, and the reason is their moment.
 *
 * @param deviceTotal bytes of the device as the process printed it before, or null
 */
export function checkMemory(findings: readonly MemoryFinding[], deviceTotal: number | null): readonly MemoryFinding[] {
  if (!isSuspect(findings, deviceTotal)) return findings;
  const limit = limitOf(deviceTotal);
  const reasons = new Map<string, string>();
  const byMetric = new Map<string, MemoryFinding>();
  let several = false;
  for (const finding of findings) {
    const { metric, bytes } = finding;
    if (bytes === null) continue;
    several ||= byMetric.has(metric);
    byMetric.set(metric, finding);
    if (!DEVICE_METRICS.has(metric)) continue;
    if (bytes + finding.precisionBytes < 0) reasons.set(metric, 'negative');
    else if (bytes - finding.precisionBytes > limit)
      reasons.set(metric, limit === MOST_DEVICE_BYTES ? 'more than any device has' : 'more than the device has');
  }
  // Where a record has a metric twice (several devices), it is unknown which figures belong together.
  if (!several && byMetric.size > 1) {
    for (const [lower, upper] of ORDERED) {
      const [low, high] = [byMetric.get(lower), byMetric.get(upper)];
      if (low?.bytes == null || high?.bytes == null || reasons.has(lower) || reasons.has(upper)) continue;
      if (low.bytes - low.precisionBytes <= high.bytes + high.precisionBytes) continue;
      const reason = `${words(lower)} above ${words(upper)}`;
      reasons.set(lower, reason);
      reasons.set(upper, reason);
    }
  }
  if (reasons.size === 0) return findings;
  return findings.map((finding) => {
    const reason = finding.bytes === null ? undefined : reasons.get(finding.metric);
    return reason === undefined ? finding : doubt(finding, reason);
  });
}
