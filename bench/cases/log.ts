import { spawnSync } from 'node:child_process';
import {
  type BenchContext,
  type Case,
  FIRST_PASS,
  type ParseCounts,
  passSamples,
  runParser,
  SECOND_PASS,
  Skip,
} from '../case.js';
import { LINES_PER_INCIDENT, logInput } from '../inputs.js';
import { alternate } from '../measure.js';
import type { Group } from '../report.js';

const GREP = 'grep -c';

/** The log parser alone, against the least anyone does to a log. */
export const logCase: Case = {
  name: 'log',
  async *run(context) {
    if (spawnSync('grep', ['--version']).error !== undefined) throw new Skip('grep was not found');
    yield await measure(context, 'clean');
    yield await measure(context, 'incidents');
  },
};

async function measure(context: BenchContext, kind: 'clean' | 'incidents'): Promise<Group> {
  const { file, bytes } = await logInput(context, context.logMegabytes, kind);
  let counts: ParseCounts = { events: 0, incidents: 0, logRows: 0 };
  let matches = 0;
  const samples = await alternate(
    [
      async () => {
        const report = await runParser(context, 'log', file);
        counts = report.counts;
        return passSamples(report);
      },
      async () => {
        // The C locale is grep's fastest. It exits 1 where nothing matches.
        const options = { okCodes: [0, 1], env: { LC_ALL: 'C' } };
        const { stdout, seconds } = await context.timer.run('grep', ['-c', 'out of memory', file], options);
        matches = Number(stdout);
        return { [GREP]: { seconds, peakRssBytes: null } };
      },
    ],
    context.repeat,
    context.progress,
  );
  if (counts.incidents !== matches)
    throw new Error(`${file}: the parser found ${counts.incidents} incidents, grep ${matches}`);
  const work = { bytes };
  const frequency = kind === 'clean' ? 'no incident' : `${matches} incidents, one every ${LINES_PER_INCIDENT} lines`;
  return {
    case: 'log',
    title: `log of ${(bytes / 1e6).toFixed(1)} MB, ${frequency}`,
    baselines: [GREP],
    samples,
    work: { [FIRST_PASS]: work, [SECOND_PASS]: work, [GREP]: work },
    bars: {},
    notes: ['grep -c "out of memory" in the C locale, as a whole process; the passes of the parser as under decode'],
  };
}
