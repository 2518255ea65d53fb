/** dist/docs/knobs.md: every knob, its spellings, its effects and what is known of them. */

import { DISAGREEMENTS } from '../../../../knowledge/disagreements.js';
import { KNOB_GROUPS, KNOBS } from '../../../../knowledge/knobs/index.js';
import type { Knob } from '../../../../knowledge/knobs/knob.js';
import { EXPERIMENTS, type Experiment, WORKLOADS } from '../../../../knowledge/measured.js';
import type { KnobEffect } from '../../../../model/results/knowledge.js';
import { gradeOf } from '../list-knobs.js';
import { rulesOf } from '../rule-words.js';
import { code, codes, item, md, mdTable, page } from './markdown.js';

export function knobsPage(): string {
  return page([
    '# Knobs',
    '',
    'What can be turned, from the index of the NeMo and Megatron Bridge performance guides and the memory skills of Megatron Bridge. Effects are those of turning a knob on, or raising it. Grades: `measured` in an experiment, `asserted` by upstream code, `documented` by a guide without data, `config`: a default or the value of a recipe. `mbforensics explain knobs` and `mbforensics explain KNOB` print the same.',
    ...KNOB_GROUPS.flatMap(({ id, title }) => {
      const knobs = KNOBS.filter(({ group }) => group === id);
      return [
        '',
        `## ${title}`,
        '',
        ...mdTable(
          ['knob', 'memory', 'speed', 'evidence'],
          knobs.map((knob) => [code(knob.id), effect(knob.memory), effect(knob.speed), gradeOf(knob)]),
        ),
        ...knobs.flatMap(section),
      ];
    }),
    '',
    '## Disagreements',
    '',
    'Where the guides disagree with each other or with upstream.',
    ...DISAGREEMENTS.flatMap(({ id, topic, a, b, resolution }) => [
      '',
      `### ${id}`,
      '',
      `${md(topic)}.`,
      '',
      ...item('one', md(a)),
      ...item('another', md(b)),
      ...item('resolved', md(resolution)),
    ]),
    '',
    ...measuredSection(),
  ]);
}

function effect({ effect: word, text }: KnobEffect<string>): string {
  if (word === 'unknown') return '–';
  return text === '' ? word : `${word}: ${md(text)}`;
}

function section(knob: Knob): string[] {
  const { spellings, misspelt = [] } = knob;
  return [
    '',
    `### ${knob.id}`,
    '',
    ...item('in the guides', knob.title === knob.id || knob.isAdded === true ? '' : md(knob.title)),
    // A variable is called the same everywhere.
    ...(knob.kind === 'env'
      ? []
      : [
          ...item('Megatron Bridge', codes(spellings.megatron_bridge)),
          ...item('Megatron-LM', codes(spellings.megatron_lm)),
          ...item('NeMo', codes(spellings.nemo)),
        ]),
    ...item('misspelt in the guides', codes(misspelt)),
    ...item('values', md(knob.values)),
    ...item('requires', md(knob.requires.join('; '))),
    ...item('conflicts', md(knob.conflicts.join('; '))),
    ...knob.evidence.flatMap(({ text, grade, source }) => item(grade, `${md(text)} (${md(source)})`)),
    ...item(
      'lint rules',
      rulesOf(knob)
        .map(({ id }) => `[${id}](lint-rules.md#${id})`)
        .join(', '),
    ),
    ...item('disputed', knob.disputes.map((id) => `[${id}](#${id.toLowerCase()})`).join(', ')),
  ];
}

/** The published measurements. */
function measuredSection(): string[] {
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
