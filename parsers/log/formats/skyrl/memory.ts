import type { LineFormat } from '../contract.js';
import { figureFinding } from '../system/findings.js';
import { GIB, memoryFigure } from '../units.js';

const PRODUCER = 'SkyRL';
const METRICS = { allocated: 'allocated', reserved: 'reserved', free: 'device_free', total: 'device_total' } as const;

export const SKYRL_MEMORY: LineFormat = {
  form: 'line',
  id: 'skyrl.memory',
  title: 'Memory of a process and its device at a named moment',
  producer: PRODUCER,
  versions: '0.1 and later',
  source: 'skyrl-train/skyrl_train/utils/utils.py, print_mem (since 2026: skyrl/train/utils/utils.py)',
  anchors: [' GiB, Reserved: '],
  fields: {
    moment: 'label of the caller',
    allocated: 'GiB',
    reserved: 'GiB',
    free: 'GiB of the device, cudaMemGetInfo',
    total: 'GiB of the device',
  },
  pattern:
    /- Allocated: (?<=(?<moment>[^\n]{1,120}) - Allocated: )(?<allocated>\d{1,6}\.\d{2}) GiB, Reserved: (?<reserved>\d{1,6}\.\d{2}) GiB, Free: (?<free>\d{1,6}\.\d{2}) GiB, Total: (?<total>\d{1,6}\.\d{2}) GiB/g,
  read(groups, emit) {
    const moment = (groups['moment'] ?? '').trim();
    for (const [group, metric] of Object.entries(METRICS))
      emit(memoryFigure(metric, groups[group] ?? '', 'GiB', GIB, { moment }));
  },
};

export const SKYRL_TIMER: LineFormat = {
  form: 'line',
  id: 'skyrl.timer',
  title: 'Time of a phase: generate, sync_weights, policy_train, offload_policy_model_to_cpu',
  producer: PRODUCER,
  versions: '0.1 and later',
  source: 'skyrl-train/skyrl_train/utils/utils.py, Timer.__exit__',
  anchors: ["', time cost: "],
  fields: { name: 'of the phase', seconds: 'seconds' },
  pattern: /Finished: '(?<name>[^'\n]{1,80})', time cost: (?<seconds>\d{1,9}\.\d{2})s/g,
  read: ({ name, seconds }, emit) => emit(figureFinding(`skyrl.timer.${name}`, Number(seconds), 's')),
};
