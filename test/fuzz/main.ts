/**
 * `npm run fuzz`: hostile inputs of every format, kept and changed as they reach new code; and ingests that are killed,
 * run out of disk space, or read files that change. Exit code 1 if a rule was broken.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { packageRoot } from '../../src/store/load-queries.js';
import { Checker, runCampaign, type Shown } from './campaign.js';
import { caseLines, readCase, writeCase } from './cases.js';
import { FORMATS } from './formats.js';
import { type InterruptionResult, runDiskFull, runKills, runRaces } from './interruptions.js';
import type { Extreme, Tally } from './messages.js';
import { CORPUS } from './seeds.js';

const USAGE = `usage: npm run fuzz -- [options]
  --minutes N         how long (default: 5)
  --inputs N          at most so many inputs (default: no limit)
  --seed S            of the random numbers (default: of the day)
  --format F          this format only; several times for several
  --jobs N            processes (default: cores)
  --program N         of 1,000 inputs, so many also go through the command line (default: 15)
  --only FILE         one input, with all that is asked of it; --format where its folder has no index
  --cases DIR         all inputs of a folder with an index
  --kills N           N ingests ended by signals
  --disk-full N       N ingests on a full file system (root, Linux)
  --races N           N ingests of files that change
  --found DIR         where failing inputs are written (default: test/robustness/found)
  --json FILE         the summary as JSON
formats: ${Object.keys(FORMATS).join(', ')}
`;

/** A run of so many inputs is a test of the campaign itself. */
const MOST_SHORT = 1000;

const report = (line: string): void => void process.stderr.write(`${line}\n`);

interface Summary {
  readonly seed: number;
  readonly minutes: number;
  readonly tallies: readonly Tally[];
  readonly shown: readonly (Shown & { readonly path: string | undefined })[];
  readonly interruptions: readonly (InterruptionResult | string)[];
}

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
function added(maps: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const total: Record<string, number> = {};
  for (const map of maps) for (const [key, count] of Object.entries(map)) total[key] = (total[key] ?? 0) + count;
  return total;
}
const greatest = (extremes: readonly Extreme[]): Extreme =>
  extremes.reduce((a, b) => (b.value > a.value ? b : a), { value: 0, input: '-' });
const mib = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`;

function summarise({ minutes, tallies, shown, interruptions, seed }: Summary): string {
  const inputs = added(tallies.map((tally) => tally.inputs));
  const kept = added(tallies.map((tally) => tally.kept));
  const total = sum(Object.values(inputs));
  const lines: string[] = [];
  if (total > 0) {
    const blocks = Math.max(...tallies.map((tally) => tally.blocks));
    const cpu = greatest(tallies.map(({ maxCpu }) => maxCpu));
    const growth = greatest(tallies.map(({ maxGrowth }) => maxGrowth));
    lines.push('format            inputs   kept');
    for (const [name, count] of Object.entries(inputs).sort())
      lines.push(`${name.padEnd(16)} ${String(count).padStart(7)} ${String(kept[name] ?? 0).padStart(6)}`);
    lines.push(
      '',
      `inputs: ${total} in ${minutes.toFixed(1)} min, ${(total / (minutes * 60)).toFixed(0)}/s; seed ${seed}`,
      `through the command line: ${sum(tallies.map((tally) => tally.programInputs))} inputs, ${sum(tallies.map((tally) => tally.programCalls))} calls`,
      `coverage: ${blocks} blocks in one process; kept inputs: ${sum(Object.values(kept))}`,
      `most CPU: ${cpu.value.toFixed(2)} s (${cpu.input})`,
      `most memory of one input: ${mib(growth.value)} (${growth.input}); of a process: ${mib(Math.max(...tallies.map((tally) => tally.maxRssBytes)))}`,
    );
  }
  for (const result of interruptions) {
    if (typeof result === 'string') lines.push(result);
    else {
      const ends = Object.entries(result.ends).map(([end, count]) => `${end}: ${count}`);
      lines.push(`${result.what}: ${result.runs} ingests (${ends.join(', ')}), ${result.faults.length} faults`);
      for (const fault of result.faults.slice(0, 50)) lines.push(`  ${fault}`);
    }
  }
  lines.push(`findings: ${shown.length}`);
  for (const { finding, case: input, path } of shown)
    lines.push(`  ${finding.kind} ${input.format}: ${JSON.stringify(finding.what)} (${path ?? 'kept before'})`);
  return `${lines.join('\n')}\n`;
}

async function main(): Promise<number> {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    options: {
      ...{ minutes: text, inputs: text, seed: text, jobs: text, format: { ...text, multiple: true }, only: text },
      ...{ cases: text, kills: text, 'disk-full': text, races: text, program: text, found: text, json: text },
      help: { type: 'boolean' },
    },
  });
  const number = (text: string | undefined, otherwise: number): number => {
    const result = text === undefined ? otherwise : Number(text);
    if (!Number.isFinite(result) || result < 0) throw new Error(`invalid number ${text}`);
    return result;
  };
  if (values.help === true) {
    process.stdout.write(USAGE);
    return 0;
  }
  const unknown = values.format?.find((name) => FORMATS[name] === undefined);
  if (unknown !== undefined) {
    report(`no format ${unknown}\n${USAGE}`);
    return 2;
  }
  // Relative paths are those of the user, who may be in another directory than npm.
  const at = (path: string): string => resolve(process.env['INIT_CWD'] ?? '.', path);
  const seed = number(values.seed, Math.floor(Date.now() / 86_400_000));
  const directory = mkdtempSync(join(tmpdir(), 'mbf-fuzz-'));
  const folder = values.found === undefined ? join(packageRoot(), 'test', 'robustness', 'found') : at(values.found);
  const shown: (Shown & { path: string | undefined })[] = [];
  const interruptions: (InterruptionResult | string)[] = [];
  let tallies: Tally[] = [];
  const start = Date.now();
  try {
    const paths =
      values.only !== undefined
        ? [at(values.only)]
        : values.cases === undefined
          ? []
          : caseLines(at(values.cases)).map(({ file }) => join(at(values.cases!), file));
    const checker = new Checker(join(directory, 'check'));
    for (const path of paths) {
      const input = readCase(path, values.format?.[0]);
      const finding = await checker.check(input);
      if (finding !== undefined) shown.push({ finding, case: input, path });
      report(`${path}: ${finding === undefined ? 'ok' : `${finding.kind}: ${finding.what.replaceAll('\n', ' ')}`}`);
    }
    await checker.close();
    const parts = [
      ['kills', runKills],
      ['disk-full', runDiskFull],
      ['races', runRaces],
    ] as const;
    const chosen = parts.filter(([name]) => values[name] !== undefined);
    for (const [name, run] of chosen) {
      const result = await run({ count: number(values[name], 0), directory, seed });
      interruptions.push(result);
      if (typeof result === 'string') report(result);
    }
    const isCampaign = paths.length === 0 && values.cases === undefined && chosen.length === 0;
    if (isCampaign || values.minutes !== undefined || values.inputs !== undefined) {
      if (!existsSync(CORPUS)) report(`without a corpus (MBF_CORPUS): ${CORPUS} is not there`);
      if (number(values.inputs, MOST_SHORT + 1) > MOST_SHORT) makeReport(directory);
      let last = Date.now();
      tallies = await runCampaign(
        {
          ...{ seed, directory, jobs: Math.max(1, number(values.jobs, availableParallelism())) },
          formats: values.format ?? Object.keys(FORMATS),
          inputs: number(values.inputs, Number.MAX_SAFE_INTEGER),
          minutes: number(values.minutes, values.inputs === undefined ? 5 : 24 * 60),
          programPerMille: number(values.program, 15),
        },
        (one) => {
          const path = writeCase(folder, one.finding, one.case);
          shown.push({ ...one, path });
          report(`${one.finding.kind} ${one.case.format}: ${one.finding.what} → ${path ?? 'kept before'}`);
        },
        (all) => {
          if (Date.now() - last < 30_000) return;
          last = Date.now();
          const done = sum(all.map(({ inputs }) => sum(Object.values(inputs))));
          report(`${done} inputs in ${((last - start) / 60_000).toFixed(1)} min, ${shown.length} findings`);
        },
      );
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  const summary: Summary = { seed, minutes: (Date.now() - start) / 60_000, tallies, shown, interruptions };
  process.stdout.write(summarise(summary));
  if (values.json !== undefined) writeFileSync(at(values.json), `${JSON.stringify(plain(summary), null, 2)}\n`);
  const faults = sum(interruptions.map((result) => (typeof result === 'string' ? 0 : result.faults.length)));
  return shown.length + faults === 0 ? 0 : 1;
}

/** Without the bytes of inputs, which are files. */
function plain({ seed, minutes, tallies, shown, interruptions }: Summary): unknown {
  return {
    ...{
      seed,
      minutes,
      inputs: added(tallies.map(({ inputs }) => inputs)),
      kept: added(tallies.map(({ kept }) => kept)),
    },
    outcomes: added(tallies.map((tally) => tally.outcomes)),
    program_inputs: sum(tallies.map((tally) => tally.programInputs)),
    program_calls: sum(tallies.map((tally) => tally.programCalls)),
    blocks: tallies.map((tally) => tally.blocks),
    most_cpu: greatest(tallies.map(({ maxCpu }) => maxCpu)),
    most_memory: greatest(tallies.map(({ maxGrowth }) => maxGrowth)),
    most_rss_bytes: Math.max(0, ...tallies.map((tally) => tally.maxRssBytes)),
    findings: shown.map(({ finding, case: { bytes, format, name }, path }) => {
      return { ...finding, format, name, bytes: bytes.length, path };
    }),
    interruptions,
  };
}

/** Our own page, a seed. */
function makeReport(directory: string): void {
  const main = join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.js');
  mkdirSync(directory, { recursive: true });
  const sample = join(packageRoot(), 'samples', 'leak');
  spawnSync(process.execPath, [main, 'report', sample, '--html', join(directory, 'report.html')], {
    cwd: directory,
    env: { PATH: process.env['PATH'], HOME: directory, CI: '1' },
    stdio: 'ignore',
  });
}

process.exitCode = await main();
