/** Lines that only report that memory ran out, not whose or how much: they decide nothing. */
import type { KindVerdict } from './kind-verdict.js';

export const DRIVER: KindVerdict = {
  cause: 'undecided',
  detail: null,
  confidence: 'low',
  summary: 'an allocation outside the caching allocator failed; such a line carries no figures and decides nothing',
  missing: ['the memory use of the whole device at that moment (nvidia-smi), or a full OOM message of another rank'],
  next: ['look for an earlier OOM message of any rank on that host; check for other processes with nvidia-smi'],
  capture: 'device_total',
};

export const LIBRARY: KindVerdict = {
  ...DRIVER,
  summary: 'a CUDA library failed to set itself up: often, but not always, because the device is full',
};

export const FIGURES_LOST: KindVerdict = {
  ...DRIVER,
  summary:
    'an assertion failed while an OOM message was being written: the device was out of memory, the figures are lost',
};

export const FOREIGN: KindVerdict = {
  ...DRIVER,
  summary: "another framework's allocator ran out; this version does not read its figures",
  missing: ['the figures of that allocator'],
  next: [],
};
