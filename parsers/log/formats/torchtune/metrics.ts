import type { IterationFinding, MemoryFinding } from '../../../../src/model/log-rows.js';
import type { LineCode } from '../contract.js';
import { pythonNumber } from '../field-list.js';
import { GB, GIB } from '../units.js';

const FIELD = /(?<![\w./-])([A-Za-z_][\w./-]{0,60}):([^\s:]{1,40})/g;

/**
 * A float's full text, of GiB now and of 10^9 bytes as long as `torchtune/utils` contained the function. The line does
 * not distinguish the two: the bytes are computed from GiB, and the precision is as wide as the difference.
 */
function peak(metric: string, text: string, iteration: number): MemoryFinding {
  const value = Number(text);
  return {
    row: 'memory',
    metric,
    bytes: Math.round(value * GIB),
    value,
    unit: 'GiB or GB',
    precisionBytes: Math.ceil(value * (GIB - GB)),
    iteration,
    moment: 'since the step before',
  };
}

export const TORCHTUNE_STEP: LineCode = {
  id: 'torchtune.step',
  read({ step = '', fields = '' }, emit, { columns, metrics }) {
    const iteration = Number(step);
    const otherValues: { name: string; value: number | null; text: string }[] = [];
    const row: { -readonly [Key in keyof IterationFinding]: IterationFinding[Key] } = {
      row: 'iteration',
      iteration,
      target: null,
    };
    const memory: MemoryFinding[] = [];
    for (const [, name = '', text = ''] of fields.matchAll(FIELD)) {
      const value = pythonNumber(text);
      const metric = metrics!.get(name);
      const column = columns!.get(name);
      if (metric !== undefined && value !== null && Number.isFinite(value)) memory.push(peak(metric, text, iteration));
      else if (column !== undefined && value !== null) row[column as 'loss'] = value;
      else otherValues.push({ name, value, text });
    }
    row.others = otherValues;
    emit(row);
    for (const figure of memory) emit(figure);
  },
};
