import type { LineFormat } from '../contract.js';
import { bannerSetting } from '../system/findings.js';

export const LIGHTNING_SCHEDULER: LineFormat = {
  form: 'line',
  id: 'lightning.scheduler',
  title: 'Steps that the learning rate is scheduled for',
  producer: 'NeMo',
  versions: '1.x, with PyTorch Lightning',
  source: 'nemo/core/optim/lr_scheduler.py, prepare_lr_scheduler',
  anchors: ['will be used during training (effective maximum steps = '],
  fields: { steps: 'optimizer steps of the whole training' },
  pattern: /will be used during training \(effective maximum steps = (?<steps>\d{1,12})\)/g,
  read({ steps = '' }, emit) {
    emit(bannerSetting('train_iters', 'effective maximum steps', steps));
  },
};
