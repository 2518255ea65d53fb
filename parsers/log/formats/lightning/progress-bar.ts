import type { IterationFinding } from '../../../../src/model/log-rows.js';
import type { LineCode } from '../contract.js';
import { pythonNumber } from '../field-list.js';

const FIELD = /(?:^|, )([A-Za-z_][\w./ -]{0,60})=([^,\]\s]{0,40})/g;
const LOSSES = ['train_loss', 'train_loss_step', 'loss', 'train/loss', 'train/loss_step'];

export const LIGHTNING_PROGRESS_BAR: LineCode = {
  id: 'lightning.progress-bar',
  read({ epoch = '', done, total, open, rest = '' }, emit) {
    // NeMo's bar has a format of its own.
    if (rest.includes('reduced_train_loss=')) return;
    const otherValues: { name: string; value: number | null; text: string }[] = [
      { name: 'epoch', value: Number(epoch), text: epoch },
    ];
    const figures = new Map<string, number>();
    for (const [, name = '', text = ''] of rest.matchAll(FIELD)) {
      const value = pythonNumber(text);
      if (value !== null) figures.set(name, value);
      if (name !== 'global_step' && !LOSSES.includes(name)) otherValues.push({ name, value, text });
    }
    const globalStep = figures.get('global_step');
    const inEpoch = Number(done ?? open);
    // Without a length, the batches of the epochs before are not known.
    const position = total !== undefined || epoch === '0' ? Number(epoch) * Number(total ?? 0) + inEpoch : 0;
    const iteration = Number.isSafeInteger(globalStep) ? globalStep! + 1 : position;
    if (iteration === 0 || inEpoch === 0) return;
    const loss = LOSSES.map((name) => figures.get(name)).find((value) => value !== undefined);
    const row: IterationFinding = {
      row: 'iteration',
      iteration,
      target: null,
      ...(loss === undefined ? {} : { loss }),
      others: otherValues,
    };
    emit(row);
  },
};
