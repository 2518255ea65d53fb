/** The command line as scripts see it: exit codes, what is on which stream, JSON, and where stores come from. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, realpathSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type {
  DiagnoseResult,
  IngestResult,
  RunsResult,
  SnapshotResult,
  SourcesResult,
  SqlResult,
} from '../../src/model/results/common.js';
import { scratchDirectory } from '../store/scratch.js';
import { type Answer, buildCli, environment, wordsOf } from '../support/cli.js';
import { smallSnapshot } from '../support/small-snapshot.js';
import { copyStore, samplePath } from '../support/stores.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const SAMPLE = samplePath('llama3-70b-fragmentation');
const VERBS =
  'ingest diagnose show log iterations memory config env peak state timeline diff snapshot runs sources sql'.split(' ');

const cli = buildCli();
/** A store with the sample run; read only. */
const shared = temporaryDirectory();
const db = copyStore(join(shared, 'sample.duckdb'), SAMPLE, ['--label', 'golden', '--commit', '0123456789abcdef']);

/** An error: the code, one message on stderr that names it and what to do, nothing on stdout. */
function expectError(answer: Answer, status: number, code: RegExp): void {
  expect(answer.stderr).toMatch(code);
  expect(answer.stdout).toBe('');
  expect(answer.status).toBe(status);
  expect(answer.stderr).toMatch(/^mbforensics: error MBF\d{4}: [\s\S]+\n {2}\S/);
  expect(answer.stderr).not.toMatch(/\n\s+at .*:\d+:\d+/);
}

describe('help', () => {
  it.each(VERBS)('of %s names its options', (verb) => {
    const { stdout, stderr } = cli.expect(0, [...wordsOf(verb), '--help']);
    expect(stderr).toBe('');
    expect(stdout).toContain('--json=full');
    expect(stdout).toContain('--db');
  });

  it('names every verb, and the version', () => {
    const { stdout } = cli.expect(0, ['--help', '--all']);
    for (const verb of ['diagnose', 'peak', 'compare', 'export'])
      expect(stdout).toMatch(new RegExp(`^ {2}${verb}\\b`, 'm'));
    expect(cli.expect(0, ['--version']).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it('is not the answer to a missing verb', () => {
    const answer = cli.expect(2, []);
    expect(answer.stdout).toBe('');
    expect(answer.stderr).toContain('Usage: mbforensics');
  });
});

// `every-verb.test.ts` has the schema of every verb.
describe('text and document agree', () => {
  const both = (verb: string) => ({
    text: cli.expect(0, [...wordsOf(verb), '--db', db]).stdout,
    document: cli.expect(0, [...wordsOf(verb), '--db', db, '--json=full']),
  });

  it('on runs', () => {
    const { text, document } = both('runs');
    const { runs } = document.json<RunsResult>();
    expect(runs).toMatchObject([
      { name: 'llama3-70b-fragmentation', label: 'golden', commit: '0123456789abcdef', snapshots: 1, failed: 0 },
    ]);
    for (const word of [runs[0]!.name, 'golden']) expect(text).toContain(word);
    expect(document.stdout.endsWith('}\n')).toBe(true);
  });

  it('on sources', () => {
    const { text, document } = both('sources');
    const { sources } = document.json<SourcesResult>();
    // Four logs, one per node, a snapshot, the launch script and the configuration.
    expect(sources.filter(({ status }) => status === 'ingested').length).toBe(7);
    for (const { path } of sources) expect(text).toContain(path);
  });

  it('on causes', () => {
    const { text, document } = both('diagnose');
    for (const { cause } of document.json<DiagnoseResult>().verdicts) expect(text).toContain(cause);
  });
});

describe('exit codes', () => {
  it('2: options, counts and formats that do not exist', () => {
    for (const args of [['diagnose', '--nonsense'], ['frobnicate'], ['ingest'], ['sql', '--nonsense']]) {
      const answer = cli.run([...args]);
      expect(answer.status, args.join(' ')).toBe(2);
      expect(answer.stdout).toBe('');
      expect(answer.stderr).toMatch(/^error: /);
    }
    expectError(cli.run(['sql', '--db', db]), 2, /MBF1001.*--list/);
    for (const limit of ['-1', '1.5', 'many'])
      expectError(cli.run(['peak', '--limit', limit, '--db', db]), 2, /MBF1001.*--limit/);
    expectError(cli.run(['sql', 'SELECT 1', '--limit', '1e99', '--db', db]), 2, /MBF1001.*--limit/);
    expectError(cli.run(['diagnose', '--capacity', 'lots', '--db', db]), 2, /MBF1001.*--capacity/);
    expectError(cli.run(['sql', 'SELECT 1', '--format', 'xml', '--db', db]), 2, /MBF1001.*xml/);
    const unknown = cli.run(['sql', 'FROM nope', '--db', db]);
    expectError(unknown, 2, /MBF1006.* nope does not exist! .*LINE 1: FROM nope$/m);
    expect(unknown.stderr).not.toContain('\ufffd');
    expectError(
      cli.run(['ingest', SAMPLE, '--run', 'x', '--each', '--db', join(scratchDirectory(), 's.duckdb')]),
      2,
      /MBF1001/,
    );
  });

  it('2: runs, handles, paths and stores that do not exist', () => {
    expectError(cli.run(['diagnose', 'no-such-run', '--db', db]), 2, /MBF1002.*no-such-run/);
    expectError(cli.run(['peak', 'run:nope', '--db', db]), 2, /MBF1002/);
    expectError(cli.run(['snapshot', 'path:/no/such/path', '--db', db]), 2, /MBF1003/);
    const nowhere = join(scratchDirectory(), 'none.duckdb');
    for (const verb of ['diagnose', 'runs']) expectError(cli.run([verb, '--db', nowhere]), 2, /MBF1004/);
    expectError(cli.run(['sql', 'SELECT 1', '--db', nowhere]), 2, /MBF1004/);
    expectError(cli.run(['ingest', '/no/such/run', '--db', nowhere]), 2, /MBF1003/);
  });

  it('4: inputs that cannot be used; what can be is kept', () => {
    const root = realpathSync(scratchDirectory());
    const store = join(root, 's.duckdb');
    mkdirSync(join(root, 'run'));
    const good = smallSnapshot();
    writeFileSync(join(root, 'run', 'snapshot_0.pickle'), good);
    writeFileSync(join(root, 'run', 'snapshot_1.pickle'), good.subarray(0, 100));
    const result = cli.expect(4, ['ingest', join(root, 'run'), '--db', store, '--json=full']).json<IngestResult>();
    expect(result.sources.map(({ status }) => status)).toEqual(['ingested', 'failed']);
    // A question about a run that lacks a file is answered; the exit code shows the gap.
    for (const verb of ['snapshot', 'peak']) cli.expect(4, [verb, '--db', store, '--json=full']);
    expect(
      cli.expect(4, ['diagnose', '--db', store, '--json=full']).json<DiagnoseResult>().failed_sources,
    ).toMatchObject([{ path: 'snapshot_1.pickle', error: { code: 'MBF2101' } }]);
    const env = { XDG_CACHE_HOME: join(root, 'cache') };
    expectError(cli.run(['snapshot', join(root, 'run', 'snapshot_1.pickle')], { env }), 4, /MBF2101/);
    mkdirSync(join(root, 'empty'));
    expectError(cli.run(['diagnose', join(root, 'empty')], { env }), 4, /MBF2008/);
    expect(cli.run(['ingest', join(root, 'empty'), '--db', store]).status).toBe(4);
  });

  it('5: stores that are none', () => {
    const file = join(scratchDirectory(), 'not-a-store.duckdb');
    writeFileSync(file, 'hello, this is no database at all\n');
    expectError(cli.run(['runs', '--db', file]), 5, /MBF3004/);
    expectError(cli.run(['ingest', SAMPLE, '--db', file]), 5, /MBF3004/);
    expectError(cli.run(['ingest', SAMPLE, '--db', join(file, 'below')]), 5, /MBF3005/);
  });

  it('1 and 3: findings, only with --exit-code', () => {
    cli.expect(0, ['diagnose', '--db', db]);
    cli.expect(1, ['diagnose', '--db', db, '--exit-code']);
    const root = scratchDirectory();
    const env = { XDG_CACHE_HOME: join(root, 'cache') };
    const of = (name: string, text: string): string => {
      writeFileSync(join(root, name), text);
      return join(root, name);
    };
    cli.expect(3, ['diagnose', of('a.log', 'step 1\nRuntimeError: CUDA error: out of memory\n'), '--exit-code'], {
      env,
    });
    cli.expect(
      0,
      ['diagnose', of('b.log', 'RuntimeError: CUDA error: an illegal memory access was encountered\n'), '--exit-code'],
      { env },
    );
  });

  it('show the stack of an error only with --debug', () => {
    const answer = cli.expect(2, ['runs', '--db', join(scratchDirectory(), 'none.duckdb'), '--debug']);
    expect(answer.stderr).toMatch(/\n\s+at .*:\d+:\d+/);
  });
});

describe('sql', () => {
  const TRICKY = `SELECT * FROM (VALUES (1, 'plain', NULL), (2, 'a "quoted", cell', 'x'), (3, E'two\\nlines', '')) AS t(n, text, other) ORDER BY n`;
  const sql = (...args: string[]): Answer => cli.expect(0, ['sql', ...args, '--db', db]);

  it('prints csv with quotes where they are needed and nothing for NULL', () => {
    expect(sql(TRICKY, '--format', 'csv').stdout).toBe(
      'n,text,other\n1,plain,\n2,"a ""quoted"", cell",x\n3,"two\nlines",\n',
    );
  });

  it('prints a JSON line a row', () => {
    const rows = sql(TRICKY, '--format', 'jsonl')
      .stdout.trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
    expect(rows).toEqual([
      { n: 1, text: 'plain', other: null },
      { n: 2, text: 'a "quoted", cell', other: 'x' },
      { n: 3, text: 'two\nlines', other: '' },
    ]);
  });

  it('prints one JSON document, --json being the same as --format json', () => {
    const answer = sql(TRICKY, '--format', 'json');
    expect(answer.json<SqlResult>()).toEqual({
      schema: 'mbforensics/sql@1',
      columns: [
        { name: 'n', type: 'INTEGER' },
        { name: 'text', type: 'VARCHAR' },
        { name: 'other', type: 'VARCHAR' },
      ],
      rows: [
        [1, 'plain', null],
        [2, 'a "quoted", cell', 'x'],
        [3, 'two\nlines', ''],
      ],
      truncated: false,
    });
    expect(sql(TRICKY, '--json=full').stdout).toBe(answer.stdout);
  });

  it('prints a table with one line a row', () => {
    const lines = sql(TRICKY).stdout.trimEnd().split('\n');
    expect(lines[0]).toMatch(/^n\s+text\s+other$/);
    expect(lines[1]).toMatch(/1\s+plain/);
  });

  it('keeps integers exact beyond 2^53 in every format', () => {
    const big =
      'SELECT 9007199254740993::BIGINT AS a, 18446744073709551615::UBIGINT AS b, 5::BIGINT AS c, -9007199254740993::HUGEINT AS d';
    expect(sql(big, '--format', 'csv').stdout).toBe(
      'a,b,c,d\n9007199254740993,18446744073709551615,5,-9007199254740993\n',
    );
    expect(JSON.parse(sql(big, '--format', 'jsonl').stdout)).toEqual({
      a: '9007199254740993',
      b: '18446744073709551615',
      c: 5,
      d: '-9007199254740993',
    });
    expect(sql(big, '--format', 'json').json<SqlResult>().rows).toEqual([
      ['9007199254740993', '18446744073709551615', 5, '-9007199254740993'],
    ]);
  });

  it('limits tables and documents, with a note; csv and jsonl print all', () => {
    const many = 'SELECT range AS n FROM range(2500)';
    const result = sql(many, '--json=full').json<SqlResult>();
    expect([result.rows.length, result.truncated]).toEqual([1000, true]);
    expect(sql(many, '--json=full', '--limit', '2').json<SqlResult>().rows).toEqual([[0], [1]]);
    expect(sql(many, '--limit', '2').stdout).toContain('--limit 0');
    expect(sql(many, '--format', 'csv', '--limit', '2').stdout.trim().split('\n').length).toBe(2501);
  });

  it('reads the statement from standard input', () => {
    const answer = cli.expect(0, ['sql', '-', '--format', 'csv', '--db', db], {
      input: '-- a comment\nSELECT 1 AS a,\n 2 AS b\n',
    });
    expect(answer.stdout).toBe('a,b\n1,2\n');
    expectError(cli.run(['sql', '-', '--db', db], { input: '' }), 2, /MBF1005/);
  });

  it('refuses to write, to leave the store, and text that is not SQL', () => {
    const refused = [
      'DROP TABLE run',
      `COPY run TO '${join(shared, 'out.csv')}'`,
      `ATTACH '${join(shared, 'other.duckdb')}'`,
      'SELECT 1; SELECT 2',
    ];
    for (const statement of refused) expectError(cli.run(['sql', statement, '--db', db]), 2, /MBF1005/);
    expectError(cli.run(['sql', `SELECT * FROM read_csv('/etc/passwd')`, '--db', db]), 2, /MBF100[56]/);
    for (const statement of ['SELEC 1', 'SELECT * FROM no_such_table'])
      expectError(cli.run(['sql', statement, '--db', db]), 2, /MBF1006/);
    expectError(cli.run(['sql', 'DELETE FROM run', '--format', 'csv', '--db', db]), 2, /MBF1005/);
    expect(readdirSync(shared)).toEqual(['sample.duckdb']);
    expect(sql('SELECT count(*) AS n FROM run', '--format', 'csv').stdout).toBe('n\n1\n');
  });

  it('asks the store of a path', () => {
    const args = ['sql', 'SELECT count(*) AS n FROM snapshot', SAMPLE, '--format', 'csv'];
    expect(cli.expect(0, args, { env: { XDG_CACHE_HOME: scratchDirectory() } }).stdout).toBe('n\n1\n');
  });
});

describe('a pipe that is closed early', () => {
  const piped = (command: string) =>
    spawnSync('bash', ['-c', `set -o pipefail; ${command}; echo "$?" >&2`], {
      encoding: 'utf8',
      env: { ...environment(), CLI: cli.script, DB: db },
    });

  it('ends the command quietly', () => {
    for (const format of ['csv', 'jsonl']) {
      const { stdout, stderr } = piped(
        `node "$CLI" sql 'SELECT range AS n FROM range(3000000)' --format ${format} --db "$DB" | head -1`,
      );
      expect(stdout.trim().split('\n').length).toBe(1);
      expect(stderr).toBe('0\n');
    }
    const { stdout, stderr } = piped(`node "$CLI" peak --limit 0 --json=full --db "$DB" | head -1`);
    expect(stdout).toBe('{\n');
    expect(stderr).toBe('0\n');
  });
});

describe('the store', () => {
  let root = '';
  beforeEach(() => {
    root = realpathSync(scratchDirectory());
    mkdirSync(join(root, 'runs', 'old'), { recursive: true });
    mkdirSync(join(root, 'runs', 'new'), { recursive: true });
    writeFileSync(join(root, 'runs', 'old', 'snapshot_0.pickle'), smallSnapshot());
    writeFileSync(join(root, 'runs', 'new', 'snapshot_1.pickle'), smallSnapshot());
  });

  it('is --db, else MBF_DB, else mbforensics.duckdb in the working directory', () => {
    const run = join(root, 'runs', 'old');
    const named = join(root, 'env.duckdb');
    cli.expect(0, ['ingest', run], { cwd: root });
    expect(readdirSync(root)).toContain('mbforensics.duckdb');
    cli.expect(0, ['ingest', run], { cwd: root, env: { MBF_DB: named } });
    const optionStore = join(root, 'option.duckdb');
    cli.expect(0, ['ingest', run, '--db', optionStore], { cwd: root, env: { MBF_DB: named } });
    const dbOf = (args: readonly string[], env = {}): string =>
      resolve(root, cli.expect(0, ['runs', '--json=full', ...args], { cwd: root, env }).json<RunsResult>().db);
    expect(dbOf([])).toBe(join(root, 'mbforensics.duckdb'));
    expect(dbOf([], { MBF_DB: named })).toBe(named);
    expect(dbOf(['--db', optionStore], { MBF_DB: named })).toBe(optionStore);
    expect(dbOf([], { MBF_DB: '' })).toBe(join(root, 'mbforensics.duckdb'));
  });

  it('is asked about the run that was ingested last unless one is named', () => {
    const store = join(root, 's.duckdb');
    const ask = (verb: string, ...args: string[]): SnapshotResult =>
      cli.expect(0, [verb, ...args, '--db', store, '--json=full']).json<SnapshotResult>();
    cli.expect(0, ['ingest', join(root, 'runs', 'old'), '--db', store, '--commit', 'abcdef0123']);
    cli.expect(0, ['ingest', join(root, 'runs', 'new'), '--db', store]);
    expect(ask('snapshot').snapshots.map(({ run }) => run)).toEqual(['new']);
    expect(cli.expect(0, ['diagnose', '--db', store, '--json=full']).json<DiagnoseResult>().run).toBe('new');
    cli.expect(0, ['ingest', join(root, 'runs', 'old'), '--db', store]);
    expect(ask('snapshot').snapshots.map(({ run }) => run)).toEqual(['old']);
    expect(ask('snapshot', 'run:new').snapshots.map(({ run }) => run)).toEqual(['new']);
    expect(ask('snapshot', 'abcdef0').snapshots.map(({ run }) => run)).toEqual(['old']);
    expect(ask('snapshot', 'new/1/snapshot#1').snapshots.map(({ handle }) => handle)).toEqual(['new/1/snapshot#1']);
    expect(ask('peak', 'snapshot:old/0/snapshot#1').snapshots.map(({ handle }) => handle)).toEqual([
      'old/0/snapshot#1',
    ]);
  });

  it('of each subdirectory, and of several paths, holds the runs asked for', () => {
    const store = join(root, 's.duckdb');
    const names = (): string[] =>
      cli
        .expect(0, ['runs', '--db', store, '--json=full'])
        .json<RunsResult>()
        .runs.map(({ name }) => name)
        .sort();
    cli.expect(0, ['ingest', join(root, 'runs'), '--each', '--db', store]);
    expect(names()).toEqual(['new', 'old']);
    cli.expect(0, ['ingest', join(root, 'runs', 'old'), join(root, 'runs', 'new'), '--run', 'both', '--db', store]);
    expect(names()).toEqual(['both', 'new', 'old']);
  });
});

describe('a path instead of a run', () => {
  let root = '';
  let cache = '';
  let file = '';
  beforeEach(() => {
    root = realpathSync(scratchDirectory());
    cache = join(root, 'cache');
    file = join(root, 'snapshot_3.pickle');
    writeFileSync(file, smallSnapshot());
  });
  const stores = (): string[] =>
    readdirSync(join(cache, 'mbforensics', 'paths')).filter((name) => name.endsWith('.duckdb'));
  const ask = (verb: string, path: string, env: Record<string, string> = { XDG_CACHE_HOME: cache }): Answer =>
    cli.expect(0, [...wordsOf(verb), path, '--json=full'], { cwd: root, env });

  it('works with every verb, without a store of one’s own', () => {
    expect(ask('snapshot', file).json<SnapshotResult>().snapshots).toMatchObject([
      { path: 'snapshot_3.pickle', rank: 3 },
    ]);
    ask('peak', file);
    ask('diagnose', file);
    expect(ask('runs', file).json<RunsResult>().runs.length).toBe(1);
    expect(ask('sources', file).json<SourcesResult>().sources.length).toBe(1);
    expect(ask('snapshot', 'snapshot_3.pickle').json<SnapshotResult>().snapshots.length).toBe(1);
    expect(ask('snapshot', 'path:snapshot_3.pickle').json<SnapshotResult>().snapshots.length).toBe(1);
    expect(stores().length).toBe(1);
    expect(readdirSync(root).sort()).toEqual(['cache', 'snapshot_3.pickle']);
  });

  it('is read once: the second question opens the store of the first', () => {
    const first = ask('snapshot', file);
    const [name] = stores();
    const store = join(cache, 'mbforensics', 'paths', name!);
    const past = new Date('2020-01-01');
    utimesSync(store, past, past);
    const before = statSync(store);
    expect(ask('snapshot', file).stdout).toBe(first.stdout);
    ask('diagnose', file);
    expect(stores()).toEqual([name]);
    const after = statSync(store);
    expect([after.mtimeMs, after.size, after.ino]).toEqual([before.mtimeMs, before.size, before.ino]);
  });

  it('gives handles that the next question understands', () => {
    const { handle } = ask('snapshot', file).json<SnapshotResult>().snapshots[0]!;
    const snapshots = ask('peak', handle).json<SnapshotResult>().snapshots;
    expect(snapshots.map((snapshot) => snapshot.handle)).toEqual([handle]);
    const otherCache = { XDG_CACHE_HOME: join(root, 'other-cache') };
    expectError(cli.run(['peak', handle], { cwd: root, env: otherCache }), 2, /MBF1003/);
  });

  it('is read again once it has changed', () => {
    const reserved = (): number =>
      ask('snapshot', file).json<SnapshotResult>().snapshots[0]!.devices[0]!.reserved_bytes;
    expect(reserved()).toBe(2 ** 21);
    writeFileSync(file, smallSnapshot({ segments: [[{ size: 2 ** 22 }]] }));
    expect(reserved()).toBe(2 ** 22);
    expect(stores().length).toBe(2);
  });

  it('works where the cache directory cannot be made', () => {
    writeFileSync(join(root, 'in-the-way'), '');
    const env = { XDG_CACHE_HOME: join(root, 'in-the-way'), TMPDIR: root };
    expect(ask('snapshot', file, env).json<SnapshotResult>().snapshots.length).toBe(1);
    expect(readdirSync(root).filter((name) => name.startsWith('mbforensics-'))).toEqual([]);
  });

  const isRoot = process.getuid?.() === 0;
  it.skipIf(!isRoot)('needs root: works where the cache directory exists but may not be written', () => {
    // Root may write everywhere, so run as an unprivileged user; the file is made readable and the directories
    // passable.
    mkdirSync(join(cache, 'mbforensics', 'paths'), { recursive: true });
    const script = `
      process.setgid(65534); process.setuid(65534);
      process.argv = [process.argv[0], ${JSON.stringify(cli.script)}, 'snapshot', ${JSON.stringify(file)}, '--json=full'];
      await import(${JSON.stringify(cli.script)});`;
    spawnSync('chmod', ['-R', 'a+rX', root]);
    const tmp = join(root, 'tmp');
    mkdirSync(tmp, { mode: 0o777 });
    spawnSync('chmod', ['777', tmp]);
    const answer = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
      cwd: root,
      env: environment({ XDG_CACHE_HOME: cache, TMPDIR: tmp }),
    });
    expect(answer.stderr).toBe('');
    expect((JSON.parse(answer.stdout) as SnapshotResult).snapshots.length).toBe(1);
    expect(readdirSync(tmp)).toEqual([]);
  });
});
