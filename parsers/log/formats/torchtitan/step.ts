import { DOUBTFUL, type IterationFinding, type MemoryFinding } from '../../../../src/model/log-rows.js';
import type { LineFormat } from '../contract.js';
import { figureFinding, plainNumber } from '../system/findings.js';
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

export const TORCHTITAN_STEP: LineFormat = {
  form: 'line',
  id: 'torchtitan.step',
  title: 'Training step of torchtitan',
  producer: 'torchtitan',
  versions:
    '0.0.2 and later, read up to 2026; `wps` until early 2025, then `tps`; grad_norm and tflops since 2025, five digits of loss since late 2025; forks add a target, lr, gnorm or elapsed_time_per_step',
  source: 'torchtitan/components/metrics.py, MetricsProcessor.log (before: train.py)',
  anchors: ['memory: ', 'grad_norm: '],
  fields: {
    step: '1-based',
    target: 'last step, of forks that print it',
    loss: 'global average',
    fields:
      '`elapsed_time_per_step` s; `memory` GiB: peak of reserved bytes of this rank since the previous print, which resets it; share of the device in percent; `tps` tokens per second and device; `tflops` MODEL_TFLOP/s per device; `mfu` percent',
  },
  // Not `validate step:`.
  pattern:
    /(?<!validate )\bstep: {1,8}(?<step>\d{1,9})(?:\/(?<target>\d{1,9})(?: = \d{1,3}(?:\.\d{1,6})?%)?)? {1,4}loss: {1,8}(?<loss>[-\d.naif]{1,24})(?<fields>(?: {1,4}[a-z_]{2,24}: {0,8}[^\s:]{1,32}){1,24})/g,
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

export const TORCHTITAN_VALIDATION: LineFormat = {
  form: 'line',
  id: 'torchtitan.validation',
  title: 'Validation of torchtitan',
  producer: 'torchtitan',
  versions: '0.1 and later',
  source: 'torchtitan/components/metrics.py, MetricsProcessor.log_validation',
  anchors: ['validate step: '],
  fields: {
    step: '1-based training step',
    loss: 'validation loss',
    memory: 'GiB: peak of reserved bytes while validating',
  },
  pattern:
    /validate step: {1,8}(?<step>\d{1,9}) {1,4}loss: {1,8}(?<loss>\d{1,6}(?:\.\d{1,8})?) {1,4}memory: {1,8}(?<memory>[^\s:]{1,32})/g,
  read({ step = '', loss = '', memory = '' }, emit) {
    const iteration = Number(step);
    emit({ row: 'phase', phase: 'eval', label: 'validate step', iteration });
    emit(figureFinding('validation.loss', Number(loss), null, { iteration }));
    const finding = peakReserved(memory, { iteration, moment: 'validation' });
    if (finding !== null) emit(finding);
  },
};
