/** Figures as sacct and seff print them. */
import { BINARY_UNITS } from '../../src/model/units.js';

/** A size: the number as printed, its unit, and what the unit means. */
export interface Size {
  readonly text: string;
  readonly unit: string;
  readonly unitBytes: number;
}

/**
 * `412420K`, `15.8G`, `2048`: powers of 1024 throughout; bytes without a unit. Upstream: slurm
 * `src/common/slurm_protocol_api.c`, convert_num_unit.
 */
export function parseSize(text: string): Size | null {
  const match = /^(\d{1,16}(?:\.\d{0,9})?)([KMGTP]?)$/.exec(text.trim());
  if (match === null) return null;
  const [, number = '', unit = ''] = match;
  return { text: number, unit: unit === '' ? 'bytes' : unit, unitBytes: unit === '' ? 1 : BINARY_UNITS[unit]! };
}

export interface RequestedMemory extends Size {
  /** Until 20.11 a letter gives the unit it is per; since 21.08 it is for the whole job, over all nodes. */
  readonly per: 'node' | 'cpu' | 'job';
}

/**
 * `512Gn` per node, `4Gc` per CPU, `500G` for the whole job; megabytes without a unit. Upstream: slurm
 * `src/sacct/print.c`, PRINT_REQ_MEM.
 */
export function parseReqMem(text: string): RequestedMemory | null {
  const match = /^(\d{1,16}(?:\.\d{0,9})?)([KMGTP]?)([nc]?)$/.exec(text.trim());
  if (match === null) return null;
  const [, number = '', letter, per] = match;
  const unit = letter || 'M';
  return {
    text: number,
    unit,
    unitBytes: BINARY_UNITS[unit]!,
    per: per === 'n' ? 'node' : per === 'c' ? 'cpu' : 'job',
  };
}

/** `1-02:03:04`, `02:03:04`, `03:04.500`: seconds. */
export function parseElapsed(text: string): number | null {
  const match = /^(?:(\d{1,5})-)?(?:(\d{1,3}):)?(\d{1,3}):(\d{1,2}(?:\.\d{1,6})?)$/.exec(text.trim());
  if (match === null) return null;
  const [, days = '0', hours = '0', minutes, seconds] = match;
  return Number(days) * 86_400 + Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
}

/** `cpu=00:56:24,gres/gpumem=38888M,mem=10372780K`. */
export function parseTres(text: string): ReadonlyMap<string, string> {
  const map = new Map<string, string>();
  for (const part of text.split(',', 64)) {
    const equals = part.indexOf('=');
    if (equals > 0) map.set(part.slice(0, equals).trim(), part.slice(equals + 1).trim());
  }
  return map;
}

/** How many nodes `node[1-3,7]` or `a1,b[2-3]` names; null if unknown. */
export function countNodes(list: string): number | null {
  if (list === '' || list.length > 16_384 || /none assigned/i.test(list)) return null;
  let count = 0;
  let isWhole = true;
  const bare = list.replace(
    /(?<![^,])[^,[\]]{0,200}\[([\d,-]{1,8192})\][^,[\]]{0,200}(?:,|$)/g,
    (_whole, ranges: string) => {
      for (const range of ranges.split(',')) {
        const [from = '', to = from] = range.split('-');
        const size = Number(to) - Number(from) + 1;
        if (!(size > 0) || size > 1_000_000) isWhole = false;
        count += size;
      }
      return '';
    },
  );
  if (/[[\]]/.test(bare)) return null;
  count += bare.split(',').filter((name) => name.trim() !== '').length;
  return isWhole && count > 0 ? count : null;
}

/**
 * `a:b`: exit code and signal; null where there is neither, or no process' (a job out of memory has `0:125`, which no
 * signal is).
 */
export function parseExitCode(text: string): number | null {
  const match = /^(\d{1,3}):(\d{1,3})$/.exec(text.trim());
  if (match === null) return null;
  const [code, signal] = [Number(match[1]), Number(match[2])];
  if (signal > 0) return signal <= 64 ? -signal : null;
  return code > 0 ? code : null;
}
