import type { LineFormat } from '../contract.js';

const UNITS: Readonly<Record<string, number>> = { '': 1, K: 1e3, M: 1e6, B: 1e9, T: 1e12 };
const NAMES: Readonly<Record<string, string>> = {
  'Trainable params': 'parameters.trainable',
  'Non-trainable params': 'parameters.non_trainable',
  'Total params': 'parameters.total',
};

export const MODEL_SUMMARY_LINES: readonly LineFormat[] = [
  {
    form: 'line',
    id: 'lightning.model-summary',
    title: 'Parameter counts of this rank, rounded',
    producer: 'NeMo',
    versions: 'all, and PyTorch Lightning ≥ 1.0',
    source: 'lightning/pytorch/utilities/model_summary/model_summary.py: _format_summary_table',
    anchors: ['Trainable params', 'Non-trainable params', 'Total params', 'Total estimated model params size (MB)'],
    fields: {
      count: 'parameters, at most three significant digits with a unit',
      unit: 'K, M, B, T: decimal',
      what: 'trainable, not trainable, total',
      size: 'of the parameters, MB of 10^6 bytes',
    },
    pattern:
      /(?:^|\s)(?<count>\d{1,3}(?:,\d{3}){0,4}(?:\.\d{1,3})?) ?(?<unit>[KMBT]?)[ ]{0,12}(?<what>Trainable params|Non-trainable params|Total params)\b|(?:^|\s)(?<size>\d{1,9}(?:,\d{3}){0,4}\.\d{1,3})[ ]{0,12}Total estimated model params size \(MB\)/g,
    read({ count = '', unit = '', what = '', size }, emit) {
      if (size !== undefined) {
        const value = Math.round(Number(size.replaceAll(',', '')) * 1e6);
        emit({ row: 'value', name: 'parameters.size', value, unit: 'bytes', text: `${size} MB` });
        return;
      }
      const value = Math.round(Number(count.replaceAll(',', '')) * (UNITS[unit] ?? 1));
      const text = unit === '' ? count : `${count} ${unit}`;
      emit({ row: 'value', name: NAMES[what] ?? what, value, unit: 'elements', text });
    },
  },
];
