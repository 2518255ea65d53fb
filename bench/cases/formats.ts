/**
 * Cost per line of the formats other than Megatron's: the same log with all formats on, and with those of the Megatron
 * family alone.
 */
import { join } from 'node:path';
import { packageRoot } from '../../src/store/load-queries.js';
import type { BenchContext, Case, ParseReport } from '../case.js';
import { type Input, logInput, TEXT_RANKS, textInput } from '../inputs.js';
import { alternate, type Contender } from '../measure.js';
import type { Group } from '../report.js';

const CHILD = join(packageRoot(), 'dist', 'bench', 'formats-child.js');
const MEGATRON = 'Megatron formats alone';
const ALL = 'all formats';
const LIMIT = 1.5;

export const formatsCase: Case = {
  name: 'formats',
  async *run(context) {
    yield await measure(
      context,
      await logInput(context, context.logMegabytes, 'clean'),
      '16 ranks, every line of Megatron',
    );
    yield await measure(
      context,
      await textInput(context, context.logMegabytes),
      `${TEXT_RANKS} interleaved ranks, one line in ten is read`,
    );
  },
};

async function measure(context: BenchContext, { file, bytes }: Input, what: string): Promise<Group> {
  const contender =
    (name: string, which: string): Contender =>
    async () => {
      const { stdout } = await context.timer.run(process.execPath, [CHILD, which, file]);
      const { seconds } = JSON.parse(stdout) as ParseReport;
      // The second pass: what a line costs, not what it costs to compile the reader.
      return { [name]: { seconds: seconds[1] ?? Number.NaN, peakRssBytes: null } };
    };
  const samples = await alternate(
    [contender(MEGATRON, 'megatron'), contender(ALL, 'all')],
    context.repeat,
    context.progress,
  );
  return {
    case: 'formats',
    title: `log of ${(bytes / 1e6).toFixed(1)} MB, ${what}`,
    baselines: [MEGATRON],
    samples,
    work: { [MEGATRON]: { bytes }, [ALL]: { bytes } },
    bars: { [ALL]: [{ of: MEGATRON, limit: LIMIT }] },
    notes: ['the reader alone, second of two passes in a fresh process; failures and tracebacks are read in both'],
  };
}
