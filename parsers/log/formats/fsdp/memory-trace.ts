import type { LineFormat } from '../contract.js';
import { countFinding } from '../torch/stat-metric.js';
import { GIB, memoryFigure } from '../units.js';

const MAXIMA: Readonly<Record<string, string>> = {
  'cuda max reserved memory': 'max_reserved',
  'cuda max memory allocated': 'max_allocated',
  'peak active memory': 'max_active',
  'total memory per gpu (GB)': 'device_total',
};
/** `round(x, 4)` drops zeros. */
const FOUR_DECIMALS = 0.000_05;
const MOST_UPDATES = 2000;

export const FSDP_MEMORY_MAXIMIZER: LineFormat = {
  form: 'line',
  id: 'fsdp.memory-maximizer',
  title: 'Peak memory of a training, and what it held at every update',
  producer: 'PyTorch FSDP examples',
  versions: '2022 and later, with Memory_Maximizer',
  source: 'performance/gpu_memory.py, Memory_Maximizer.stop, copied into many trainers',
  anchors: [
    '--> cuda max ',
    '--> peak active memory = ',
    '--> total memory per gpu (GB) = ',
    'cudaMalloc retries = ',
    'reserved memory = [',
    'allocated memory = [',
  ],
  fields: {
    what: 'name of a peak since the start, or of the total of the device',
    value: 'GiB, four decimals, zeros dropped',
    retries: 'num_alloc_retries: a cudaMalloc failed that often',
    which: 'reserved or allocated',
    values: 'GiB at the end of each epoch or micro-batch',
  },
  pattern:
    /--> (?<what>cuda max reserved memory|cuda max memory allocated|peak active memory|total memory per gpu \(GB\)) = (?<value>\d{1,6}(?:\.\d{1,6})?)|\bcudaMalloc retries = (?<retries>\d{1,9})|^\s{0,4}(?<which>reserved|allocated) memory = \[(?<values>\d{1,6}(?:\.\d{1,6})?(?:, \d{1,6}(?:\.\d{1,6})?){0,2000})\]/g,
  read({ what, value = '', retries, which, values = '' }, emit) {
    if (what !== undefined) {
      const metric = MAXIMA[what]!;
      const more = metric === 'device_total' ? {} : { moment: 'training' };
      emit(memoryFigure(metric, value, 'GB', GIB, more, FOUR_DECIMALS));
    } else if (retries !== undefined) emit(countFinding('alloc_retries', Number(retries), { moment: 'training' }));
    else if (which !== undefined) {
      for (const [at, text] of values.split(', ', MOST_UPDATES).entries())
        emit(memoryFigure(which, text, 'GB', GIB, { moment: `update ${at + 1}` }, FOUR_DECIMALS));
    }
  },
};

export const FSDP_STEP: LineFormat = {
  form: 'line',
  id: 'fsdp.step',
  title: 'Progress bar with epoch, step and loss',
  producer: 'llama-recipes (llama-cookbook)',
  versions: '2023 and later; without the number of epochs in the first months, which are not read',
  source: 'llama_recipes/utils/train_utils.py, train',
  anchors: ['Training Epoch: '],
  fields: {
    epoch: '1-based',
    epochs: 'number of epochs',
    step: '0-based batch of the epoch; with gradient accumulation several make one optimizer step',
    steps: 'batches of an epoch',
    loss: 'of the batch, on this rank',
  },
  pattern:
    /Training Epoch: (?<epoch>\d{1,6})\/(?<epochs>\d{1,6}), step (?<step>\d{1,9})\/(?<steps>\d{1,9}) completed \(loss: (?<loss>\d{1,9}(?:\.\d{1,24})?(?:e[-+]?\d{1,3})?)/g,
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
