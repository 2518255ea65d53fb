import type { LineFormat } from '../contract.js';
import { bannerSetting, figureFinding, plainNumber } from '../system/findings.js';

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

/** An iteration row only where the dict tells its step: `epoch` alone does not. */
export const HF_TRAINER_LOGS: LineFormat = {
  form: 'line',
  id: 'hf.trainer-logs',
  title: 'Dict of losses or of run times',
  producer: PRODUCER,
  versions: '4.0 and later; 5 prints the figures in quotes, at four significant digits',
  source: 'transformers/trainer_callback.py, PrinterCallback.on_log and ProgressCallback.on_log',
  anchors: ["{'loss': ", "{'eval_loss': ", "{'train_runtime': ", "{'eval_runtime': ", "'train_runtime': "],
  fields: { entries: 'every figure under hf.<key>; *_runtime in s' },
  pattern: /\{(?<entries>'(?:loss|eval_\w{1,40}|train_runtime)': [^{}]{1,6000})\}/g,
  read({ entries = '' }, emit) {
    const found = new Map<string, number>();
    for (const [, key = '', text = ''] of `${entries}}`.matchAll(ENTRY)) {
      const value = Number(text);
      if (Number.isFinite(value)) found.set(key, value);
    }
    const step = found.get('step') ?? found.get('global_step');
    if (step !== undefined && found.has('loss'))
      emit({
        row: 'iteration',
        iteration: step,
        target: null,
        loss: found.get('loss'),
        learningRate: found.get('learning_rate'),
        gradNorm: found.get('grad_norm'),
      });
    const where = step === undefined ? {} : { iteration: step };
    for (const [key, value] of found) emit(figureFinding(`hf.${key}`, value, unitOf(key), where));
  },
  samples: [
    {
      text: "{'loss': 1.75, 'grad_norm': 0.5, 'learning_rate': 2e-05, 'epoch': 0.25}",
      rows: [
        figureFinding('hf.loss', 1.75, null),
        figureFinding('hf.grad_norm', 0.5, null),
        figureFinding('hf.learning_rate', 2e-5, null),
        figureFinding('hf.epoch', 0.25, null),
      ],
    },
    {
      text: "{'train_runtime': '512.5', 'train_samples_per_second': '4.25', 'train_steps_per_second': '0.5', 'epoch': '2'}",
      rows: [
        figureFinding('hf.train_runtime', 512.5, 's'),
        figureFinding('hf.train_samples_per_second', 4.25, 'samples/s'),
        figureFinding('hf.train_steps_per_second', 0.5, 'steps/s'),
        figureFinding('hf.epoch', 2, null),
      ],
    },
    {
      text: "{'loss': 1.5, 'learning_rate': 1e-05, 'step': 20}",
      rows: [
        { row: 'iteration', iteration: 20, target: null, loss: 1.5, learningRate: 1e-5 },
        figureFinding('hf.loss', 1.5, null, { iteration: 20 }),
        figureFinding('hf.learning_rate', 1e-5, null, { iteration: 20 }),
        figureFinding('hf.step', 20, null, { iteration: 20 }),
      ],
    },
  ],
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
  title: 'What the trainer says before it starts',
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
  samples: [
    {
      text: '  Instantaneous batch size per device = 2',
      rows: [
        figureFinding('hf.batch_size_per_device', 2, 'count'),
        bannerSetting('micro_batch_size', 'Instantaneous batch size per device', '2'),
      ],
    },
    { text: '  Num examples = 12,500', rows: [figureFinding('hf.num_examples', 12_500, 'count')] },
    {
      text: '  Number of trainable parameters = 7,000,100',
      rows: [figureFinding('parameters.trainable', 7_000_100, 'elements')],
    },
  ],
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
  samples: [
    { text: '***** Running training *****', rows: [{ row: 'phase', phase: 'training', label: 'Running training' }] },
    { text: '***** Running Evaluation *****', rows: [{ row: 'phase', phase: 'eval', label: 'Running Evaluation' }] },
    {
      text: 'Training completed. Do not forget to share your model',
      rows: [{ row: 'phase', phase: 'finished', label: 'Training completed' }],
    },
    {
      text: 'Saving model checkpoint to out/checkpoint-500',
      rows: [{ row: 'phase', phase: 'checkpoint_save', label: 'Saving model checkpoint' }],
    },
  ],
};
