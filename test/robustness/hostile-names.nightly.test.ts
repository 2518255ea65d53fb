/**
 * Every verb over a run whose names (of directories, files, functions, settings, variables, metrics, tables, columns,
 * commits) are full of escape sequences, marks of direction and invisible characters. None of them may leave the
 * program in any text form; JSON has them escaped.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import sqlite from 'node-sqlite3-wasm';
import { beforeAll, describe, expect, it } from 'vitest';
import { VERBS } from '../../src/cli/verbs/index.js';
import { repositoryAt } from '../git/repositories.js';
import { repoRoot } from '../store/scratch.js';
import { type Answer, buildCli, wordsOf as callOf } from '../support/cli.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const SAMPLE = join(repoRoot, 'samples', 'nccl-outside');
/** Small, so that each of many questions is quick. */
const SNAPSHOT = join(repoRoot, 'test', 'fixtures', 'lab', 'no-settings-roundup.pickle.gz');
/** A title, a link, a colour, an 8-bit sequence, marks of direction, a separator, blanks, tags, our own style marks. */
const EVIL =
  '\u001b]0;t\u0007\u001b]8;;x:e.vil\u001b\\\u001b[31m\u009b2J\u202e\u2066\u061c\u200b\u2028\u00ad\u3164\ufeff\u{e0041}\ufdd0\ufdd2';
const INVISIBLE = /(?![\p{M}\t\n])[\p{C}\p{DI}\p{Zl}\p{Zp}]/u;
/** Ours, and no others. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours
const COLOUR = /\u001b\[(?:1|22|31|32|33|36|39)m/g;
/** How the characters are shown. */
const SHOWN = /\\(?:x1b|x9b|u\{202e\}|u\{1b\}|u001b|\\x1b|\\u\\\{202e)|%E2%80%AE|\\u202e/;

const cwd = temporaryDirectory();
const cli = buildCli();
const RUN = `run${EVIL}`;
const run = join(cwd, RUN);
const repository = join(cwd, 'repository');
const env = { XDG_CACHE_HOME: join(cwd, 'cache'), PATH: process.env['PATH'] };
const ask = (...args: string[]): Answer => cli.run(args, { cwd, env });

beforeAll(() => {
  mkdirSync(run);
  for (const file of readdirSync(SAMPLE)) {
    const bytes = readFileSync(join(SAMPLE, file));
    const name = file.replace(/\.(?!gz)/, `${EVIL}.`).replace(/\.gz$/, '');
    if (file.endsWith('.out')) writeFileSync(join(run, name), hostileLog(bytes.toString()));
    else if (file.endsWith('.yaml'))
      writeFileSync(join(run, file), `${bytes}\n${JSON.stringify(`key${EVIL}`)}: ${JSON.stringify(`value${EVIL}`)}\n`);
    else if (file.endsWith('.sqlite.gz')) hostileExport(join(run, name), gunzipSync(bytes));
    else if (!file.endsWith('.pickle.gz')) writeFileSync(join(run, name), bytes);
  }
  const { stdout } = ask('export', SNAPSHOT, '--as', 'snapshot-json');
  const sign = JSON.stringify(EVIL).slice(1, -1);
  const snapshot = stdout
    .replaceAll(/"name":"/g, `"name":"f${sign}\\ud800\\n`)
    .replaceAll('"filename":"', `"filename":"${sign}`);
  writeFileSync(join(run, `snapshot_oom_rank-0${EVIL}.json`), snapshot);
  writeFileSync(join(run, 'metrics.csv'), `step,"loss${EVIL}"\n1,2.5\n2,2.4\n`);
  mkdirSync(join(run, 'wandb'));
  writeFileSync(
    join(run, 'wandb', 'config.yaml'),
    `wandb_version: 1\n${JSON.stringify(`w${EVIL}`)}:\n  value: ${JSON.stringify(EVIL)}\n`,
  );
  const { commit } = repositoryAt(repository);
  for (const number of [1, 2, 3]) commit(`subject ${number} ${EVIL}`, { [`file${EVIL}`]: `${number}\n` });
  expect(ask('ingest', RUN, '--nsys-all').status).toBe(0);
  expect(ask('golden', 'add', RUN, '--name', 'base', '--force').status).toBe(0);
});

function hostileLog(text: string): string {
  return [
    `0: HOSTNAME=host${EVIL}`,
    `0: NCCL_DEBUG=${EVIL}`,
    `0: PYTORCH_CUDA_ALLOC_CONF=${EVIL}`,
    text.replaceAll('  File "', `  File "${EVIL}`),
    `0: RuntimeError: ${EVIL} of a rank`,
    `0: [rank3]: torch.OutOfMemoryError: CUDA out of memory. ${EVIL}`,
    '',
  ].join('\n');
}

/** With hostile strings, a table of its own and a column of its own. */
function hostileExport(path: string, bytes: Buffer): void {
  writeFileSync(path, bytes);
  const database = new sqlite.Database(path);
  const literal = `'${EVIL}'`;
  database.exec(`UPDATE StringIds SET value = value || ${literal} WHERE id % 3 = 0`);
  database.exec(`CREATE TABLE "EVIL${EVIL}" ("column${EVIL}" TEXT, "=1+1" TEXT)`);
  database.exec(`INSERT INTO "EVIL${EVIL}" VALUES (${literal}, '=cmd|calc!A0')`);
  database.close();
}

/**
 * Verb → questions, each with its further words between bars; a verb that is not here is asked without words. `RUN`,
 * `EVIL` and `REPO` stand for the names.
 */
const QUESTIONS: Readonly<Record<string, readonly string[]>> = {
  diagnose: ['', '--full', '--markdown|-', 'RUN'],
  advise: ['', '--markdown|-'],
  show: ['', 'E1', 'E2', 'E3', 'E4', 'E5', 'E6', 'tests', 'captures', 'accounting'],
  lint: ['--run|RUN', 'RUN/run_config.yaml|--sarif|-'],
  peak: ['', '--at|oom'],
  state: ['--at|oom', '--map'],
  doctor: ['RUN'],
  report: ['-o|page.html', '-o|-'],
  completion: ['bash'],
  redact: ['RUN|-o|copy|--force'],
  allocations: ['', '--csv'],
  timeline: ['', '--csv'],
  iterations: ['', '--csv'],
  diff: ['RUN|RUN', 'RUN|RUN|--html|-', 'RUN|RUN|--repo|REPO'],
  compare: ['', '|--markdown|-', '|--junit|-', '|--sarif|-'].map((form) => `RUN|--golden|base${form}`),
  gate: ['RUN|--baseline|gate.json|--update|--force'],
  golden: ['list', 'show|base', 'export|-|--name|base'],
  history: ['', '--repo|REPO', '--html|-'],
  'verify-fix': ['RUN|RUN'],
  bisect: ['report|--repo|REPO', 'report|--repo|noEVIL'],
  whatif: ['--set|expandable_segments:True'],
  explain: ['offload-pp', 'xEVIL'],
  formats: ['', 'RUN'],
  'explain-stack': ['File "EVIL", line 1, in fEVIL'],
  classify: ['EVIL CUDA out of memory. Tried to allocate 2.00 GiB'],
  triage: ['--golden|base|RUN'],
  ingest: ['RUN|--nsys-all', 'no suchEVIL'],
  export: [
    ...['--as|folded', '--as|svg', '--as|speedscope', '--as|snapshot-json', 'noEVIL|--as|folded'],
    ...['--as|csv|--table|source', '--as|csv|--table|frame'],
  ],
  sql: [
    ...['SELECT * FROM source', 'SELECT 1 AS "EVIL"', 'SELECT EVIL FROM "noEVIL"', "SELECT error('EVIL')"],
    ...['csv', 'jsonl'].flatMap((form) => [
      `SELECT 1 AS "EVIL"|--format|${form}`,
      `FROM config_value|--format|${form}`,
    ]),
  ],
};
const wordsOf = (question: string): string[] =>
  question
    .split('|')
    .filter((word) => word !== '')
    .map((word) => word.replace('RUN', RUN).replaceAll('EVIL', EVIL).replace('REPO', repository));
/** Answers that hold no name of the run. */
const WITHOUT_NAMES = ['completion', 'knobs', 'rules', 'estimate', 'explain'];

const hidden = (text: string): string | null => {
  const at = text.search(INVISIBLE);
  return at < 0 ? null : JSON.stringify(text.slice(Math.max(0, at - 80), at + 20));
};

describe('names that no terminal should see', () => {
  it('are asked of verbs that exist', () => {
    expect(Object.keys(QUESTIONS).filter((verb) => !(verb in VERBS))).toEqual([]);
  });

  it.each(Object.keys(VERBS))('%s shows them escaped', (verb) => {
    let shown = 0;
    for (const [i, words] of (QUESTIONS[verb] ?? ['']).map(wordsOf).entries()) {
      const forms = [['--color', 'always'], ...(i > 0 || verb === 'export' ? [] : [['--json=full']])];
      for (const form of forms) {
        const { stdout, stderr } = ask(...callOf(verb), ...words, ...form);
        const text = `${stdout}${stderr}`.replaceAll(COLOUR, '');
        expect([verb, ...words, hidden(text)]).toEqual([verb, ...words, null]);
        expect(stderr).not.toContain('MBF9001');
        if (form.includes('--json=full') && stdout !== '') JSON.parse(stdout);
        if (SHOWN.test(text)) shown += 1;
      }
    }
    if (!WITHOUT_NAMES.includes(verb)) expect(shown).toBeGreaterThan(0);
  });

  it.each([
    [[`verb${EVIL}`]],
    [['diagnose', `--option${EVIL}`]],
    [['peak', '--by', EVIL]],
    [['diagnose', '--db', `no/${EVIL}.duckdb`]],
    [['help', `verb${EVIL}`]],
    [['golden', EVIL]],
    [['whatif', '--scale', EVIL]],
    [['export', '--as', EVIL]],
    [['diagnose', `/no/${EVIL}`, '--debug']],
  ])('of the command line are escaped where they are wrong: question %#', (args) => {
    const { stdout, stderr, status } = ask(...args);
    expect(status).not.toBe(0);
    expect(hidden(stdout)).toBeNull();
    expect(hidden(stderr)).toBeNull();
  });

  it('of files that are written are escaped too', () => {
    ask('gate', RUN, '--baseline', 'gate.json', '--update', '--force');
    ask('compare', RUN, '--golden', 'base', '--junit', 'c.xml', '--markdown', 'c.md', '--sarif', 'c.sarif');
    ask('export', '--as', 'csv', '--table', 'all', '-o', 'tables', '--force');
    ask('export', '-o', 'p.svg', '--force');
    ask('report', '-o', 'page.html');
    const tables = readdirSync(join(cwd, 'tables')).map((name) => join('tables', name));
    for (const file of ['c.xml', 'c.md', 'c.sarif', 'p.svg', 'page.html', 'gate.json', ...tables])
      expect([file, hidden(readFileSync(join(cwd, file), 'utf8'))]).toEqual([file, null]);
    const cells = tables.flatMap((file) => readFileSync(join(cwd, file), 'utf8').split(/[,\n]/));
    expect(cells.filter((cell) => /^"?[=@]/.test(cell))).toEqual([]);
  });

  it('have the same value in JSON, and in CSV with --csv-raw', () => {
    const { runs } = JSON.parse(ask('runs', '--json=full').stdout) as { runs: { name: string }[] };
    expect(runs.map(({ name }) => name)).toContain(RUN);
    expect(ask('sql', `SELECT '${EVIL}' AS x`, '--format', 'csv', '--csv-raw').stdout).toBe(`x\n${EVIL}\n`);
  });
});
