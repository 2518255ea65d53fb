import type { LineCode } from '../contract.js';
import { countFinding } from '../torch/stat-metric.js';
import { GIB, memoryFigure } from '../units.js';

/** `round(x, 4)` drops zeros. */
const FOUR_DECIMALS = 0.000_05;
const MOST_UPDATES = 2000;

export const FSDP_MEMORY_MAXIMIZER: LineCode = {
  id: 'fsdp.memory-maximizer',
  read({ what, value = '', retries, which, values = '' }, emit, { metrics }) {
    if (what !== undefined) {
      const metric = metrics!.get(what)!;
      const more = metric === 'device_total' ? {} : { moment: 'training' };
      emit(memoryFigure(metric, value, 'GB', GIB, more, FOUR_DECIMALS));
    } else if (retries !== undefined) emit(countFinding('alloc_retries', Number(retries), { moment: 'training' }));
    else if (which !== undefined) {
      for (const [at, text] of values.split(', ', MOST_UPDATES).entries())
        emit(memoryFigure(which, text, 'GB', GIB, { moment: `update ${at + 1}` }, FOUR_DECIMALS));
    }
  },
};

export const FSDP_STEP: LineCode = {
  id: 'fsdp.step',
  read({ epoch = '', epochs = '', step = '', steps = '', loss = '' }, emit) {
    const perEpoch = Number(steps);
    emit({
      row: 'iteration',
      iteration: (Number(epoch) - 1) * perEpoch + Number(step) + 1,
      target: Number(epochs) * perEpoch,
      loss: Number(loss),
      others: [{ name: 'epoch', value: Number(epoch), text: epoch }],
    });
  },
};
