import { describeComparison, describeNsys, readComparedRun } from '../../../findings/nsys/describe-nsys.js';
import { MbfError } from '../../../model/errors.js';
import type { NsysResult } from '../../../model/results/nsys.js';
import { nsysDocument } from '../../../report/run/nsys-document.js';
import { worded } from '../../../report/words/worded.js';
import { defineVerb } from '../../define-verb.js';
import { between, countOrAll, misuse, option, optional, RUN, STEP_RANGE, wrong } from '../../options.js';

/** Of `--curve` without a number: a screen's width. */
const SLICES = 72;
const MOST_SLICES = 100_000;

export const verb = defineVerb({
  name: 'nsys',
  operands: { run: RUN },
  options: {
    atNs: option('--at <ns>', "also the NVTX ranges open at this time, in ns of the report's clock", nanoseconds),
    range: option('--range <text>', 'also the kernels and copies launched inside NVTX ranges with this text'),
    slices: optional(
      '--curve [slices]',
      `also the driver's memory over time, in so many slices (default: ${SLICES})`,
      between(1, MOST_SLICES),
      SLICES,
    ),
    against: option('--against <run>', 'another run or path: its steps less the steps of this one'),
    stepRange: STEP_RANGE,
    limit: option('--limit <n>', 'rows of each table; 0 = all', countOrAll, '8'),
  },
  async ask({ run: operands, atNs, range, slices, against, stepRange }, session) {
    if (against !== undefined) {
      const [first, ...others] = operands;
      if (first === undefined || others.length > 0 || atNs !== undefined || range !== undefined || slices !== undefined)
        throw misuse('--against needs two runs, and no --at, --range or --curve');
      const targets = await session.two([first, against]);
      const read = (side: 0 | 1) =>
        targets.use(side, async ({ store, runId, run }) => {
          const compared = await readComparedRun(store, runId, run, stepRange);
          demandReports(run, compared.reports);
          return compared;
        });
      const a = await read(0);
      return worded(describeComparison(a, await read(1))) as NsysResult;
    }
    const { store, runId, run } = await session.target(operands);
    const result = await describeNsys(store, runId, run, { atNs, range, slices, stepRange });
    demandReports(run, result.reports);
    return worded(result) as NsysResult;
  },
  document: (result, { limit }) => nsysDocument(result, { limit: limit ?? Number.POSITIVE_INFINITY }),
});

function demandReports(run: string, reports: readonly unknown[]): void {
  if (reports.length > 0) return;
  throw new MbfError(
    'MBF1002',
    `run ${run} has no Nsight Systems export: nsys export --type sqlite REPORT.nsys-rep, then ingest REPORT.sqlite`,
  );
}

function nanoseconds(text: string): number {
  if (!/^-?\d{1,15}$/.test(text)) throw wrong('--at', text, 'a time in ns');
  return Number(text);
}
