import type { MemoryFinding } from '../../../../src/model/log-rows.js';
import type { BlockFormat, LineFormat } from '../contract.js';
import { bannerSetting, figureFinding, plainNumber } from '../system/findings.js';
import { MIB, memoryFigure } from '../units.js';

const PRODUCER = 'Hugging Face Transformers';
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
export const HF_TRAINER_LOGS: LineFormat = {
  form: 'line',
  id: 'hf.trainer-logs',
  title: 'Dict of losses or of run times',
  producer: PRODUCER,
  versions:
    '4.0 and later; 5 prints the figures in quotes, at four significant digits; TRL adds num_tokens, mean_token_accuracy, rewards/*, objective/*, …',
  source:
    'transformers/trainer_callback.py, PrinterCallback.on_log and ProgressCallback.on_log; trainer_utils.py, TrainerMemoryTracker',
  anchors: ["{'loss': ", "{'eval_loss': ", "'eval_runtime': ", "'train_runtime': ", "{'eps': ", "'objective/kl': "],
  fields: { entries: 'every figure under hf.<key>; *_runtime in s; *_mem_* bytes, as memory' },
  pattern:
    /\{(?<entries>'(?:loss|eval_\w{1,40}|train_(?:runtime|loss)|eps|episode|objective\/\w{1,40})': [^{}]{1,6000})\}/g,
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

/** Printed label → name of the figure, canonical key of the setting where there is one. */
const BANNER: Readonly<Record<string, readonly [string, string?]>> = {
  'Num examples': ['hf.num_examples'],
  'Num Epochs': ['hf.num_epochs'],
  'Num batches each epoch': ['hf.batches_per_epoch'],
  'Instantaneous batch size per device': ['hf.batch_size_per_device', 'micro_batch_size'],
  'Instantaneous batch size per GPU': ['hf.batch_size_per_device', 'micro_batch_size'],
  'Total train batch size (w. parallel, distributed & accumulation)': [
    'hf.total_train_batch_size',
    'global_batch_size',
  ],
  'Gradient Accumulation steps': ['hf.gradient_accumulation_steps', 'gradient_accumulation_steps'],
  'Total optimization steps': ['hf.total_optimization_steps', 'train_iters'],
  'Number of trainable parameters': ['parameters.trainable'],
};

export const HF_TRAINER_BANNER: LineFormat = {
  form: 'line',
  id: 'hf.trainer-banner',
  title: 'What the trainer prints before it starts',
  producer: PRODUCER,
  versions: '3.0 and later; thousands separators since 4.25',
  source: 'transformers/trainer.py, _inner_training_loop',
  anchors: [
    'Num examples = ',
    'Num Epochs = ',
    'Num batches each epoch = ',
    'Instantaneous batch size per ',
    'Total train batch size (w. parallel, distributed & accumulation) = ',
    'Gradient Accumulation steps = ',
    'Total optimization steps = ',
    'Number of trainable parameters = ',
  ],
  fields: { label: 'as printed', value: 'count' },
  pattern:
    /(?<label>Num examples|Num Epochs|Num batches each epoch|Instantaneous batch size per (?:device|GPU)|Total train batch size \(w\. parallel, distributed & accumulation\)|Gradient Accumulation steps|Total optimization steps|Number of trainable parameters) = (?<value>\d[\d,]{0,20})/g,
  read({ label = '', value = '' }, emit) {
    const [name, key] = BANNER[label] ?? [`hf.${label}`];
    const number = plainNumber(value);
    emit(figureFinding(name, number, name.startsWith('parameters') ? 'elements' : 'count'));
    if (key !== undefined) emit(bannerSetting(key, label, String(number)));
  },
};

export const HF_TRAINER_PHASE: LineFormat = {
  form: 'line',
  id: 'hf.trainer-phase',
  title: 'Training, evaluation and the end',
  producer: PRODUCER,
  versions: '3.0 and later',
  source: 'transformers/trainer.py, _inner_training_loop and evaluation_loop',
  anchors: ['***** Running ', 'Training completed. Do not forget', 'Saving model checkpoint to '],
  fields: { what: 'training, Evaluation or Prediction', done: 'the loop ended', saves: 'a checkpoint is being saved' },
  pattern:
    /\*\*\*\*\* Running (?<what>training|Evaluation|Prediction) \*\*\*\*\*|(?<done>Training completed)\. Do not forget|(?<saves>Saving model checkpoint) to /g,
  read({ what, done, saves }, emit) {
    if (done !== undefined) emit({ row: 'phase', phase: 'finished', label: done });
    else if (saves !== undefined) emit({ row: 'phase', phase: 'checkpoint_save', label: saves });
    else emit({ row: 'phase', phase: what === 'training' ? 'training' : 'eval', label: `Running ${what ?? ''}` });
  },
};

const METRIC_LINE = /^\s{0,8}(?<key>[\w./-]{1,80}) {1,40}= {1,40}(?<text>[^\s][^\n]{0,60}?)\s{0,8}$/;
/** `0:15:19.02`, `1 day, 2:03:04.05`. */
const DURATION = /^(?:(?<days>\d{1,4}) days?, )?(?<hours>\d{1,3}):(?<minutes>\d\d):(?<seconds>\d\d\.\d\d)$/;

/**
 * Figures of `metrics_format`: MB is bytes shifted by 20, GF floating-point operations shifted by 30, both cut. Names
 * of their own, for the dict printed before has the same figures with more digits.
 */
export const HF_METRICS: BlockFormat = {
  form: 'block',
  id: 'hf.metrics',
  title: 'Metrics of a stage, at its end',
  producer: PRODUCER,
  versions: '4.3 and later; memory with skip_memory_metrics=False, on by default in 4.3 to 4.9',
  source: 'transformers/trainer_pt_utils.py, log_metrics and metrics_format',
  anchors: [' metrics *****'],
  fields: {
    stage: 'train, eval, test, predict, …',
    key: 'name of a metric',
    text: 'MiB printed as MB; days, hours, minutes and seconds; 2^30 FLOP printed as GF; else rounded to four decimals',
  },
  opens: /\*{5} (?<stage>[\w ./-]{1,40}) metrics \*{5}\s{0,4}$/,
  mostForeign: 4,
  mostLines: 256,
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
      end() {},
    };
  },
};
