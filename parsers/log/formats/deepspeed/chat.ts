import type { LineFormat } from '../contract.js';
import { figureFinding } from '../system/findings.js';

const PRODUCER = 'DeepSpeed-Chat, Megatron-DeepSpeed';

/** `End-to-End` → `end_to_end`. */
const snake = (text: string): string => text.toLowerCase().replaceAll('-', '_');

export const DEEPSPEED_CHAT: LineFormat = {
  form: 'line',
  id: 'deepspeed.chat-throughput',
  title: 'Latency, TFLOP/s and samples per second of a step',
  producer: PRODUCER,
  versions: '2023 and later',
  source:
    'DeepSpeedExamples, applications/DeepSpeed-Chat/dschat/utils/perf.py, print_throughput, print_throughput_step3',
  anchors: [' Latency: ', 'SamplesPerSec=', 'Effective Tera Flops per GPU: '],
  fields: {
    part: 'Generation, Training, End-to-End or Preparation, of step 3; absent in steps 1 and 2',
    latency: 's',
    tflops: 'TFLOP/s of a device',
    samples: 'samples per second of the whole job',
    endToEnd: 's of an iteration of step 3',
    current: 'samples per second of that iteration',
    average: 'samples per second so far',
    effective: 'TFLOP/s of a device',
  },
  pattern:
    /(?:(?<part>Generation|Training|End-to-End|Preparation) => |, )Latency: (?<latency>\d{1,9}\.\d{1,4})s(?:, Per-token Latency \d{1,9}\.\d{1,4} ms)?(?:, TFLOPs: (?<tflops>\d{1,9}\.\d{1,4}))?(?:, Samples\/sec: (?<samples>\d{1,9}\.\d{1,4}))?|\|E2E latency=(?<endToEnd>\d{1,9}\.\d{1,4})s|\|CurSamplesPerSec=(?<current>\d{1,9}\.\d{1,4})|\|AvgSamplesPerSec=(?<average>\d{1,9}\.\d{1,4})|Effective Tera Flops per GPU: (?<effective>\d{1,9}(?:\.\d{1,6})?)/g,
  read({ part, latency, tflops, samples, endToEnd, current, average, effective }, emit) {
    const figure = (name: string, text: string | undefined, unit: string): void => {
      if (text !== undefined) emit(figureFinding(name, Number(text), unit));
    };
    const name = `deepspeed.chat${part === undefined ? '' : `.${snake(part)}`}`;
    figure(`${name}.latency_s`, latency, 's');
    figure(`${name}.tflops`, tflops, 'TFLOP/s/GPU');
    figure(`${name}.samples_per_s`, samples, 'samples/s');
    figure('deepspeed.chat.iteration_s', endToEnd, 's');
    figure('deepspeed.chat.samples_per_s', current, 'samples/s');
    figure('deepspeed.chat.average_samples_per_s', average, 'samples/s');
    figure('deepspeed.effective_tflops_per_gpu', effective, 'TFLOP/s/GPU');
  },
};
