/** Samples of gauges from figures as they were printed. */
import type { GaugeFinding, GaugeMetric } from '../model/log-rows.js';

/** Far above any memory, and far below where doubles stop being exact. */
const MOST_BYTES = 2 ** 52;
const DECIMAL = /^\d{1,16}(?:\.\d{0,9})?$/;

/**
 * One sample. `text` is the number as printed, `unitBytes` the source's unit in bytes; 1 is exact. Null for an invalid
 * amount of memory: not a number, negative, or implausibly large.
 */
export function gaugeFigure(
  metric: GaugeMetric,
  text: string,
  unit: string,
  unitBytes: number,
  more: Partial<Pick<GaugeFinding, 'device' | 'gpuId' | 'pid' | 'process'>> = {},
): GaugeFinding | null {
  if (!DECIMAL.test(text)) return null;
  const value = Number(text);
  const bytes = Math.round(value * unitBytes);
  if (!(bytes <= MOST_BYTES)) return null;
  const dot = text.indexOf('.');
  const decimals = dot < 0 ? 0 : text.length - dot - 1;
  const precisionBytes = unitBytes === 1 ? 0 : (0.5 / 10 ** decimals) * unitBytes;
  return { row: 'gauge', metric, bytes, value, unit, precisionBytes, ...more };
}
