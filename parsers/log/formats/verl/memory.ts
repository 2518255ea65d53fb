/** What verl and those that took its function over print of memory at a named moment. */
import type { LineFormat } from '../contract.js';
import { GB, GIB, MIB, memoryFigure } from '../units.js';

export const VERL_PRODUCER = 'verl';

/** `INFO:/opt/verl/workers/x.py:Before …`, `… INFO [/x.py:89] => Before …`: what a logger put before the moment. */
const LOGGER = /^.{0,160}(?:\.py:(?:\d{1,6}:)?|=> |\] )/;

const NUMBER = String.raw`\d{1,9}(?:\.\d{1,20})?(?:e-\d{1,3})?`;

/**
 * One entry for all of them: the order of the figures is the same, and later versions add some. Their GB are 1024^3; ROLL's test
 * helper divides what it calls MB by 1024^2.
 */
export const VERL_MEMORY: LineFormat = {
  form: 'line',
  id: 'verl.gpu-memory',
  title: 'Memory of one process, and of its device, at a named moment',
  producer: 'verl, AReaL, ROLL',
  versions:
    'verl 0.1 and later: the device since 0.3; `max` in builds for NPUs. AReaL 0.3 and later. ROLL 0.1 and later',
  source:
    'verl/utils/profiler/performance.py (before: utils/debug/performance.py), log_gpu_memory_usage and GPUMemoryLogger.log; AReaL areal/utils/device.py, log_gpu_stats; ROLL roll/utils/context_managers.py, log_gpu_memory_usage',
  anchors: ['memory allocated (GB): '],
  fields: {
    moment: 'what the caller says of it',
    allocated: 'GiB, printed as GB; two decimals, or all of them in old versions',
    maxAllocated: 'its peak since the last reset',
    reserved: 'GiB',
    reservedUnit: 'GB (2^30) or MB (2^20)',
    maxReserved: 'its peak',
    rss: 'GiB of the process on the host',
    used: 'GiB of the device in use, by whomever: total less free of cudaMemGetInfo',
    total: 'GiB of the device; 0.00 where there is none',
    deviceUsed: 'GiB of the device in use',
  },
  pattern: new RegExp(
    String.raw`memory allocated \(GB\): (?<=(?<moment>[^,\n]{1,160}), memory allocated \(GB\): )(?<allocated>${NUMBER})(?:, max memory allocated \(GB\): (?<maxAllocated>${NUMBER}))?, memory reserved \((?<reservedUnit>GB|MB)\): (?<reserved>${NUMBER})(?:, (?:max memory reserved|memory max reserved) \(GB\): (?<maxReserved>${NUMBER}))?(?:, rss \(GB\): (?<rss>${NUMBER}))?(?:,? device memory used\/total \(GB\): (?<used>${NUMBER})\/(?<total>${NUMBER})|,? memory device used \(GB\): (?<deviceUsed>${NUMBER}))?`,
    'g',
  ),
  read(
    {
      moment = '',
      allocated = '',
      maxAllocated,
      reserved = '',
      reservedUnit,
      maxReserved,
      rss,
      used,
      total,
      deviceUsed,
    },
    emit,
  ) {
    const more = { moment: moment.replace(LOGGER, '').trim() };
    const figure = (metric: string, text: string | undefined, unit = 'GB'): void => {
      if (text !== undefined) emit(memoryFigure(metric, text, unit, unit === 'MB' ? MIB : GIB, more));
    };
    figure('allocated', allocated);
    figure('max_allocated', maxAllocated);
    figure('reserved', reserved, reservedUnit);
    figure('max_reserved', maxReserved);
    figure('process_rss', rss);
    // Without a device all of it is 0.00.
    if (Number(total) > 0) {
      figure('device_used', used);
      figure('device_total', total);
    }
    figure('device_used', deviceUsed);
  },
  samples: [
    {
      text: 'After FSDP, memory allocated (GB): 7.49, memory reserved (GB): 8.47, device memory used/total (GB): 9.59/79.11',
      rows: [
        memoryFigure('allocated', '7.49', 'GB', GIB, { moment: 'After FSDP' }),
        memoryFigure('reserved', '8.47', 'GB', GIB, { moment: 'After FSDP' }),
        memoryFigure('device_used', '9.59', 'GB', GIB, { moment: 'After FSDP' }),
        memoryFigure('device_total', '79.11', 'GB', GIB, { moment: 'After FSDP' }),
      ],
    },
    {
      text: 'Before building vllm rollout, memory allocated (GB): 0.9205484390258789, memory reserved (GB): 2.78125',
      rows: [
        memoryFigure('allocated', '0.9205484390258789', 'GB', GIB, { moment: 'Before building vllm rollout' }),
        memoryFigure('reserved', '2.78125', 'GB', GIB, { moment: 'Before building vllm rollout' }),
      ],
    },
    {
      text: 'DEBUG:/opt/verl/workers/actor/dp_actor.py:actor After update_policy, memory allocated (GB): 0.00, memory reserved (GB): 0.00, device memory used/total (GB): 0.00/0.00',
      rows: [
        memoryFigure('allocated', '0.00', 'GB', GIB, { moment: 'actor After update_policy' }),
        memoryFigure('reserved', '0.00', 'GB', GIB, { moment: 'actor After update_policy' }),
      ],
    },
    {
      text: '[Rank 0 | Local Rank 0] 2025-12-04 09:46:18,670 INFO [/opt/verl/workers/megatron_workers.py:89] => update_actor Before update_actor, memory allocated (GB): 45.14, max memory allocated (GB): 45.50, memory reserved (GB): 52.16, max memory reserved (GB): 52.50, device memory used/total (GB): 10.25/60.96, cpu_memory: {}',
      rows: (
        [
          ['allocated', '45.14'],
          ['max_allocated', '45.50'],
          ['reserved', '52.16'],
          ['max_reserved', '52.50'],
          ['device_used', '10.25'],
          ['device_total', '60.96'],
        ] as const
      ).map(([metric, text]) => memoryFigure(metric, text, 'GB', GIB, { moment: 'update_actor Before update_actor' })),
    },
    {
      text: 'actor_train/train_step_start_onload, memory allocated (GB): 1.5, memory reserved (GB): 2.25, memory max reserved (GB): 3.0, rss (GB): 12.5 memory device used (GB): 20.75',
      rows: (
        [
          ['allocated', '1.5'],
          ['reserved', '2.25'],
          ['max_reserved', '3.0'],
          ['process_rss', '12.5'],
          ['device_used', '20.75'],
        ] as const
      ).map(([metric, text]) =>
        memoryFigure(metric, text, 'GB', GIB, { moment: 'actor_train/train_step_start_onload' }),
      ),
    },
    {
      text: 'offload, memory allocated (GB): 1.5, memory reserved (MB): 2304.0, memory max reserved (GB): 3.0',
      rows: [
        memoryFigure('allocated', '1.5', 'GB', GIB, { moment: 'offload' }),
        memoryFigure('reserved', '2304.0', 'MB', MIB, { moment: 'offload' }),
        memoryFigure('max_reserved', '3.0', 'GB', GIB, { moment: 'offload' }),
      ],
    },
  ],
};

export const VERL_CACHE_MEMORY: LineFormat = {
  form: 'line',
  id: 'verl.cache-memory',
  title: 'Memory around the making of the KV cache',
  producer: VERL_PRODUCER,
  versions: '0.1 to 0.3, with its own copies of vLLM 0.3 to 0.6.3',
  source: 'verl/third_party/vllm/vllm_v_0_6_3/spmd_gpu_executor.py, SPMDGPUExecutor.initialize_cache',
  anchors: ['init cache memory allocated: '],
  fields: { moment: 'before or after', allocated: 'GB of 10^9, unlike all others of verl', reserved: 'GB of 10^9' },
  pattern:
    /(?<moment>before|after) init cache memory allocated: (?<allocated>\d{1,6}(?:\.\d{1,12})?)GB, reserved: (?<reserved>\d{1,6}(?:\.\d{1,12})?)GB/g,
  read({ moment, allocated = '', reserved = '' }, emit) {
    const more = { moment: `${moment} init cache` };
    emit(memoryFigure('allocated', allocated, 'GB', GB, more));
    emit(memoryFigure('reserved', reserved, 'GB', GB, more));
  },
  samples: [
    {
      text: 'before init cache memory allocated: 1.495428096GB, reserved: 1.549795328GB',
      rows: [
        memoryFigure('allocated', '1.495428096', 'GB', GB, { moment: 'before init cache' }),
        memoryFigure('reserved', '1.549795328', 'GB', GB, { moment: 'before init cache' }),
      ],
    },
  ],
};
