/**
 * Foreign files in a run directory, or named by mistake: one clear error or a skip, the right exit code, and no
 * needless reading.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, closeSync, mkdirSync, openSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OP, pickled, Raw } from '../../samples/generate/write/pickle-writer.js';
import { sharedBuild } from '../store/scratch.js';
import { NIGHTLY, runs } from '../support/level.js';
import { type Dict, snapshot, snapshotPickle, trace } from '../support/small-snapshot.js';
import { type Bench, expectCliError, openBench, runCli, seeded, temporaryDirectory } from './harness.js';

const GIB = 1024 ** 3;

function sparse(path: string, bytes: number): string {
  closeSync(openSync(path, 'w'));
  truncateSync(path, bytes);
  return path;
}

describe('in process', () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench();
    await bench.take('good.pickle', snapshotPickle());
  });
  afterAll(() => bench.close());

  it.each([1, 2, 7, 100, 4096, 65_536, 65_537, 1_000_000])(
    '%i random bytes, with a pickle header or without',
    async (size) => {
      const random = seeded(size);
      for (let i = 0; i < runs(0, 8); i++) {
        const bytes = Buffer.from(Array.from({ length: size }, () => Math.floor(random() * 256)));
        if (i % 2 === 1) Buffer.from([0x80, 2 + Math.floor(random() * 4)]).copy(bytes);
        for (const name of ['x.pickle', 'x.pickle.gz', 'x.log', 'x']) {
          const { source } = await bench.take(name, bytes);
          // Bytes that happen to read as text may be an empty log; nothing else is ever made of noise.
          if (source.status === 'ingested') expect(source.format).toBe('log');
          else expect(source.error?.code).toMatch(/^MBF2/);
        }
        if (size > 100_000) break;
      }
    },
  );

  it.each([
    ['an empty file', 'x.pickle', '', 'MBF2004'],
    [
      'a Git LFS pointer',
      'x.pickle',
      `version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 5\n`,
      'MBF2001',
    ],
    ['a login page', 'x.pickle', '<!DOCTYPE html><html><head><title>Sign in</title></head></html>', 'MBF2002'],
    ['an object store error', 'x.pickle', '<?xml version="1.0"?>\n<Error><Code>NoSuchKey</Code></Error>', 'MBF2002'],
    ['an Nsight report', 'x.nsys-rep', 'anything', 'MBF2003'],
    ['only zeros', 'x.pickle', '\0'.repeat(100_000), 'MBF2006'],
    ['a zip archive', 'x.pickle', 'PK\x03\x04 and so on', 'MBF2008'],
    ['gzip of nothing', 'x.pickle.gz', '\x1f\x8b\x08\0\0\0\0\0\0\x03', 'MBF2006'],
  ])('%s', async (_, name, content, code) => {
    const { source } = await bench.take(name, Buffer.from(content, 'latin1'));
    expect(source.error?.code, source.error?.text ?? source.status).toBe(code);
  });

  it('1 GB and 10 GB of zeros are refused', async () => {
    for (const [name, bytes] of [
      ['zeros.pickle', GIB],
      ['zeros10.pickle', 10 * GIB],
      ['checkpoint.pt', 10 * GIB],
    ] as const) {
      const { source } = await bench.takePath(sparse(join(bench.directory, name), bytes));
      expect(source.error?.code).toBe('MBF2006');
    }
  });

  it('a pickle header before 10 GB of zeros is refused', async () => {
    const path = join(bench.directory, 'header.pickle');
    writeFileSync(path, snapshotPickle().subarray(0, 300));
    truncateSync(path, 10 * GIB);
    const { source } = await bench.takePath(path);
    expect(source.error?.code).toBe('MBF2104');
  });
});

describe('through the real process', () => {
  const root = temporaryDirectory();
  let build = '';
  beforeAll(() => {
    build = sharedBuild();
  });
  const fresh = (name: string): string => {
    const cwd = join(root, name);
    mkdirSync(cwd);
    return cwd;
  };

  it('an empty file that is named: exit 4, MBF2004', async () => {
    const cwd = fresh('empty-file');
    writeFileSync(join(cwd, 'x.pickle'), '');
    for (const verb of ['snapshot', 'diagnose', 'peak', 'runs', 'sources'])
      expectCliError(await runCli(build, [verb, 'x.pickle'], cwd), 4, 'MBF2004', 'x.pickle: is empty');
    const result = await runCli(build, ['ingest', 'x.pickle', '--json'], cwd);
    expect(result.code).toBe(4);
    expect(JSON.parse(result.stdout)).toMatchObject({ sources: [{ status: 'failed', error: { code: 'MBF2004' } }] });
  });

  it('an empty directory: exit 4, MBF2008', async () => {
    const cwd = fresh('empty-directory');
    mkdirSync(join(cwd, 'run'));
    for (const verb of ['snapshot', 'diagnose', 'peak'])
      expectCliError(await runCli(build, [verb, 'run'], cwd), 4, 'MBF2008', 'nothing usable was found');
    const result = await runCli(build, ['ingest', 'run'], cwd);
    expect(result.code).toBe(4);
    expect(result.stderr).toMatch(/^mbforensics: error MBF2008: run: nothing usable was found\n {2}\S.*\n$/);
  });

  it('a path that is not there, a pipe: exit 2, MBF1003, and the pipe is not opened', async () => {
    const cwd = fresh('usage');
    expect(spawnSync('mkfifo', [join(cwd, 'pipe.pickle')]).status).toBe(0);
    expectCliError(await runCli(build, ['ingest', 'missing'], cwd), 2, 'MBF1003', 'no such file');
    expectCliError(await runCli(build, ['ingest', 'pipe.pickle'], cwd), 2, 'MBF1003', 'a pipe');
    expectCliError(await runCli(build, ['snapshot', 'pipe.pickle'], cwd), 2, 'MBF1003', 'a pipe');
  });

  it('1 GB of zeros: exit 4 in good time', async () => {
    const cwd = fresh('zeros');
    sparse(join(cwd, 'x.pickle'), GIB);
    for (const args of [
      ['snapshot', 'x.pickle'],
      ['diagnose', 'x.pickle'],
    ]) {
      const result = await runCli(build, args, cwd);
      expectCliError(result, 4, 'MBF2006', 'x.pickle: holds only zero bytes');
    }
    const result = await runCli(build, ['ingest', 'x.pickle'], cwd);
    expect(result.code).toBe(4);
  });

  it('a directory of everything at once: what is good is kept', async () => {
    const cwd = fresh('mixed');
    const run = join(cwd, 'run');
    mkdirSync(join(run, 'deep', 'er'), { recursive: true });
    writeFileSync(join(run, 'snapshot_0.pickle'), snapshotPickle());
    writeFileSync(join(run, 'snapshot_1.pickle'), snapshotPickle().subarray(0, 500));
    writeFileSync(join(run, 'snapshot_2.pickle'), '');
    writeFileSync(join(run, 'evil\nname.pickle'), snapshotPickle().subarray(0, 400));
    writeFileSync(join(run, 'report.nsys-rep'), 'closed');
    writeFileSync(join(run, 'stderr.log'), '');
    sparse(join(run, 'model_00.pt'), 10 * GIB);
    spawnSync('mkfifo', [join(run, 'pipe.log')]);
    symlinkSync('..', join(run, 'deep', 'er', 'up'));
    symlinkSync('loop', join(run, 'loop'));
    symlinkSync(run, join(run, 'deep', 'self'));
    const unreadable = process.getuid?.() !== 0;
    if (unreadable) {
      writeFileSync(join(run, 'secret.pickle'), snapshotPickle());
      chmodSync(join(run, 'secret.pickle'), 0);
    }
    const result = await runCli(build, ['ingest', 'run', '--json', '--db', 'a.duckdb'], cwd);
    expect(result.code).toBe(4);
    const { sources } = JSON.parse(result.stdout) as {
      sources: { path: string; status: string; error: { code: string } | null; notes: { kind: string }[] }[];
    };
    const outcome = Object.fromEntries(
      sources.map((source) => [source.path, source.error?.code ?? source.notes[0]?.kind ?? source.status]),
    );
    expect(outcome).toMatchObject({
      'snapshot_0.pickle': 'ingested',
      'snapshot_1.pickle': 'MBF2101',
      'snapshot_2.pickle': 'MBF2004',
      'evil\nname.pickle': 'MBF2101',
      'report.nsys-rep': 'MBF2003',
      'stderr.log': 'MBF2004',
      'model_00.pt': 'checkpoint',
      'pipe.log': 'special',
      loop: 'broken-link',
      ...(unreadable ? { 'secret.pickle': 'MBF2007' } : {}),
    });
    const counted = await runCli(
      build,
      ['sql', 'SELECT count(*) AS n FROM event', '--db', 'a.duckdb', '--format', 'csv'],
      cwd,
    );
    expect(counted.stdout).toBe('n\n9\n');
    const shown = await runCli(build, ['snapshot', '--db', 'a.duckdb'], cwd);
    expect(shown.stderr).toBe('');
    expect(shown.code).toBe(4);
  });

  // From 128 MiB on decoding has a thread of its own, which no test in process can start.
  it.each([
    ['whole', 0, '', {}],
    ['with a refused opcode at its end', 4, 'MBF2102', { odd: new Raw([OP.EMPTY_DICT, OP.EMPTY_DICT, OP.BUILD]) }],
    [
      'of sizes without a sum',
      4,
      'MBF2107',
      { device_traces: [trace(5).map((one) => ({ ...one, action: 'alloc', size: 2 ** 53 - 1 }))] },
    ],
    ['with an underflow', 4, 'MBF2104', { odd: new Raw([OP.MARK, OP.TUPLE2]) }],
    ['cut', 4, 'MBF2101', {}],
    ['that jumps to another memo slot', 4, 'MBF2105', { odd: new Raw([OP.NONE, OP.LONG_BINPUT, 0, 0, 0, 0x7f]) }],
  ] as [string, number, string, Dict][])('a large file %s: exit %i %s', async (what, exit, code, more) => {
    const cwd = fresh(`large ${what}`);
    // A whole one and a cut one are larger than what a process may take in at once.
    const mib = NIGHTLY || what === 'whole' || what === 'cut' ? 140 : 20;
    const noise = Buffer.alloc(mib * 1024 * 1024, Buffer.from([OP.NONE, OP.POP]));
    const bytes = pickled({ padding: new Raw(Buffer.concat([noise, Buffer.from([OP.NONE])])), ...snapshot(more) });
    const path = join(cwd, 'x.pickle');
    writeFileSync(path, what === 'cut' ? bytes.subarray(0, bytes.length - 100) : bytes);
    const answer = await runCli(build, ['snapshot', 'x.pickle'], cwd);
    // A file that takes more than five seconds has a line of progress.
    const result = { ...answer, stderr: answer.stderr.replace(/^x\.pickle {2}\S+ MiB {2}\w+\n/, '') };
    if (exit === 0) expect(result.stderr).toBe('');
    else expectCliError(result, exit, code, 'x.pickle');
    expect(result.code).toBe(exit);
    rmSync(path);
  });

  it('a directory with nothing wrong but strangers: exit 0', async () => {
    const cwd = fresh('strangers');
    mkdirSync(join(cwd, 'run'));
    writeFileSync(join(cwd, 'run', 'snapshot_0.pickle'), snapshotPickle());
    writeFileSync(join(cwd, 'run', 'report.nsys-rep'), 'closed');
    sparse(join(cwd, 'run', 'model_00.pt'), 10 * GIB);
    symlinkSync('..', join(cwd, 'run', 'up'));
    const result = await runCli(build, ['ingest', 'run'], cwd);
    expect(result.stderr).toBe('');
    expect(result.code).toBe(0);
  });

  it('a file name with control characters is a name like any other', async () => {
    const cwd = fresh('names');
    const name = 'evil\nname\u001b[31m.pickle';
    writeFileSync(join(cwd, name), snapshotPickle().subarray(0, 400));
    const result = await runCli(build, ['snapshot', name], cwd);
    expect(result.code).toBe(4);
    expect(result.stderr).toMatch(/^mbforensics: error MBF2101: /);
  });
});
