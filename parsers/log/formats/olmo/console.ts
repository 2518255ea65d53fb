import type { IterationFinding, MemoryFinding, ValueFinding } from '../../../../src/model/log-rows.js';
import type { BlockCode } from '../contract.js';
import { SIZES } from '../conversions.js';
import { pythonNumber } from '../field-list.js';
import { figureFinding, plainNumber } from '../system/findings.js';
import { halfDigit, memoryFigure } from '../units.js';

const LINE = /^\s{0,8}(?<name>[A-Za-z][\w./ ()%-]{1,120})=(?<text>[-\d.,e+naif]{1,32})\s{0,4}$/;

/** Of one device, whose batches are the steps; averages over some steps. */
const BATCHES_PER_SECOND: ReadonlySet<string> = new Set([
  'throughput/device/batches_per_second',
  'throughput/device/BPS',
]);

export const OLMO_STEP: BlockCode = {
  id: 'olmo.step',
  begin(match, emit, { columns, metrics, moments }) {
    const { rank, step, target = '' } = match.groups ?? {};
    const iteration = Number(step);
    const where = rank === undefined ? {} : { rank: Number(rank) };
    const otherValues: { name: string; value: number | null; text: string }[] = [];
    const row: { -readonly [Key in keyof IterationFinding]: IterationFinding[Key] } = {
      row: 'iteration',
      iteration,
      target: target.startsWith('?') ? null : Number(target),
      ...where,
    };
    const figures: (MemoryFinding | ValueFinding)[] = [];
    return {
      line(text) {
        const { name = '', text: printed = '' } = LINE.exec(text)?.groups ?? {};
        if (name === '') return text.includes('[step=') ? 'over' : 'foreign';
        const plain = printed.replaceAll(',', '');
        const value = pythonNumber(plain);
        const memory = metrics!.get(name)?.split(' ');
        const known = columns!.get(name);
        if (memory !== undefined && value !== null && Number.isFinite(value)) {
          const [metric = '', unit = ''] = memory;
          // Above 1000 the number is cut, not rounded.
          const precision = plain.includes('.') ? halfDigit(plain) : 1;
          const moment = moments!.get(unit)!;
          figures.push(memoryFigure(metric, plain, unit, SIZES[unit]!, { iteration, moment, ...where }, precision));
        } else if (BATCHES_PER_SECOND.has(name) && value !== null && value > 0) {
          row.stepMs = Number((1000 / value).toPrecision(4));
          otherValues.push({ name, value, text: printed });
        } else if (known !== undefined && value !== null) row[known as 'loss'] = value;
        else if (name === 'throughput/total_tokens')
          figures.push(figureFinding('tokens.total', plainNumber(printed), 'tokens', { iteration, ...where }));
        else otherValues.push({ name, value, text: printed });
        return 'taken';
      },
      end() {
        row.others = otherValues;
        emit(row);
        for (const figure of figures) emit(figure);
      },
    };
  },
};
