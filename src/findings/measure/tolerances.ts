/** Least relative changes that count, where a user wants others than the view `check_rule` has. */
import { MbfError } from '../../model/errors.js';
import { COMPONENTS } from '../../model/vocabulary.js';

/**
 * By check, by what is before its colon, or by rule. `memory`: peaks, whole and by component or site. `time`: step time and throughput.
 * `alloc_retries` is a number of them.
 */
export type Tolerances = Readonly<Partial<Record<string, number>>>;

const NAMES = [
  'memory',
  'time',
  'loss',
  'peak_allocated',
  'peak_active',
  'peak_reserved',
  'step_time',
  'throughput',
  'component',
];
const COUNT = 'alloc_retries';

/** `memory=1%,time=0.05,component:activation=3%,alloc_retries=10`. Throws MBF1001. */
export function parseTolerances(text: string | undefined): Tolerances {
  const tolerances: Record<string, number> = {};
  for (const part of text === undefined ? [] : text.split(',')) {
    const match = /^\s*([\w:]+(?: \d+)?)\s*=\s*(\d{1,6}(?:\.\d{1,6})?)\s*(%?)\s*$/.exec(part);
    const [, name = '', value, percent] = match ?? [];
    if (match === null)
      throw new MbfError('MBF1001', `--tolerance ${JSON.stringify(part)} is none; write memory=1%,time=3%,loss=5%`);
    if (!isKnown(name) || (name === COUNT && percent === '%'))
      throw new MbfError(
        'MBF1001',
        `--tolerance ${JSON.stringify(part)}: the names are ${NAMES.join(', ')}, component:NAME, and ${COUNT} as a number`,
      );
    tolerances[name] = Number(value) / (percent === '%' ? 100 : 1);
  }
  return tolerances;
}

const isKnown = (name: string): boolean =>
  name === COUNT ||
  NAMES.includes(name) ||
  /^peak_allocated:(?:stage|rank) \d+$/.test(name) ||
  COMPONENTS.some((component) => name === `component:${component}`);
