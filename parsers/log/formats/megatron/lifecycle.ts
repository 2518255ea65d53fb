import type { Phase } from '../../../../src/model/log-rows.js';
import type { LineCode } from '../contract.js';

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

export const LIFECYCLE_LINES: readonly LineCode[] = [
  {
    id: 'megatron-lm.milestone',
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
