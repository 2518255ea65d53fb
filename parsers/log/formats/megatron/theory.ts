import type { LineFormat } from '../contract.js';
import { GIB, MIB } from '../units.js';

/** `weight and optimizer` → `weight_and_optimizer`, `in-flight` → `in_flight`. */
export const snake = (words: string): string => words.trim().toLowerCase().replaceAll(/[ -]+/g, '_');

const PART = /(?<![a-z])([a-z][a-z ]{1,60})=(\d{1,12}\.\d{1,4}) ([MG])i?B/g;

export const THEORY_LINES: readonly LineFormat[] = [
  {
    form: 'line',
    id: 'megatron-lm.theoretical-memory',
    title: 'Theoretical memory footprint of the most loaded rank',
    producer: 'Megatron-LM',
    versions:
      'core ≥ 0.4, Megatron Bridge all; without activations where sequence parallelism or selective recompute is off',
    source: 'megatron/training/theoretical_memory_usage.py: report_theoretical_memory',
    anchors: ['Theoretical memory footprints: '],
    fields: { parts: 'name=value pairs in MiB, printed as MB (Bridge may print GB, which is GiB)' },
    pattern: /Theoretical memory footprints: (?<parts>(?:[a-z][a-z ]{1,60}=\d{1,12}\.\d{1,4} [MG]i?B(?:, )?){1,8})/g,
    read(groups, emit) {
      for (const [, name = '', text = '', prefix] of (groups['parts'] ?? '').matchAll(PART)) {
        emit({
          row: 'value',
          name: `theory.${snake(name)}`,
          value: Math.round(Number(text) * (prefix === 'G' ? GIB : MIB)),
          unit: 'bytes',
        });
      }
    },
  },
  {
    form: 'line',
    id: 'megatron-lm.theoretical-memory-unsupported',
    title: 'No theoretical memory footprint for this kind of model',
    producer: 'Megatron-LM',
    versions: 'core ≥ 0.9',
    source: 'megatron/training/theoretical_memory_usage.py: report_theoretical_memory',
    anchors: ['Theoretical memory footprints not yet supported'],
    fields: { why: 'for which models' },
    pattern: /Theoretical memory footprints not yet supported for (?<why>[^.\n]{1,120})/g,
    read(groups, emit) {
      emit({ row: 'value', name: 'theory.unsupported', value: null, unit: null, text: groups['why'] });
    },
  },
  {
    form: 'line',
    id: 'megatron-lm.theoretical-parameters',
    title: 'Parameter counts behind the theoretical footprint',
    producer: 'Megatron-LM',
    versions: 'core ≥ 0.4 with verbose reporting; active parameters 2026; `transformer layers` in Megatron Bridge 0.1',
    source: 'megatron/training/theoretical_memory_usage.py: compute_weight_and_optimizer_memory',
    anchors: [' in billions:'],
    fields: {
      total: '`Total number`, or `Number` of a part',
      kind: '`active`, or nothing',
      part: 'transformer block, embedding layers, most loaded shard, other shards',
      billions: 'parameters in 10^9',
    },
    pattern:
      /(?<total>Total number|Number) of (?<kind>active )?parameters(?: in (?<part>(?!billions)[a-z]{2,20}(?: [a-z]{2,20}){0,3}))? in billions:[ ]{1,4}(?<billions>\d{1,6}\.\d{1,6})/g,
    read(groups, emit) {
      const part = groups['part'] ?? 'total';
      emit({
        row: 'value',
        name: `theory.parameters.${groups['kind'] === undefined ? '' : 'active_'}${snake(part)}`,
        value: Math.round(Number(groups['billions']) * 1e9),
        unit: 'elements',
      });
    },
  },
  {
    form: 'line',
    id: 'megatron-lm.theoretical-activation',
    title: 'Activation figures behind the theoretical footprint',
    producer: 'Megatron-LM',
    versions: 'core ≥ 0.4 with verbose reporting, Megatron Bridge',
    source: 'megatron/training/theoretical_memory_usage.py: compute_activation_memory',
    anchors: [
      'Activation memory footprint per transformer layer',
      'Memory penalty from interleaved schedule: ',
      'Number of in-flight microbatches: ',
    ],
    fields: {
      layer: 'activation memory of one transformer layer, MiB printed as MB',
      penalty: 'factor of the interleaved schedule',
      inflight: 'micro-batches in flight on the first stage',
    },
    pattern:
      /Activation memory footprint per transformer layer(?: \([a-zA-Z, ]{1,40}\))?: (?<layer>\d{1,9}\.\d{1,4}) MB|Memory penalty from interleaved schedule: (?<penalty>\d{1,6}\.\d{1,4})|Number of in-flight microbatches: (?<inflight>\d{1,6})/g,
    read({ layer, penalty, inflight }, emit) {
      if (layer !== undefined) {
        const value = Math.round(Number(layer) * MIB);
        emit({ row: 'value', name: 'theory.activation_per_layer', value, unit: 'bytes' });
      } else if (penalty !== undefined) {
        emit({ row: 'value', name: 'theory.interleaved_penalty', value: Number(penalty), unit: 'ratio' });
      } else {
        emit({ row: 'value', name: 'theory.in_flight_microbatches', value: Number(inflight), unit: 'count' });
      }
    },
  },
];
