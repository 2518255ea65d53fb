/** Host memory: what offloading, workers and staging keep there. */

import { type FixSpec, fixSpec, isSet, settings, unmeasured } from '../fix.js';

const fewerOnHost = fixSpec('host-optimizer-offload', ({ view }) => {
  const fraction = Number(view.setting('optimizer_offload_fraction').value);
  if (!isSet(view, 'optimizer_cpu_offload') || !(fraction > 0)) return [];
  return [
    {
      id: 'host-optimizer-offload',
      title: `optimizer_offload_fraction ${fraction} → ${fraction / 2}`,
      change: settings({ optimizer_offload_fraction: String(fraction / 2) }),
      requires: ['room for the other half on the device'],
      saving: { bytes: null, by: null, text: 'half of the offloaded state, of every rank of a host' },
      cost: unmeasured('faster, not slower'),
    },
  ];
});

const fewerLayers = fixSpec('host-activation-offload', ({ view }) => {
  const layers = Number(view.setting('cpu_offloading_num_layers').value);
  if (!isSet(view, 'cpu_offloading') || !(layers > 1)) return [];
  return [
    {
      id: 'host-activation-offload',
      title: `cpu_offloading_num_layers ${layers} → ${Math.floor(layers / 2)}`,
      change: settings({ cpu_offloading_num_layers: String(Math.floor(layers / 2)) }),
      saving: { bytes: null, by: null, text: 'their activations, of every rank of a host' },
      cost: unmeasured('faster, if the device has the room'),
    },
  ];
});

const fewerWorkers = fixSpec('fewer-workers', ({ view }) => {
  const workers = Number(view.setting('num_workers').value);
  if (!(workers > 1)) return [];
  return [
    {
      id: 'fewer-workers',
      title: `num_workers ${workers} → ${Math.floor(workers / 2)}`,
      change: settings({ num_workers: String(Math.floor(workers / 2)) }),
      saving: { bytes: null, by: null, text: 'a process each, with what it prefetches' },
      cost: unmeasured('none while the others keep up'),
    },
  ];
});

const asyncSave = fixSpec('synchronous-save', ({ view }) => {
  if (!isSet(view, 'async_save')) return [];
  return [
    {
      id: 'synchronous-save',
      title: 'async_save=False',
      change: settings({ async_save: 'False' }),
      saving: { bytes: null, by: null, text: 'the copy of the state that is written in the background' },
      cost: unmeasured('training waits while a checkpoint is written'),
    },
  ];
});

export const HOST_FIXES: readonly FixSpec[] = [fewerOnHost, fewerLayers, fewerWorkers, asyncSave];
