/**
 * `npm run bench`: ratios measured side by side in one run. It asserts no time and fails only if something does not
 * work.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { packageRoot } from '../src/store/load-queries.js';
import { type BenchContext, type Case, Skip } from './case.js';
import { attributeCase } from './cases/attribute.js';
import { bisectCase } from './cases/bisect.js';
import { compareCase } from './cases/compare.js';
import { decodeCase } from './cases/decode.js';
import { formatsCase } from './cases/formats.js';
import { hostileLogsCase } from './cases/hostile-logs.js';
import { ingestCase } from './cases/ingest.js';
import { jsonCase } from './cases/json.js';
import { lakeCase } from './cases/lake.js';
import { lintCase } from './cases/lint.js';
import { logCase } from './cases/log.js';
import { manyRanksCase } from './cases/many-ranks.js';
import { modelCase } from './cases/model.js';
import { nsysCase } from './cases/nsys.js';
import { pictureCase } from './cases/picture.js';
import { queryCase } from './cases/query.js';
import { ranksCase } from './cases/ranks.js';
import { replayCase } from './cases/replay.js';
import { smallCase } from './cases/small.js';
import { textCase } from './cases/text.js';
import { describeMachine, findPython } from './machine.js';
import { findRssMethod, ProcessTimer } from './measure.js';
import { type BenchResult, evaluate, type GroupResult, groupText, machineText } from './report.js';

/** A case together with the size it has when it is asked for by name; all at once are small. */
const CASES: readonly { readonly case: Case; readonly events: readonly number[] }[] = [
  { case: ingestCase, events: [1_000_000, 5_000_000] },
  { case: ranksCase, events: [100_000] },
  { case: decodeCase, events: [1_000_000, 5_000_000] },
  { case: jsonCase, events: [100_000] },
  { case: queryCase, events: [5_000_000] },
  { case: smallCase, events: [] },
  { case: replayCase, events: [1_000_000] },
  { case: attributeCase, events: [1_000_000] },
  { case: pictureCase, events: [1_000_000, 10_000_000] },
  { case: logCase, events: [] },
  { case: hostileLogsCase, events: [] },
  { case: textCase, events: [] },
  { case: formatsCase, events: [] },
  { case: nsysCase, events: [3_000_000] },
  { case: modelCase, events: [] },
  { case: manyRanksCase, events: [] },
  { case: compareCase, events: [1000] },
  { case: bisectCase, events: [20] },
  { case: lintCase, events: [] },
  { case: lakeCase, events: [] },
];
const FULL = { repeat: 5, ranks: 1024, logMegabytes: 256, textMegabytes: 500 };
const SMALL = { repeat: 3, ranks: 16, logMegabytes: 16, textMegabytes: 16, events: [100_000] };

const USAGE = `usage: npm run bench -- [ingest] [ranks] [decode] [json] [query] [replay] [attribute] [picture] [log] [hostile-logs] [text] [formats] [nsys] [model] [many-ranks] [lint] [lake] [options]

  --events N,…   entries of the snapshots, kernels of the Nsight Systems export
  --ranks N      ranks of the run of many-ranks and of lake
  --log-mb N     size of the logs in MB
  --repeat N     rounds
  --json         one JSON document on standard output

Cases asked for by name run at full size (1M and 5M events, ranks and json 100k, query 5M, replay and attribute 1M, picture 1M and 10M,
nsys 3M, many-ranks 1,024 ranks, logs 256 MB,
text 500 MB and 2 GB, 5 rounds); without a name all
run small (100k events, 16 MB, 3 rounds).
MBF_BENCH_GENERATOR: the snapshot generator; MBF_BENCH_DIR: where inputs are kept. See bench/README.md.
`;

interface Arguments {
  readonly cases: typeof CASES;
  readonly isFull: boolean;
  readonly events: readonly number[] | undefined;
  readonly repeat: number;
  readonly ranks: number;
  readonly logMegabytes: number;
  readonly textMegabytes: number;
  readonly json: boolean;
}

function readArguments(): Arguments {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      events: { type: 'string' },
      repeat: { type: 'string' },
      ranks: { type: 'string' },
      'log-mb': { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    process.exit(0);
  }
  const unknown = positionals.find((name) => !CASES.some((one) => one.case.name === name));
  if (unknown !== undefined) throw new Error(`no case is called ${unknown}`);
  const isFull = positionals.length > 0;
  const defaults = isFull ? FULL : SMALL;
  return {
    cases: isFull ? CASES.filter((one) => positionals.includes(one.case.name)) : CASES,
    isFull,
    events: values.events?.split(',').map((text) => positive('--events', text)),
    repeat: values.repeat === undefined ? defaults.repeat : positive('--repeat', values.repeat),
    ranks: values.ranks === undefined ? defaults.ranks : positive('--ranks', values.ranks),
    logMegabytes: values['log-mb'] === undefined ? defaults.logMegabytes : positive('--log-mb', values['log-mb']),
    textMegabytes: values['log-mb'] === undefined ? defaults.textMegabytes : positive('--log-mb', values['log-mb']),
    json: values.json,
  };
}

function positive(option: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value <= 0) throw new Error(`${option} ${text} is no positive whole number`);
  return value;
}

function readArgumentsOrExit(): Arguments {
  try {
    return readArguments();
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    process.exit(2);
  }
}

const options = readArgumentsOrExit();
const generator = process.env['MBF_BENCH_GENERATOR'] || join(packageRoot(), '..', 'shared', 'bench', 'gen_snapshot.py');
const directory = resolve(process.env['MBF_BENCH_DIR'] || join(tmpdir(), 'mbforensics-bench'));
mkdirSync(directory, { recursive: true });
const python = findPython();
const timer = new ProcessTimer(findRssMethod(), directory);
const machine = describeMachine(python, timer.method);
const print = (text: string): void => {
  if (!options.json) process.stdout.write(`${text}\n\n`);
};
const progress = (text: string): void => void process.stderr.write(`${text}\n`);

print(machineText(machine));
const groups: GroupResult[] = [];
const skipped: string[] = [];
for (const { case: one, events } of options.cases) {
  const context: BenchContext = {
    timer,
    python,
    generator,
    directory,
    repeat: options.repeat,
    events: options.events ?? (options.isFull ? events : SMALL.events),
    ranks: options.ranks,
    logMegabytes: options.logMegabytes,
    textMegabytes: options.textMegabytes,
    progress,
  };
  progress(one.name);
  try {
    for await (const group of one.run(context)) {
      const result = evaluate(group);
      groups.push(result);
      print(groupText(result));
    }
  } catch (error) {
    if (!(error instanceof Skip)) throw error;
    skipped.push(`${one.name}: ${error.message}`);
    progress(`SKIPPED ${one.name}: ${error.message}`);
  }
}
for (const line of skipped) print(`SKIPPED ${line}`);
rmSync(timer.rssFile, { force: true });
const result: BenchResult = { schema: 'mbforensics/bench@1', machine, groups, skipped };
if (options.json) process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
