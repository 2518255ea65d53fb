/** Host memory: what offloading, workers and staging keep there. */

import { sentencesOf } from '../../../model/statement.js';
import { type FixCode, settings } from '../fix.js';

const fixText = sentencesOf('fixes');

export const HOST_FIXES: FixCode = {
  'host-optimizer-offload': ({ view }) => {
    const fraction = Number(view.setting('optimizer_offload_fraction').value);
    return {
      title: fixText('offload_fraction', { from: fraction, to: fraction / 2 }),
      change: settings({ optimizer_offload_fraction: String(fraction / 2) }),
    };
  },

  'host-activation-offload': ({ view }) => {
    const layers = Number(view.setting('cpu_offloading_num_layers').value);
    return {
      title: fixText('offload_fewer_layers', { from: layers, to: Math.floor(layers / 2) }),
      change: settings({ cpu_offloading_num_layers: String(Math.floor(layers / 2)) }),
    };
  },

  'fewer-workers': ({ view }) => {
    const workers = Number(view.setting('num_workers').value);
    return {
      title: fixText('workers', { from: workers, to: Math.floor(workers / 2) }),
      change: settings({ num_workers: String(Math.floor(workers / 2)) }),
    };
  },
};
