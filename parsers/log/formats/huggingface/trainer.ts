import type { MemoryFinding } from '../../../../src/model/log-rows.js';
import type { LineCode } from '../contract.js';
import { figureFinding } from '../system/findings.js';
import { memoryFigure } from '../units.js';

const ENTRY =
  /['"]([\w./ -]{1,80})['"]: ?['"]?(-?\d{1,16}(?:\.\d{1,20})?(?:e[-+]?\d{1,3})?|nan|-?inf)['"]?(?=[,}\s]|$)/g;
const SECONDS = /(?:^|_)runtime$/;

function unitOf(key: string): string | null {
  if (SECONDS.test(key)) return 's';
  if (key.endsWith('_samples_per_second')) return 'samples/s';
  if (key.endsWith('_steps_per_second')) return 'steps/s';
  return null;
}

/**
 * `train_mem_gpu_alloc_delta`, `before_init_mem_cpu`, …: measured by `TrainerMemoryTracker` on rank 0 and device 0.
 * Deltas between the ends of a stage are not levels, so the key remains the metric's name.
 */
const MEMORY_KEY = /(?:^|_)mem_[cg]pu(?:_|$)/;

/** An iteration row only if the dict contains its step: `epoch` alone is not enough. */
export const HF_TRAINER_LOGS: LineCode = {
  id: 'hf.trainer-logs',
  read({ entries = '' }, emit) {
    const values = new Map<string, number>();
    const memory: MemoryFinding[] = [];
    for (const [, key = '', text = ''] of `${entries}}`.matchAll(ENTRY)) {
      const value = Number(text);
      if (!Number.isFinite(value)) continue;
      if (MEMORY_KEY.test(key)) memory.push(memoryFigure(key, text, 'bytes', 1));
      else values.set(key, value);
    }
    const step = values.get('step') ?? values.get('global_step');
    if (step !== undefined && values.has('loss'))
      emit({
        row: 'iteration',
        iteration: step,
        target: null,
        loss: values.get('loss'),
        learningRate: values.get('learning_rate'),
        gradNorm: values.get('grad_norm'),
      });
    const where = step === undefined ? {} : { iteration: step };
    for (const [key, value] of values) emit(figureFinding(`hf.${key}`, value, unitOf(key), where));
    for (const figure of memory) emit({ ...figure, ...where });
  },
};
