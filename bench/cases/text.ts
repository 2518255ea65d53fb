import {
  type BenchContext,
  type Case,
  FIRST_PASS,
  type ParseCounts,
  passSamples,
  requirePython,
  runCli,
  runParser,
  SECOND_PASS,
  withFreshStore,
} from '../case.js';
import { TEXT_RANKS, textInput } from '../inputs.js';
import { alternate } from '../measure.js';
import { type Bar, type Group, PEAK_RSS } from '../report.js';

const INGEST = 'mbforensics ingest';
const PYTHON = 'python: six re.search per line';
const READLINE = 'node: readline loop';
const SPLIT = 'node: decode and split';

/** What Megatron Bridge's evaluator does to a log (`scripts/performance/utils/evaluate.py`): six searches a line. */
const PYTHON_PROGRAM = `
import re, sys
patterns = [re.compile(p) for p in (
  r"elapsed time per iteration \\(ms\\):\\s+([\\d.]+)", r"lm loss:\\s+([\\d.E+-]+)", r"GPU utilization:\\s+([\\d.]+)",
  r"mem-allocated-gigabytes:\\s+([\\d.]+)", r"mem-max-allocated-gigabytes:\\s+([\\d.]+)", r"grad norm:\\s+([\\d.]+)")]
found = [0] * 6
with open(sys.argv[1], errors="replace") as f:
  for line in f:
    for i, pattern in enumerate(patterns):
      if pattern.search(line): found[i] += 1
print(found)
`;

/** The least a Node program does that looks at every line as text. */
const READLINE_PROGRAM = `
const { createInterface } = require('node:readline');
const { createReadStream } = require('node:fs');
(async () => { let n = 0; for await (const line of createInterface({ input: createReadStream(process.argv[1], { highWaterMark: 1 << 20 }) })) n += line.length; console.log(n); })();
`;
const SPLIT_PROGRAM = `
const { createReadStream } = require('node:fs');
(async () => { let n = 0, rest = ''; for await (const chunk of createReadStream(process.argv[1], { highWaterMark: 1 << 20, encoding: 'utf8' })) {
  const lines = (rest + chunk).split('\\n'); rest = lines.pop(); for (const line of lines) n += line.length; } console.log(n); })();
`;

const BARS: readonly Bar[] = [
  { of: PYTHON, limit: 1 },
  { of: READLINE, limit: 3 },
  { of: PEAK_RSS, limit: 300e6 },
];

/** A log of 1,024 interleaved ranks, with all formats on, against what people do to logs today. */
export const textCase: Case = {
  name: 'text',
  async *run(context) {
    yield await measure(context, context.textMegabytes);
    if (context.textMegabytes >= 500) yield await measure(context, context.textMegabytes * 4);
  },
};

async function measure(context: BenchContext, megabytes: number): Promise<Group> {
  const { file, bytes } = await textInput(context, megabytes);
  const { executable } = requirePython(context);
  let counts: ParseCounts = { events: 0, incidents: 0, logRows: 0 };
  const program = (name: string, command: string, args: readonly string[]) => async () => {
    const { stdout: _, ...sample } = await context.timer.run(command, [...args, file]);
    return { [name]: sample };
  };
  const samples = await alternate(
    [
      () =>
        withFreshStore(context, async (db) => {
          const { stdout: _, ...sample } = await runCli(context, ['ingest', file, '--db', db, '--quiet']);
          return { [INGEST]: sample };
        }),
      async () => {
        const report = await runParser(context, 'log', file);
        counts = report.counts;
        return passSamples(report);
      },
      program(PYTHON, executable, ['-c', PYTHON_PROGRAM]),
      program(READLINE, process.execPath, ['-e', READLINE_PROGRAM]),
      program(SPLIT, process.execPath, ['-e', SPLIT_PROGRAM]),
    ],
    context.repeat,
    context.progress,
  );
  if (counts.logRows === 0) throw new Error(`${file}: no row was read`);
  const work = { bytes };
  return {
    case: 'text',
    title: `log of ${(bytes / 1e6).toFixed(0)} MB, ${TEXT_RANKS} interleaved ranks, ${counts.logRows} rows`,
    baselines: [PYTHON, READLINE, SPLIT],
    samples,
    work: { [INGEST]: work, [FIRST_PASS]: work, [SECOND_PASS]: work, [PYTHON]: work, [READLINE]: work, [SPLIT]: work },
    bars: bytes >= 400e6 ? { [INGEST]: BARS } : {},
    notes: ['whole processes; the passes of the parser as under decode'],
  };
}
