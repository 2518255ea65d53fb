/** What verl and those that took its function over print of memory at a named moment. */
import type { LineFormat } from '../contract.js';
import { GB, GIB, MIB, memoryFigure } from '../units.js';

export const VERL_PRODUCER = 'verl';

/** `INFO:/opt/verl/workers/x.py:Before …`, `… INFO [/x.py:89] => Before …`: what a logger put before the moment. */
const LOGGER = /^.{0,160}(?:\.py:(?:\d{1,6}:)?|=> |\] )/;

const NUMBER = String.raw`\d{1,9}(?:\.\d{1,20})?(?:e-\d{1,3})?`;

/**
 * One entry for all of them: the order of the figures is the same, and later versions add some. Their GB are 1024^3;
 * ROLL's test helper divides what it calls MB by 1024^2.
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
    moment: 'label of the caller',
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
};
