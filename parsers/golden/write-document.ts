/** Golden values in our own form. */
import type { GoldenDocument } from '../../src/model/measurement.js';

/** One run a line: a repository shows what changed. */
export function writeGoldenDocument({ runs, ...head }: GoldenDocument): string {
  const top = JSON.stringify({ ...head, runs: [] }, null, 2).replace(/\[\]\n\}$/, '');
  return `${top}[\n${runs.map((run) => runText(run)).join(',\n')}\n  ]\n}\n`;
}

/** One field a line. */
function runText(run: object): string {
  const fields = Object.entries(run).map(([key, value]) => `      ${JSON.stringify(key)}: ${JSON.stringify(value)}`);
  return `    {\n${fields.join(',\n')}\n    }`;
}
