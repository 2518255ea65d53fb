/** Least relative changes that count, where a user wants others than the view `check_rule` has. */
import { MbfError } from '../../model/errors.js';

/** `memory`: peaks, whole and by component or site. `time`: step time and throughput. */
export type Tolerances = Readonly<Partial<Record<'memory' | 'time' | 'loss', number>>>;

/** `memory=1%,time=0.05`. Throws MBF1001. */
export function parseTolerances(text: string | undefined): Tolerances {
  const tolerances: Record<string, number> = {};
  for (const part of text === undefined ? [] : text.split(',')) {
    const match = /^\s*(memory|time|loss)\s*=\s*(\d{1,3}(?:\.\d{1,6})?)\s*(%?)\s*$/.exec(part);
    if (match === null)
      throw new MbfError('MBF1001', `--tolerance ${JSON.stringify(part)} is none; write memory=1%,time=3%,loss=5%`);
    tolerances[match[1]!] = Number(match[2]) / (match[3] === '%' ? 100 : 1);
  }
  return tolerances;
}
