import type { LineFormat } from '../contract.js';
import { GIB, memoryFigure } from '../units.js';

export const SLIME_PRODUCER = 'slime';

const METRICS: Readonly<Record<string, string>> = {
  total_GB: 'device_total',
  free_GB: 'device_free',
  used_GB: 'device_used',
  allocated_GB: 'allocated',
  reserved_GB: 'reserved',
  host_total_GB: 'host_total',
  host_used_GB: 'host_used',
};
const ENTRY = /'(\w{1,40}_GB)': (\d{1,9}(?:\.\d{1,4})?)/g;
const CLEARED = ' (cleared before print)';

export const SLIME_MEMORY: LineFormat = {
  form: 'line',
  id: 'slime.memory-usage',
  title: 'Memory of a rank and its device at a named moment',
  producer: 'slime, miles',
  versions:
    '0.1 and later; allocated and reserved since 0.1.0, host since 2026; the first ones on rank 0 only, without its number',
  source: 'slime/utils/memory_utils.py, print_memory and available_memory',
  anchors: ["'free_GB': "],
  fields: {
    rank: 'global rank of the trainer',
    moment: 'label of the caller',
    device: 'number of the device, as the process sees it',
    entries: "`'name_GB': 1.25`: divided by 1024^3 and rounded to two digits, zeros not printed",
  },
  pattern:
    /(?:\[Rank (?<rank>\d{1,7})\] )?Memory-Usage (?<moment>[^\n{]{1,160}?): ?\{'gpu': '(?:[a-z]{2,5}:)?(?<device>\d{1,3})', (?<entries>[^{}\n]{1,800})\}/g,
  read({ rank, moment = '', device, entries = '' }, emit) {
    const more = {
      moment: moment.replace(CLEARED, ', cleared'),
      ...(rank === undefined ? {} : { rank: Number(rank) }),
      device: Number(device),
    };
    for (const [, key = '', text = ''] of entries.matchAll(ENTRY))
      emit(memoryFigure(METRICS[key] ?? key, text, 'GB', GIB, more, 0.005));
  },
};

export const SLIME_PEAK: LineFormat = {
  form: 'line',
  id: 'slime.peak-memory',
  title: 'Peak of a phase',
  producer: SLIME_PRODUCER,
  versions: '2026 and later',
  source: 'slime/utils/memory_utils.py, report_peak_memory',
  anchors: [': max_allocated_GB='],
  fields: {
    rank: 'global rank of the trainer',
    phase: 'label of the caller',
    allocated: 'GiB since the phase began, which resets the peak; rounded to two digits',
    reserved: 'GiB',
  },
  pattern:
    /\[Rank (?<rank>\d{1,7})\] Peak-Memory (?<phase>[^\n:]{1,160}): max_allocated_GB=(?<allocated>\d{1,6}(?:\.\d{1,4})?), max_reserved_GB=(?<reserved>\d{1,6}(?:\.\d{1,4})?)/g,
  read({ rank, phase = '', allocated = '', reserved = '' }, emit) {
    const more = { moment: phase, rank: Number(rank) };
    emit(memoryFigure('max_allocated', allocated, 'GB', GIB, more, 0.005));
    emit(memoryFigure('max_reserved', reserved, 'GB', GIB, more, 0.005));
  },
};
