/** Golden values as a file of a repository. */

import { visibleJson } from '../model/escape-controls.js';
import type { GoldenDocument, Measurement } from '../model/measurement.js';
import { statusWords } from '../model/status-words.js';
import { misuse } from './options.js';

/** Throws MBF1001 where a run failed or did not train. */
export function demandEnded(runs: readonly Measurement[], force: boolean): void {
  const died = runs.find(
    ({ status, peaks }) =>
      status.ending === 'oom' || status.ending === 'failed' || (status.ending === 'no_training' && peaks.length === 0),
  );
  if (died !== undefined && !force)
    throw misuse(
      `run ${died.run} cannot become a golden run (${statusWords(died.status)}); --force keeps it nevertheless`,
    );
}

/** One run a line: a repository shows what changed. */
export function documentText({ runs, ...head }: GoldenDocument): string {
  const top = JSON.stringify({ ...head, runs: [] }, null, 2).replace(/\[\]\n\}$/, '');
  return visibleJson(`${top}[\n${runs.map((run) => runText(run)).join(',\n')}\n  ]\n}\n`);
}

/** One field a line. */
function runText(run: object): string {
  const fields = Object.entries(run).map(([key, value]) => `      ${JSON.stringify(key)}: ${JSON.stringify(value)}`);
  return `    {\n${fields.join(',\n')}\n    }`;
}
