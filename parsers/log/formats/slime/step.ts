import type { LineFormat } from '../contract.js';
import { pythonNumber } from '../field-list.js';
import { figureFinding } from '../system/findings.js';
import { SLIME_PRODUCER } from './memory.js';

const ENTRY = /'([\w./@-]{1,100})': ([+-]?(?:\d{1,24}(?:\.\d{0,24})?(?:[eE][+-]?\d{1,4})?|nan|inf))(?=[,}])/g;
/** `train/critic-loss`: the critic's own steps would pass for the actor's. */
const CRITIC = /'train\/critic-/;

export const SLIME_STEP: LineFormat = {
  form: 'line',
  id: 'slime.step',
  title: 'Metrics of a training step',
  producer: 'slime, miles',
  versions: '0.1 and later',
  source: 'slime/backends/megatron_utils/model.py, train (before: train_one_step)',
  anchors: [": {'train/"],
  fields: {
    step: '0-based: rollout times steps of a rollout, plus the step',
    entries: "`'train/name': value`: loss, grad_norm, lr-pg_0 (of the first group), and the rest under their names",
  },
  pattern: /\bstep (?<step>\d{1,9}): \{(?<entries>'train\/[^{}\n]{1,6000})\}/g,
  read({ step, entries = '' }, emit) {
    const iteration = Number(step) + 1;
    const values = new Map<string, { value: number | null; text: string }>();
    for (const [, key = '', text = ''] of `${entries}}`.matchAll(ENTRY))
      values.set(key, { value: pythonNumber(text), text });
    if (CRITIC.test(entries)) {
      for (const [key, { value }] of values) emit({ row: 'value', name: `slime.${key}`, value, unit: null, iteration });
      return;
    }
    const take = (key: string): number | undefined => {
      const value = values.get(key)?.value ?? undefined;
      values.delete(key);
      return value;
    };
    const loss = take('train/loss');
    const gradNorm = take('train/grad_norm');
    const learningRate = take('train/lr-pg_0');
    values.delete('train/step');
    const otherValues = [...values].map(([name, { value, text }]) => ({ name, value, text }));
    emit({ row: 'iteration', iteration, target: null, loss, gradNorm, learningRate, others: otherValues });
  },
};

export const SLIME_ROLLOUT: LineFormat = {
  form: 'line',
  id: 'slime.rollout-metrics',
  title: 'Times and metrics of a rollout',
  producer: SLIME_PRODUCER,
  versions: '0.1 and later [mem]',
  source: 'slime/utils/train_metric_utils.py, log_perf_data_raw; slime/ray/rollout.py, log_rollout_data',
  anchors: [": {'perf/", ": {'rollout/"],
  fields: {
    rollout: '0-based; a rollout feeds one step or several',
    entries: "`'perf/train_time': seconds` and others under their names",
  },
  pattern: /\b(?:perf|rollout) (?<rollout>\d{1,9}): \{(?<entries>'(?:perf|rollout)\/[^{}\n]{1,6000})\}/g,
  read({ rollout, entries = '' }, emit) {
    emit(figureFinding('slime.rollout', Number(rollout) + 1, 'count'));
    for (const [, key = '', text = ''] of `${entries}}`.matchAll(ENTRY)) {
      const value = pythonNumber(text);
      if (value !== null) emit(figureFinding(`slime.${key}`, value, key.endsWith('_time') ? 's' : null));
    }
  },
};

export const SLIME_TIMER: LineFormat = {
  form: 'line',
  id: 'slime.timer',
  title: 'Time of a phase: wake_up, actor_train, update_weights, sleep',
  producer: 'slime, miles',
  versions: '0.1 and later; at level DEBUG since 2026',
  source: 'slime/utils/timer.py, Timer.end',
  anchors: [' end (elapsed: '],
  fields: { name: 'of the phase', seconds: 'seconds, of rank 0' },
  pattern: /\bTimer (?<name>[\w.-]{1,60}) end \(elapsed: (?<seconds>\d{1,9}\.\d{1,3})s\)/g,
  read: ({ name, seconds }, emit) => emit(figureFinding(`slime.timer.${name}`, Number(seconds), 's')),
};
