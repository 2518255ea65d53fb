import { DOUBTFUL, type IterationFinding, type MemoryFinding } from '../../../../src/model/log-rows.js';
import type { LineCode } from '../contract.js';
import { plainNumber } from '../system/findings.js';
import { GIB, memoryFigure } from '../units.js';

const FIELD = /([a-z_]{2,24}): {0,8}([^\s:]{1,32})/g;
/** `87.87GiB(62.89%)`: the peak of the bytes reserved since the step before, and its share of the device. */
const MEMORY = /^(\d{1,6}(?:\.\d{1,4})?)GiB\((\d{1,3}(?:\.\d{1,3})?)%\)$/;
const PRINTED_NUMBER = /^-?(?:\d[\d,]{0,15}(?:\.\d{1,8})?(?:e[+-]?\d{1,3})?|nan|inf)/i;

function printedNumber(text: string): number | null {
  const match = PRINTED_NUMBER.exec(text);
  if (match === null) return null;
  const value = plainNumber(match[0]);
  return Number.isFinite(value) ? value : null;
}

function peakReserved(text: string, more: Pick<MemoryFinding, 'iteration' | 'moment'>): MemoryFinding | null {
  const match = MEMORY.exec(text);
  if (match === null) return null;
  return Number(match[2]) > 100
    ? memoryFigure(`${DOUBTFUL}max_reserved`, match[1]!, 'GiB', GIB, { ...more, moment: 'more than the device has' })
    : memoryFigure('max_reserved', match[1]!, 'GiB', GIB, more);
}

export const TORCHTITAN_STEP: LineCode = {
  id: 'torchtitan.step',
  read({ step = '', target, loss = '', fields = '' }, emit) {
    const iteration = Number(step);
    const named = new Map<string, string>();
    for (const [, name = '', text = ''] of fields.matchAll(FIELD)) named.set(name, text);
    const take = (name: string): number | undefined => {
      const value = printedNumber(named.get(name) ?? '');
      named.delete(name);
      return value ?? undefined;
    };
    const memory = peakReserved(named.get('memory') ?? '', { iteration, moment: 'since the step before' });
    const share = MEMORY.exec(named.get('memory') ?? '')?.[2];
    named.delete('memory');
    const seconds = /s$/.test(named.get('elapsed_time_per_step') ?? '') ? take('elapsed_time_per_step') : undefined;
    const known: Pick<IterationFinding, 'loss' | 'gradNorm' | 'tflopsPerGpu' | 'learningRate' | 'stepMs'> = {
      loss: printedNumber(loss) ?? undefined,
      gradNorm: take('grad_norm') ?? take('gnorm'),
      tflopsPerGpu: take('tflops'),
      learningRate: take('lr'),
      stepMs: seconds === undefined ? undefined : Number((seconds * 1000).toPrecision(15)),
    };
    emit({
      row: 'iteration',
      iteration,
      target: target === undefined ? null : Number(target),
      ...known,
      others: [
        ...(share === undefined ? [] : [{ name: 'memory_percent', value: Number(share), text: `${share}%` }]),
        ...[...named].map(([name, text]) => ({ name, value: printedNumber(text), text })),
      ],
    });
    if (memory !== null) emit(memory);
  },
};
