import type { LineFormat } from '../contract.js';
import { figureFinding } from '../system/findings.js';

export const DEEPSPEED_DATA_START: LineFormat = {
  form: 'line',
  id: 'deepspeed.data-start',
  title: 'Iteration at which the data iterators begin',
  producer: 'Megatron-DeepSpeed',
  versions: 'all; Megatron-LM 1.x and 2.0 too',
  source: 'megatron/training.py, build_train_valid_test_data_iterators',
  anchors: [' data start iteration to '],
  fields: { split: 'training or validation', iteration: 'iterations done before; 0 of a fresh start' },
  pattern: /setting (?<split>training|validation) data start iteration to (?<iteration>\d{1,12})/g,
  read({ split = '', iteration = '' }, emit) {
    emit(figureFinding(`data.${split}_start_iteration`, Number(iteration), 'iteration'));
  },
};
