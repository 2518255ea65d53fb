import type { Phase } from '../../../../src/model/log-rows.js';
import type { LineFormat } from '../contract.js';

/** What follows each of Megatron-LM's milestones. */
function phaseAfter(label: string): Phase {
  if (/SIG[A-Z]{3}|signal/.test(label)) return 'unknown';
  if (label.includes('megatron is initialized')) return 'model_build';
  if (label.includes('are built')) return label.includes('dataloaders') ? 'training' : 'data_build';
  if (label.includes('training is done') || label.startsWith('exiting program')) return 'finished';
  if (label.startsWith('before') && label.includes('training')) return 'training';
  if (label.includes('training ends') || label.includes('after training')) return 'finished';
  return 'unknown';
}

const ITERATION_IN_LABEL = /\biteration (\d{1,12})/;

export const LIFECYCLE_LINES: readonly LineFormat[] = [
  {
    form: 'line',
    id: 'megatron-lm.milestone',
    title: 'Milestone with its wall clock',
    producer: 'Megatron-LM',
    versions: 'all since 2021; `datetime=` in the argonne-lcf fork',
    source: 'megatron/training/utils.py: append_to_progress_log; training.py: print_datetime',
    anchors: ['] datetime: ', '] datetime='],
    fields: { label: 'what has just happened', time: 'wall clock, without zone' },
    pattern:
      /\[(?<label>[A-Za-z][^[\]\n]{2,120})\] datetime(?:: |=)(?<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?)/g,
    read({ label = '', time }, emit) {
      const iteration = ITERATION_IN_LABEL.exec(label)?.[1];
      emit({
        row: 'phase',
        phase: phaseAfter(label),
        label,
        ...(iteration === undefined ? {} : { iteration: Number(iteration) }),
        timeText: time,
      });
    },
  },
  {
    form: 'line',
    id: 'megatron-lm.initialize-time',
    title: 'How long initialisation took',
    producer: 'Megatron-LM',
    versions: 'all since 2021, Megatron Bridge',
    source: 'megatron/training/training.py: pretrain',
    anchors: ['time to initialize megatron (seconds): '],
    fields: { seconds: 'slowest rank; negative where clocks of hosts differ' },
    pattern: /time to initialize megatron \(seconds\): (?<seconds>-?\d{1,9}\.\d{1,6})/g,
    read({ seconds }, emit) {
      emit({ row: 'launch', label: 'time to initialize megatron' });
      emit({ row: 'value', name: 'time.initialize', value: Number(seconds), unit: 's' });
    },
  },
  {
    form: 'line',
    id: 'megatron-lm.phase',
    title: 'A phase begins',
    producer: 'Megatron-LM',
    versions: 'all; starting iteration since 2025, Megatron Bridge',
    source: 'megatron/training/training.py: pretrain, train, evaluate',
    anchors: [
      ' model ...',
      'building train, validation, and test datasets',
      'Setting up DistributedDataParallel with config',
      'Setting up optimizer with config',
      'done with setup',
      'training ...',
      'Starting training loop at iteration ',
      'Evaluating on ',
      'Evaluating iter ',
    ],
    fields: {
      model: 'kind of model that is built',
      datasets: 'datasets are built',
      wrapping: 'the model is wrapped, or the optimizer is built',
      setup: 'setup is done',
      train: 'training begins',
      start: 'iteration before the first one',
      samples: 'samples of an evaluation',
      step: 'step of an evaluation',
    },
    pattern:
      /building (?<model>[\w-]{1,24}(?: [\w-]{1,24}){0,2}) model \.\.\.|building (?<datasets>train, validation, and test datasets)|Setting up (?<wrapping>DistributedDataParallel|optimizer) with config|(?<setup>done with setups? \.\.\.)|^\s{0,8}(?<train>training \.\.\.)\s{0,8}$|Starting training loop at iteration (?<start>\d{1,12})|Evaluating on (?<samples>\d{1,12}) samples|Evaluating iter (?<step>\d{1,9}\/\d{1,9})/g,
    read({ model, datasets, wrapping, setup, train, start, samples, step }, emit) {
      if (model !== undefined) emit({ row: 'phase', phase: 'model_build', label: `building ${model} model` });
      else if (datasets !== undefined) emit({ row: 'phase', phase: 'data_build', label: `building ${datasets}` });
      else if (wrapping !== undefined) {
        const phase = wrapping === 'optimizer' ? 'optimizer_build' : 'model_build';
        emit({ row: 'phase', phase, label: `setting up ${wrapping}` });
      } else if (setup !== undefined) emit({ row: 'phase', phase: 'training', label: 'done with setup' });
      else if (train !== undefined) emit({ row: 'phase', phase: 'training', label: 'training' });
      else if (start !== undefined) {
        emit({ row: 'phase', phase: 'training', label: 'starting training loop', iteration: Number(start) });
      } else if (samples !== undefined) {
        emit({ row: 'phase', phase: 'eval', label: `evaluating on ${samples} samples` });
      } else emit({ row: 'phase', phase: 'eval', label: `evaluating iter ${step}` });
    },
  },
];
