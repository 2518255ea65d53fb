/** Host memory: what offloading, workers and staging keep there. */

import { type FixCode, isSet, settings } from '../fix.js';

export const HOST_FIXES: FixCode = {
  'host-optimizer-offload': ({ view }) => {
    const fraction = Number(view.setting('optimizer_offload_fraction').value);
    if (!isSet(view, 'optimizer_cpu_offload') || !(fraction > 0)) return [];
    return {
      title: `optimizer_offload_fraction ${fraction} → ${fraction / 2}`,
      change: settings({ optimizer_offload_fraction: String(fraction / 2) }),
    };
  },

  'host-activation-offload': ({ view }) => {
    const layers = Number(view.setting('cpu_offloading_num_layers').value);
    if (!isSet(view, 'cpu_offloading') || !(layers > 1)) return [];
    return {
      title: `cpu_offloading_num_layers ${layers} → ${Math.floor(layers / 2)}`,
      change: settings({ cpu_offloading_num_layers: String(Math.floor(layers / 2)) }),
    };
  },

  'fewer-workers': ({ view }) => {
    const workers = Number(view.setting('num_workers').value);
    if (!(workers > 1)) return [];
    return {
      title: `num_workers ${workers} → ${Math.floor(workers / 2)}`,
      change: settings({ num_workers: String(Math.floor(workers / 2)) }),
    };
  },

  'synchronous-save': ({ view }) => isSet(view, 'async_save'),
};
