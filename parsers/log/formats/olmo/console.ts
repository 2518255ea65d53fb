import type { IterationFinding, MemoryFinding, ValueFinding } from '../../../../src/model/log-rows.js';
import type { BlockCode } from '../contract.js';
import { pythonNumber } from '../field-list.js';
import { figureFinding, plainNumber } from '../system/findings.js';
import { GIB, halfDigit, memoryFigure } from '../units.js';

const LINE = /^\s{0,8}(?<name>[A-Za-z][\w./ ()%-]{1,120})=(?<text>[-\d.,e+naif]{1,32})\s{0,4}$/;

/** Printed name → metric, bytes of the unit, unit. */
const MEMORY: Readonly<Record<string, readonly [metric: string, unitBytes: number, unit: string]>> = {
  'System/Peak GPU Memory (MB)': ['max_allocated', 1e6, 'MB'],
  'gpu_memory/GPU active mem (GiB)': ['max_active', GIB, 'GiB'],
  'gpu_memory/GPU reserved mem (GiB)': ['max_reserved', GIB, 'GiB'],
  'system/GPU active mem (GiB)': ['max_active', GIB, 'GiB'],
  'system/GPU reserved mem (GiB)': ['max_reserved', GIB, 'GiB'],
};
/** OLMo takes the largest peak of all ranks, and OLMo-core rank 0's own. */
const MOMENTS: Readonly<Record<string, string>> = {
  MB: 'largest of all ranks, since the print before',
  GiB: 'since the step before',
};

type Known = 'loss' | 'gradNorm' | 'learningRate';
const KNOWN: Readonly<Record<string, Known>> = {
  'train/CrossEntropyLoss': 'loss',
  'train/CE loss': 'loss',
  'optim/total_grad_norm': 'gradNorm',
  'optim/total grad norm': 'gradNorm',
  'optim/LR (group 0)': 'learningRate',
  'optim/learning_rate_group0': 'learningRate',
};

/** Of one device, whose batches are the steps; averages over some steps. */
const BATCHES_PER_SECOND: ReadonlySet<string> = new Set([
  'throughput/device/batches_per_second',
  'throughput/device/BPS',
]);

export const OLMO_STEP: BlockCode = {
  id: 'olmo.step',
  begin(match, emit) {
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
        const memory = MEMORY[name];
        const known = KNOWN[name];
        if (memory !== undefined && value !== null && Number.isFinite(value)) {
          const [metric, unitBytes, unit] = memory;
          // Above 1000 the number is cut, not rounded.
          const precision = plain.includes('.') ? halfDigit(plain) : 1;
          const moment = MOMENTS[unit]!;
          figures.push(memoryFigure(metric, plain, unit, unitBytes, { iteration, moment, ...where }, precision));
        } else if (BATCHES_PER_SECOND.has(name) && value !== null && value > 0) {
          row.stepMs = Number((1000 / value).toPrecision(4));
          otherValues.push({ name, value, text: printed });
        } else if (known !== undefined && value !== null) row[known] = value;
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
