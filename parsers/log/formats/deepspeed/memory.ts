import type { MemoryFinding } from '../../../../src/model/log-rows.js';
import type { BlockCode, Emit, Groups, LineCode } from '../contract.js';
import { figureFinding } from '../system/findings.js';
import { GIB, halfDigit, memoryFigure } from '../units.js';

/** DeepSpeed divides by powers of 1024 and writes KB, MB, GB. */
const UNITS: Readonly<Record<string, number>> = { KB: 1024, MB: 1024 ** 2, GB: GIB };

/**
 * `round(x, 2)` drops trailing zeros (`3.6` is 3.60), the CA peak is `round(x)`: the printed digits do not give the
 * precision.
 */
function roundedFigure(metric: string, text: string, unit: string, more: Partial<MemoryFinding>): MemoryFinding {
  const precision = text.includes('.') ? Math.min(halfDigit(text), 0.005) : 0.5;
  return memoryFigure(metric, text, unit, UNITS[unit] ?? GIB, more, precision);
}

const NUMBER = String.raw`\d{1,9}(?:\.\d{1,6})?`;
const DEVICE_LINE = new RegExp(
  String.raw`\bMA (?<allocated>${NUMBER}) (?<unit>[KMG]B) {1,20}Max_MA (?<maxAllocated>${NUMBER}) [KMG]B {1,20}CA (?<reserved>${NUMBER}) [KMG]B {1,20}Max_CA (?<maxReserved>${NUMBER}) [KMG]B`,
  'g',
);
const HOST_LINE = new RegExp(
  `CPU Virtual Memory: {1,4}used = (?<used>${NUMBER}) GB, percent = (?<percent>${NUMBER})%`,
  'g',
);

/** One figure a line, before 0.3. */
const OLD_LINE =
  /\b(?<peak>Max )?(?<what>Memory|[Cc]ache) Allocated (?<value>\d{1,6}(?:\.\d{1,20})?(?:e-\d{1,3})?) GigaBytes/;

function readDevice(groups: Groups, emit: Emit, moment?: string): void {
  const { allocated = '', maxAllocated = '', reserved = '', maxReserved = '', unit = 'GB' } = groups;
  const more = moment === undefined ? {} : { moment };
  emit(roundedFigure('allocated', allocated, unit, more));
  emit(roundedFigure('max_allocated', maxAllocated, unit, more));
  emit(roundedFigure('reserved', reserved, unit, more));
  emit(roundedFigure('max_reserved', maxReserved, unit, more));
}

function readHost({ used = '', percent = '' }: Groups, emit: Emit, moment?: string): void {
  emit(roundedFigure('host_used', used, 'GB', moment === undefined ? {} : { moment }));
  emit({
    ...figureFinding('host.used_percent', Number(percent), '%'),
    ...(moment === undefined ? {} : { text: moment }),
  });
}

/**
 * DeepSpeed's logger names the function before its text, so three lines can be read together and the first gives the
 * moment. Where the function prints without a logger (0.18), only the line formats below apply, and the moment is
 * unknown.
 */
export const DEEPSPEED_MEMORY_USAGE: BlockCode = {
  id: 'deepspeed.see-memory-usage',
  begin(match, emit) {
    const moment = `see_memory_usage: ${match.groups?.['moment']?.trim() ?? ''}`;
    return {
      line(text) {
        DEVICE_LINE.lastIndex = 0;
        const device = text.includes('Max_MA') ? DEVICE_LINE.exec(text) : null;
        if (device !== null) {
          readDevice(device.groups ?? {}, emit, moment);
          return 'taken';
        }
        const old = text.includes(' GigaBytes') ? OLD_LINE.exec(text)?.groups : undefined;
        if (old !== undefined) {
          const peak = old['peak'] !== undefined;
          const cached = old['what'] !== 'Memory';
          const metric = `${peak ? 'max_' : ''}${cached ? 'reserved' : 'allocated'}`;
          emit(memoryFigure(metric, old['value'] ?? '', 'GB', GIB, { moment }));
          return peak && cached ? 'last' : 'taken';
        }
        HOST_LINE.lastIndex = 0;
        const host = text.includes('CPU Virtual') ? HOST_LINE.exec(text) : null;
        if (host === null) return 'foreign';
        readHost(host.groups ?? {}, emit, moment);
        return 'last';
      },
    };
  },
};

export const DEEPSPEED_DEVICE_MEMORY: LineCode = {
  id: 'deepspeed.device-memory',
  pattern: DEVICE_LINE,
  read: (groups, emit) => readDevice(groups, emit),
};

export const DEEPSPEED_HOST_MEMORY: LineCode = {
  id: 'deepspeed.host-memory',
  pattern: HOST_LINE,
  read: (groups, emit) => readHost(groups, emit),
};
