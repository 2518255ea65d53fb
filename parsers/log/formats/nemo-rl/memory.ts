import type { LineFormat } from '../contract.js';
import { GIB, memoryFigure } from '../units.js';

export const NEMO_RL_PRODUCER = 'NeMo RL';

export const NEMO_RL_MEMORY: LineFormat = {
  form: 'line',
  id: 'nemo-rl.gpu-memory',
  title: 'Memory of a policy worker around the refit of the engine',
  producer: NEMO_RL_PRODUCER,
  versions: '0.1 and later',
  source:
    'nemo_rl/models/policy/workers/megatron_policy_worker.py and dtensor_policy_worker.py, offload_before_refit and offload_after_refit',
  anchors: ['GB allocated, '],
  fields: {
    moment: 'before or after optimizer offload, after refit complete',
    allocated: 'GiB, printed as GB',
    reserved: 'GiB, printed as GB',
  },
  pattern:
    /GPU Memory (?<moment>[^\n:]{1,80}): (?<allocated>\d{1,6}\.\d{2})GB allocated, (?<reserved>\d{1,6}\.\d{2})GB reserved/g,
  read({ moment, allocated = '', reserved = '' }, emit) {
    emit(memoryFigure('allocated', allocated, 'GB', GIB, { moment }));
    emit(memoryFigure('reserved', reserved, 'GB', GIB, { moment }));
  },
};
