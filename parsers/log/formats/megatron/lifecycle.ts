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
];
