import type { LineFormat } from '../contract.js';
import { GIB, memoryFigure } from '../units.js';

export const NEMO_MEMORY_LINES: readonly LineFormat[] = [
  {
    form: 'line',
    id: 'nemo.memory-profile',
    title: 'Memory of one rank when training ends',
    producer: 'NeMo',
    versions: '2.0 and later, with MemoryProfileCallback',
    source: 'nemo/lightning/pytorch/callbacks/memory_profiler.py: on_train_end',
    anchors: ['on_train_batch_end rank: '],
    fields: {
      rank: 'global rank',
      allocated: 'GiB, a float’s shortest text',
      reserved: 'highest reserved memory so far, GiB',
    },
    pattern:
      /on_train_batch_end rank: (?<rank>\d{1,7}) mem: (?<allocated>\d{1,6}(?:\.\d{1,24})?(?:e-?\d{1,3})?) \/ (?<reserved>\d{1,6}(?:\.\d{1,24})?(?:e-?\d{1,3})?)/g,
    read({ rank, allocated = '', reserved = '' }, emit) {
      const more = { moment: 'on_train_end', rank: Number(rank) };
      emit(memoryFigure('allocated', allocated, 'GiB', GIB, more, 0));
      emit(memoryFigure('max_reserved', reserved, 'GiB', GIB, more, 0));
    },
  },
];
