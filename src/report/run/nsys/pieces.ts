/** Small pieces of the screens about Nsight Systems exports. */
import { formatCount } from '../../../model/units.js';

export interface NsysLook {
  /** Rows of each table. */
  readonly limit: number;
}

export function more(count: number, limit: number): string[] {
  return count > limit ? [`    and ${formatCount(count - limit)} more (--limit 0)`] : [];
}

/** Seconds of the report's clock. */
export function seconds(ns: number): string {
  return `${(ns / 1e9).toFixed(3)} s`;
}

export function duration(ns: number): string {
  const size = Math.abs(ns);
  if (size < 1e3) return `${Math.round(ns)} ns`;
  if (size < 1e6) return `${(ns / 1e3).toFixed(1)} µs`;
  return size < 1e9 ? `${(ns / 1e6).toFixed(1)} ms` : `${(ns / 1e9).toFixed(2)} s`;
}

export function signed(ns: number): string {
  return ns > 0 ? `+${duration(ns)}` : duration(ns);
}
