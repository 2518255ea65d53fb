/**
 * A job that the host's memory ended leaves no figure of its own: what its scheduler sampled is shown with the verdict.
 */
import { expect, it } from 'vitest';
import { RUN, type TextSource, withTextRuns } from '../../support/text-run.js';
import { diagnose } from '../verdict/worded.js';

const GIB = 1024 ** 3;
type Row = NonNullable<TextSource['rows']>[number];
const gauge = (metric: 'host_limit' | 'process_max_rss', process: string, gib: number, host: string | null): Row => ({
  row: 'gauge',
  metric,
  process,
  host,
  bytes: gib * GIB,
  value: gib,
  unit: 'G',
  precisionBytes: 0,
});

it('a host OOM is reported with the limit and who came near it, the largest first', () =>
  withTextRuns(
    [
      [
        {
          path: 'sacct.txt',
          format: 'slurm-accounting',
          rows: [
            gauge('host_limit', '88 train', 400, null),
            gauge('process_max_rss', '88.batch', 1, 'node001'),
            gauge('process_max_rss', '88.0 python', 398, 'node003'),
            gauge('process_max_rss', '88.extern', 0.5, 'node001'),
          ],
          incidents: [{ kind: 'host_oom', text: '88|train|OUT_OF_MEMORY|0:125', grammar: 'slurm.sacct-state' }],
        },
      ],
    ],
    async (store) => {
      const [verdict] = (await diagnose(store, 1, RUN)).verdicts;
      expect(verdict!.cause).toBe('host_oom');
      expect(verdict!.evidence.filter(({ about }) => about === 'context').map(({ text }) => text)).toEqual([
        '88 train: may use 400.00 GiB of host memory',
        '88.0 python: resident at most 398.00 GiB on node003 (sampled)',
        '88.batch: resident at most 1.00 GiB on node001 (sampled)',
      ]);
    },
  ));
