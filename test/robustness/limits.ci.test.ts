/**
 * Files of at most 4 MB that ask for much memory or time (`limit-inputs.ts`), each read by a process of its own, with a
 * log in the same directory. The bounds are a guard against hangs, three times the goal of 5 s and 600 MB.
 * MBF_LIMITS_TABLE names a file for what each took, MBF_LIMITS_MAIN the `main.js` of another build to compare with, and
 * MBF_LIMITS_ONLY a part of the names (empty: all of them, as with MBF_LONG=1).
 */
import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { buildCli } from '../support/cli.js';
import { sampled } from '../support/level.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { INGESTED, type LimitInput, RULES } from './limit-inputs.js';

const MOST_CPU_S = 15;
const MOST_RSS_MB = 1024;

const directory = temporaryDirectory();
const usageFile = join(directory, 'usage.json');
const hook = join(directory, 'usage.mjs');
writeFileSync(
  hook,
  `import { writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
if (isMainThread) process.on('exit', () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  writeFileSync(${JSON.stringify(usageFile)}, JSON.stringify({ cpuS: (userCPUTime + systemCPUTime) / 1e6, rssMb: maxRSS / 1024 }));
});
`,
);

const LOG = Array.from(
  { length: 5 },
  (_, i) =>
    ` iteration        ${i + 1}/     100 | consumed samples:           64 | elapsed time per iteration (ms): 1000.0 | ` +
    'learning rate: 1.000E-04 | global batch size:    64 | lm loss: 1.000000E+01 | loss scale: 1.0 | grad norm: 1.000 |',
).join('\n');

interface Outcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly usage: { readonly cpuS: number; readonly rssMb: number } | undefined;
  readonly seconds: number;
}

const script = process.env['MBF_LIMITS_MAIN'] ?? buildCli().script;
const table = process.env['MBF_LIMITS_TABLE'];

function run(args: readonly string[]): Outcome {
  rmSync(usageFile, { force: true });
  const started = performance.now();
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', hook, script, ...args], {
    encoding: 'utf8',
    timeout: 240_000,
    killSignal: 'SIGKILL',
    maxBuffer: 64 * 1024 * 1024,
  });
  const usage = existsSync(usageFile) ? (JSON.parse(readFileSync(usageFile, 'utf8')) as Outcome['usage']) : undefined;
  return { status, stdout, stderr, usage, seconds: (performance.now() - started) / 1000 };
}

function expectBounded(name: string, { status, stdout, stderr, usage, seconds }: Outcome, detail: string): void {
  const figures = usage === undefined ? '-' : `${usage.cpuS.toFixed(1)} s CPU, ${Math.round(usage.rssMb)} MB`;
  const row = `${name.padEnd(48)} exit ${String(status).padEnd(4)} ${figures.padEnd(22)} ${seconds.toFixed(1)} s  ${detail}`;
  if (table !== undefined) appendFileSync(table, `${row}\n`);
  const text = `${stdout}${stderr}`;
  expect(text).not.toMatch(/bug in mbforensics|FATAL ERROR|\n\s+at .{1,300}\.c?js:/);
  // Undefined: the process was killed, or aborted.
  expect(usage?.cpuS).toBeLessThan(MOST_CPU_S);
  expect(usage?.rssMb).toBeLessThan(MOST_RSS_MB);
}

const only = process.env['MBF_LIMITS_ONLY'];
const chosen = (inputs: readonly LimitInput[]): readonly LimitInput[] =>
  only === undefined ? sampled(inputs, 4) : inputs.filter(({ name }) => name.includes(only));

describe('an input of at most 4 MB', () => {
  it.each(chosen(INGESTED))(
    '$name is read in bounded time, and the log beside it is ingested',
    ({ name, file, make }) => {
      const folder = join(directory, 'run');
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder);
      const content = make();
      expect(Buffer.byteLength(content)).toBeLessThanOrEqual(4_200_000);
      writeFileSync(join(folder, file), content);
      writeFileSync(join(folder, 'train.log'), LOG);
      const store = join(directory, 'store.duckdb');
      rmSync(store, { force: true });
      const outcome = run(['ingest', folder, '--db', store, '--json']);
      const sources = sourcesOf(outcome.stdout);
      const source = sources.find(({ path }) => path === file);
      expectBounded(name, outcome, `${source?.status} ${source?.error?.text.slice(0, 70) ?? ''}`);
      expect([0, 1, 4]).toContain(outcome.status);
      expect(sources.find(({ path }) => path === 'train.log')?.status).toBe('ingested');
    },
  );

  it.each(chosen(RULES))('rules with $name are read or refused with the file', ({ name, file, make }) => {
    const path = join(directory, file);
    writeFileSync(path, make());
    const outcome = run(['explain', 'rules', 'test', path]);
    expectBounded(`rules ${name}`, outcome, outcome.stderr.slice(0, 100).replaceAll('\n', ' '));
    expect([0, 1, 4]).toContain(outcome.status);
    if (outcome.status === 4) expect(outcome.stderr).toMatch(/rules\.yaml.*MBF2601|MBF2601[\s\S]*rules\.yaml/);
  });
});

interface SourceResult {
  readonly path: string;
  readonly status: string;
  readonly error: { readonly text: string } | null;
}

function sourcesOf(stdout: string): SourceResult[] {
  const document = JSON.parse(stdout) as { readonly sources: readonly SourceResult[] };
  return [...document.sources];
}
