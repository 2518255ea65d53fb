import { canonicalConfigKey } from '../../../../src/knowledge/config-keys.js';
import type { LineFormat } from '../contract.js';

export const FSDP_LINES: readonly LineFormat[] = [
  {
    form: 'line',
    id: 'megatron-fsdp.correction',
    title: 'Megatron-FSDP switches a setting: the effective one differs from the requested one',
    producer: 'Megatron-LM',
    versions: 'core ≥ 0.14, Megatron Bridge',
    source: 'megatron/training/arguments.py: validate_args; bridge/training/config.py: ConfigContainer.validate',
    anchors: [' is required for Megatron'],
    fields: { key: 'the setting', value: 'what it is now' },
    pattern:
      /(?<![\w.])(?<key>[A-Za-z_][\w.]{1,80})=(?<value>[^\s=;,]{1,60}) is required for Megatron[- ]FSDP\. Activating/g,
    read({ key = '', value }, emit) {
      emit({
        row: 'config',
        key: canonicalConfigKey(key),
        rawKey: key,
        value: value ?? null,
        origin: 'log banner',
      });
      emit({ row: 'value', name: 'fsdp.corrected', value: null, unit: null, text: `${key}=${value}` });
    },
  },
  {
    form: 'line',
    id: 'megatron-fsdp.note',
    title: 'A note of Megatron-FSDP, e.g. that communication buffers are registered with NCCL',
    producer: 'Megatron-LM',
    versions: 'core ≥ 0.14',
    source: 'megatron/core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py',
    anchors: ['[Megatron-FSDP] '],
    fields: { text: 'its words' },
    pattern: /\[Megatron-FSDP\] (?<text>[^\n]{1,300})/g,
    read({ text }, emit) {
      emit({ row: 'value', name: 'fsdp.note', value: null, unit: null, text });
    },
  },
];
