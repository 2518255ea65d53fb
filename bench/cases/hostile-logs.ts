import {
  type BenchContext,
  type Case,
  FIRST_PASS,
  type ParseCounts,
  passSamples,
  runParser,
  SECOND_PASS,
} from '../case.js';
import { HOSTILE_LINES } from '../hostile-lines.js';
import { hostileLogInput, logInput } from '../inputs.js';
import type { Sample } from '../measure.js';
import { alternate } from '../measure.js';
import type { Group } from '../report.js';

const MEGABYTES = 2;
const ORDINARY = 'ordinary log';

/** The log parser alone on logs made to keep it busy, against an ordinary log of the same size. */
export const hostileLogsCase: Case = {
  name: 'hostile-logs',
  async *run(context) {
    yield await measure(context);
  },
};

async function measure(context: BenchContext): Promise<Group> {
  const ordinary = await logInput(context, MEGABYTES, 'clean');
  const inputs = [{ name: ORDINARY, ...ordinary }];
  for (const name of Object.keys(HOSTILE_LINES)) {
    inputs.push({ name, ...(await hostileLogInput(context, name, ordinary.bytes)) });
  }
  const counts = new Map<string, ParseCounts>();
  const samples = await alternate(
    inputs.map(({ name, file }) => async (): Promise<Record<string, Sample>> => {
      const report = await runParser(context, 'log', file);
      counts.set(name, report.counts);
      // The second pass: what a line costs, not what it costs to compile the reader.
      return { [name]: passSamples(report)[SECOND_PASS] ?? passSamples(report)[FIRST_PASS]! };
    }),
    context.repeat,
    context.progress,
  );
  const failures = [...counts].filter(([, { incidents }]) => incidents > 0);
  return {
    case: 'hostile-logs',
    title: `logs of ${(ordinary.bytes / 1e6).toFixed(1)} MB, one text repeated`,
    baselines: [ORDINARY],
    samples,
    work: Object.fromEntries(inputs.map(({ name, bytes }) => [name, { bytes }])),
    bars: {},
    notes: [
      'the parser alone, second of two passes in a fresh process',
      `failures: ${failures.map(([name, { incidents }]) => `${name} ${incidents}`).join(', ')}`,
    ],
  };
}
