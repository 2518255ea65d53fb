import type { LineFormat } from '../contract.js';

export const STEP_TIME_LINES: readonly LineFormat[] = [
  {
    form: 'line',
    id: 'megatron-bridge.step-time',
    title: 'Step time and throughput, of rank 0',
    producer: 'Megatron Bridge',
    versions: 'all; unit TFLOP/s/GPU in 0.1, MODEL_TFLOP/s/GPU since 0.2; FLOPs counted instead of estimated since 0.6',
    source: 'bridge/training/utils/train_utils.py: training_log',
    anchors: ['GPU utilization: '],
    fields: {
      seconds: 'average of the logging interval, s',
      tflops: 'MODEL_TFLOP/s/GPU, although it is called utilization',
    },
    pattern:
      /Step Time : (?<seconds>\d{1,9}(?:\.\d{1,6})?)s GPU utilization: (?<tflops>\d{1,9}(?:\.\d{1,6})?|nan|inf) ?(?:MODEL_)?TFLOP\/s\/GPU/g,
    read({ seconds, tflops }, emit) {
      emit({ row: 'value', name: 'step_time.s', value: Number(seconds), unit: 's' });
      emit({
        row: 'value',
        name: 'step_time.tflops_per_gpu',
        value: tflops === 'inf' ? Number.POSITIVE_INFINITY : Number(tflops),
        unit: 'TFLOP/s/GPU',
      });
    },
  },
];
