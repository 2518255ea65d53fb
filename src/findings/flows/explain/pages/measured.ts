/** The section of published measurements. */
import { EXPERIMENTS, type Experiment, WORKLOADS } from '../../../../knowledge/measured.js';
import { md, mdTable } from './markdown.js';

export function measuredSection(): string[] {
  return [
    '## Measurements',
    '',
    'As published; peaks in decimal GB, throughput in MODEL\\_TFLOP/s/GPU.',
    ...WORKLOADS.flatMap(({ id, text, golden_tflops, regression_percent }) => [
      '',
      `### ${md(text)}`,
      '',
      ...(golden_tflops === null
        ? []
        : [`Golden ${golden_tflops} TFLOP/s/GPU, regression beyond ${regression_percent} %.`, '']),
      ...mdTable(
        ['experiment', 'mapping', 'TFLOP/s', 'against golden', 'peak', 'speed', 'result', 'caveat'],
        EXPERIMENTS.filter(({ workload }) => workload === id).map(row),
      ),
    ]),
  ];
}

function row(one: Experiment): string[] {
  const { layout } = one;
  const mapping = (['tp', 'pp', 'vpp', 'dp'] as const)
    .filter((key) => layout[key] !== undefined)
    .map((key) => `${key.toUpperCase()} ${layout[key]}`);
  return [
    md(one.title),
    mapping.join(' ') || '–',
    one.tflops === null ? '–' : `${one.isRounded ? 'about ' : ''}${one.tflops}`,
    percent(one.vs_golden_percent),
    peak(one),
    speed(one),
    md(one.result),
    md(one.caveat),
  ];
}

const signed = (value: number): string => `${value < 0 ? '−' : '+'}${Math.abs(value)}`;

const percent = (value: number | null): string => (value === null ? '–' : `${signed(value)} %`);

function speed({ step_factor, throughput_change_percent }: Experiment): string {
  if (step_factor !== null) return `× ${Number(step_factor.toFixed(4))} step time`;
  return throughput_change_percent === null ? '–' : `${signed(throughput_change_percent)} % throughput`;
}

function peak({ peak_gb, peak_change_gb, peak_change_percent }: Experiment): string {
  const change = peak_change_gb === null ? null : `${signed(peak_change_gb)} GB`;
  const parts = [
    ...(peak_gb === null ? [] : [`${peak_gb} GB`]),
    ...(change === null ? [] : [peak_gb === null ? change : `(${change})`]),
    ...(peak_change_percent === null ? [] : [`${signed(peak_change_percent)} %`]),
  ];
  return parts.join(' ') || '–';
}
