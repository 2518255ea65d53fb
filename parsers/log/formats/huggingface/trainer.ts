import type { MemoryFinding } from '../../../../src/model/log-rows.js';
import type { BlockCode, LineCode } from '../contract.js';
import { figureFinding, plainNumber } from '../system/findings.js';
import { MIB, memoryFigure } from '../units.js';

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

const METRIC_LINE = /^\s{0,8}(?<key>[\w./-]{1,80}) {1,40}= {1,40}(?<text>[^\s][^\n]{0,60}?)\s{0,8}$/;
/** `0:15:19.02`, `1 day, 2:03:04.05`. */
const DURATION = /^(?:(?<days>\d{1,4}) days?, )?(?<hours>\d{1,3}):(?<minutes>\d\d):(?<seconds>\d\d\.\d\d)$/;

/**
 * Figures of `metrics_format`: MB is bytes shifted by 20, GF floating-point operations shifted by 30, both cut. Names
 * of their own, for the dict printed before has the same figures with more digits.
 */
export const HF_METRICS: BlockCode = {
  id: 'hf.metrics',
  begin(match, emit) {
    const stage = match.groups?.['stage'] ?? '';
    return {
      line(line) {
        const { key = '', text = '' } = METRIC_LINE.exec(line)?.groups ?? {};
        if (key === '') return 'foreign';
        if (MEMORY_KEY.test(key) && /^-?\d{1,12}MB$/.test(text)) {
          emit(memoryFigure(key, text.slice(0, -2), 'MB', MIB, { moment: `${stage} metrics` }, 1));
          return 'taken';
        }
        const { days = '0', hours, minutes, seconds } = DURATION.exec(text)?.groups ?? {};
        if (hours !== undefined) {
          const wholeSeconds = ((Number(days) * 24 + Number(hours)) * 60 + Number(minutes)) * 60;
          emit(figureFinding(`hf.metrics.${key}`, Number((wholeSeconds + Number(seconds)).toFixed(2)), 's'));
          return 'taken';
        }
        if (/^\d{1,15}GF$/.test(text)) {
          emit({ ...figureFinding(`hf.metrics.${key}`, Number(text.slice(0, -2)) * 2 ** 30, 'FLOP'), text });
          return 'taken';
        }
        const value = plainNumber(text);
        if (Number.isFinite(value)) emit(figureFinding(`hf.metrics.${key}`, value, unitOf(key)));
        return 'taken';
      },
    };
  },
};
