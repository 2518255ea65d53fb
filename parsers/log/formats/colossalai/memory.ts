import type { LineFormat } from '../contract.js';
import { figureFinding } from '../system/findings.js';
import { GIB, halfDigit, MIB, memoryFigure } from '../units.js';

const UNITS: Readonly<Record<string, number>> = { MB: MIB, GB: GIB };

export const COLOSSALAI_MEMORY: LineFormat = {
  form: 'line',
  id: 'colossalai.memory-usage',
  title: 'Memory of device and host at a named moment',
  producer: 'Colossal-AI',
  versions: '0.0.1 and later; GB in the first, ` - GPU:` before 2022, `: GPU:` since',
  source: 'colossalai/utils/memory.py (legacy/utils/memory.py), report_memory_usage',
  anchors: ['GPU: allocated '],
  fields: {
    moment: 'label of the caller',
    allocated: 'MiB or GiB, printed as MB or GB; two decimals, zeros dropped',
    unit: '1024-based, of all figures of the device',
    maxAllocated: 'its peak since the report before, which resets it',
    reserved: '`cached`',
    maxReserved: 'its peak',
    hostUsed: 'total − available of the whole host',
    hostUnit: '1024-based',
    percent: 'of the host memory',
  },
  pattern:
    /GPU: (?<=(?<moment>[^:\n]{1,120})(?:: | - )GPU: )allocated (?<allocated>\d{1,9}(?:\.\d{1,4})?) ?(?<unit>MB|GB), max allocated (?<maxAllocated>\d{1,9}(?:\.\d{1,4})?) ?[MG]B, cached: (?<reserved>\d{1,9}(?:\.\d{1,4})?) ?[MG]B, max cached: (?<maxReserved>\d{1,9}(?:\.\d{1,4})?) ?[MG]B(?:, CPU Virtual Memory: used = (?<hostUsed>\d{1,9}(?:\.\d{1,4})?) ?(?<hostUnit>MB|GB), percent = (?<percent>\d{1,3}(?:\.\d{1,2})?)%)?/g,
  read({ moment = '', allocated = '', unit = '', maxAllocated = '', reserved = '', maxReserved = '', ...host }, emit) {
    const more = { moment: moment.replace(/^[-\s]{1,4}/, '').trim() };
    const figures = [
      ['allocated', allocated],
      ['max_allocated', maxAllocated],
      ['reserved', reserved],
      ['max_reserved', maxReserved],
    ] as const;
    // `round(x, 2)` drops zeros: `3.6` is 3.60.
    const precision = (text: string): number => Math.min(halfDigit(text), 0.005);
    for (const [metric, text] of figures) emit(memoryFigure(metric, text, unit, UNITS[unit]!, more, precision(text)));
    const { hostUsed, hostUnit = '', percent } = host;
    if (hostUsed === undefined) return;
    emit(memoryFigure('host_used', hostUsed, hostUnit, UNITS[hostUnit]!, more, precision(hostUsed)));
    emit({ ...figureFinding('host.used_percent', Number(percent), '%'), text: more.moment });
  },
};
