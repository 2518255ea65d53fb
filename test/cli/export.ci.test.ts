/**
 * `export` as scripts use it: what other programs read back, what is refused, and what is left behind, which is
 * nothing.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Profile } from 'pprof-format';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { NO_FRAMES, NO_STACK } from '../../src/derive/stacks/read-stacks.js';
import { FREED_THERE as FREED_SITE } from '../../src/derive/state/live/live-sites.js';
import { FREED_THERE } from '../../src/findings/export/export-live-stacks.js';
import type {
  DiagnoseResult,
  PeakDevice,
  PeakResult,
  SnapshotResult,
  SqlResult,
} from '../../src/model/results/common.js';
import { EXPORT_FORMATS, type ExportResult } from '../../src/model/results/export.js';
import { repoRoot, scratchDirectory } from '../store/scratch.js';
import { type Answer, buildCli, environment } from '../support/cli.js';
import { hasPython, SNAPSHOTS, skipLoudly, snapshotPickles } from '../support/corpus.js';
import { sampled } from '../support/level.js';
import { readPprof } from '../support/python-pprof.js';
import { python } from '../support/python-truth.js';
import { smallSnapshot } from '../support/small-snapshot.js';
import { speedscopeFaults } from '../support/speedscope-schema.js';
import { sampleStore } from '../support/stores.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const HANDLE = 'llama3-70b-fragmentation/0/snapshot#1';

const cli = buildCli();
const shared = temporaryDirectory();
const db = sampleStore('llama3-70b-fragmentation');
const ask = <T>(...args: string[]): T => cli.expect(0, [...args, '--db', db, '--json=full']).json<T>();
const [peak] = ask<PeakResult>('peak').snapshots[0]!.devices as readonly [PeakDevice];

/** A directory of the test's own for what it exports. */
let out = '';
beforeEach(() => {
  out = scratchDirectory();
});
const at = (name: string): string => join(out, name);
const run = (...args: string[]): Answer => cli.run(['export', '--db', db, ...args]);
const ok = (...args: string[]): Answer => cli.expect(0, ['export', '--db', db, ...args]);
const result = (...args: string[]): ExportResult => ok(...args, '--json=full').json<ExportResult>();

function expectError(answer: Answer, status: number, code: string): void {
  expect(answer.stderr).toMatch(new RegExp(`^mbforensics: error ${code}: `));
  expect(answer.stdout).toBe('');
  expect(answer.status).toBe(status);
}

const linesOf = (text: string): { readonly stack: string; readonly bytes: number }[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [, stack, bytes] = /^(.*) (\d+)$/.exec(line)!;
      return { stack: stack!, bytes: Number(bytes) };
    });
const sumOf = (lines: readonly { readonly bytes: number }[]): number =>
  lines.reduce((sum, line) => sum + line.bytes, 0);

describe('folded', () => {
  it('adds up to what is live at the peak, one line a stack', () => {
    const lines = linesOf(ok('--as', 'folded').stdout);
    expect(sumOf(lines)).toBe(peak.active_bytes);
    expect(new Set(lines.map((line) => line.stack)).size).toBe(lines.length);
    // Line for line what the other verb shows, which has the innermost frame first, up to the site.
    const { stacks, sites } = ask<PeakResult>('peak', '--limit', '0').snapshots[0]!.devices[0]!;
    const names = new Set(sites.map(({ site }) => site));
    const expected = new Map<string, number>();
    for (const { stack_id, origin, frames, bytes } of stacks) {
      const isFree = origin === 'free_event';
      const site = frames.findIndex((frame) => names.has(`${frame}${isFree ? FREED_SITE : ''}`));
      const [leaf, ...callers] = site < 0 ? [stack_id === null ? NO_STACK : NO_FRAMES] : frames.slice(site);
      const line = [...(isFree ? [FREED_THERE] : []), ...callers.reverse(), `${leaf}${isFree ? FREED_SITE : ''}`].join(
        ';',
      );
      expected.set(line, (expected.get(line) ?? 0) + bytes);
    }
    expect(new Map(lines.map((line) => [line.stack, line.bytes]))).toEqual(expected);
  });

  it('writes the same to a file, with a summary', () => {
    const summary = result('--as', 'folded', '-o', at('live.txt'));
    expect(readFileSync(at('live.txt'), 'utf8')).toBe(ok('--as', 'folded').stdout);
    expect(summary).toMatchObject({
      schema: 'mbforensics/export@1',
      format: 'folded',
      file: at('live.txt'),
      bytes: statSync(at('live.txt')).size,
      rows: null,
      stacks: linesOf(readFileSync(at('live.txt'), 'utf8')).length,
      sum_bytes: peak.active_bytes,
      handle: HANDLE,
      moment: 'peak',
      devices: [
        {
          device: 0,
          seq: peak.seq,
          active_bytes: peak.active_bytes,
          reserved_bytes: peak.reserved_bytes,
          basis: 'actual',
        },
      ],
    });
    expect(ok('--as', 'folded', '-o', at('other.txt')).stdout).toContain(`${at('other.txt')}: `);
  });

  it('with states adds up to what is reserved, and by state to what is active', () => {
    for (const option of ['--with-state', '--with-segments']) {
      const lines = linesOf(ok('--as', 'folded', option).stdout);
      expect(sumOf(lines)).toBe(peak.reserved_bytes);
      const prefix =
        option === '--with-state'
          ? /^stream_\d+;(active_allocated|active_pending_free|inactive);/
          : /^stream_\d+;seg_\d+;(active_allocated|active_pending_free|inactive);/;
      for (const line of lines) expect(line.stack).toMatch(prefix);
      expect(sumOf(lines.filter((line) => !line.stack.includes(';inactive;')))).toBe(peak.active_bytes);
    }
  });

  it('of another moment is another live set', () => {
    const seq = Math.floor(peak.seq! / 2);
    const summary = result('--as', 'folded', '--at', `seq:${seq}`, '-o', at('then.folded'));
    expect(summary.devices[0]!.seq).toBe(seq);
    expect(summary.sum_bytes).toBe(summary.devices[0]!.active_bytes);
    expect(summary.sum_bytes).toBeLessThan(peak.active_bytes);
    const end = result('--as', 'folded', '--at', 'end', '-o', at('end.folded'));
    const [dumped] = ask<SnapshotResult>('snapshot').snapshots[0]!.devices;
    expect(end.sum_bytes).toBe(dumped!.active_bytes);
  });
});

describe('speedscope', () => {
  it('is a file of its schema that adds up', () => {
    const summary = result('-o', at('peak.speedscope.json'));
    expect(summary.format).toBe('speedscope');
    const file = JSON.parse(readFileSync(at('peak.speedscope.json'), 'utf8')) as {
      readonly profiles: readonly { readonly endValue: number; readonly samples: readonly unknown[] }[];
    };
    expect(speedscopeFaults(file)).toEqual([]);
    expect(file.profiles[0]!.endValue).toBe(peak.active_bytes);
    expect(file.profiles[0]!.samples.length).toBeGreaterThan(10);
  });
});

describe('pprof', () => {
  it('is read alike by the library and by a reader of its own', () => {
    const summary = result('-o', at('peak.pb.gz'));
    expect(summary.format).toBe('pprof');
    expect(summary.sum_bytes).toBe(peak.active_bytes);
    const profile = Profile.decode(gunzipSync(readFileSync(at('peak.pb.gz'))));
    const total = (index: number): number =>
      profile.sample.reduce((sum, sample) => sum + Number(sample.value[index]), 0);
    expect([total(0), total(1)]).toEqual([peak.blocks, peak.active_bytes]);
    expect(profile.sample).toHaveLength(summary.stacks!);
    if (!hasPython) return;
    const read = readPprof(at('peak.pb.gz'));
    expect(read).toMatchObject({
      sample_types: [
        ['inuse_objects', 'count'],
        ['inuse_space', 'bytes'],
      ],
      default_type: 'inuse_space',
      period_type: ['space', 'bytes'],
      first_string: '',
      mappings: 1,
    });
    expect(read.samples.reduce((sum, sample) => sum + sample.values[1]!, 0)).toBe(peak.active_bytes);
    expect(read.samples.reduce((sum, sample) => sum + sample.values[0]!, 0)).toBe(peak.blocks);
    expect(read.comments.join('\n')).toContain(HANDLE);
    const { rows } = ask<SqlResult>('sql', `SELECT time_us FROM event WHERE device = 0 AND seq = ${peak.seq}`);
    expect(read.time_nanos).toBe(Number(rows[0]![0]) * 1000);
    for (const { labels } of read.samples) {
      expect(Object.keys(labels).sort()).toEqual(['device', 'pool', 'segment_type', 'state', 'stream']);
      expect(labels).toMatchObject({ device: '0', pool: '(0, 0)' });
    }
  });

  it('goes to a pipe, but not to a terminal', () => {
    ok('--as', 'pprof', '-o', at('a.pb.gz'));
    expect(pipe(['--as', 'pprof', '--db', db])).toEqual(readFileSync(at('a.pb.gz')));
    if (!hasPython) return;
    for (const args of [
      ['--as', 'pprof'],
      ['--as', 'parquet', '--table', 'run'],
    ]) {
      const shown = python(IN_TERMINAL, [process.execPath, cli.script, 'export', '--db', db, ...args]);
      expect(shown).toContain('MBF1001');
      expect(shown).toContain('status 2');
    }
    expect(python(IN_TERMINAL, [process.execPath, cli.script, 'export', '--db', db, '--as', 'folded'])).toContain(
      'status 0',
    );
  });
});

/** Runs a command with a terminal as its standard output and prints what it wrote there. */
const IN_TERMINAL = `
import os, pty, sys
os.environ['CI'] = '1'
def read(fd):
    return os.read(fd, 65536)
status = os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:], read, lambda fd: b''))
print('status', status)
`;

/** What a process writes into a pipe, as bytes. */
function pipe(args: readonly string[]): Buffer {
  const { status, stdout } = spawnSync(process.execPath, [cli.script, 'export', ...args], { env: environment() });
  expect(status).toBe(0);
  return stdout;
}

/** The cells of a picture, as a real parser of XML reads them: tooltip, bytes. */
function svgCells(file: string): { readonly title: string; readonly bytes: number }[] {
  const program =
    'import json, sys, xml.etree.ElementTree as E\nn = "{http://www.w3.org/2000/svg}"\n' +
    'print(json.dumps([{"title": s.find(n + "title").text, "bytes": int(s.get("data-bytes"))} for s in E.parse(sys.argv[1]).getroot().findall(n + "svg")]))';
  return JSON.parse(python(program, [file])) as { readonly title: string; readonly bytes: number }[];
}

describe('svg', () => {
  it('is chosen by the extension, and adds up to what is live', () => {
    const file = result('-o', at('live.svg'), '--at', 'oom');
    const folded = linesOf(ok('--as', 'folded', '--at', 'oom').stdout);
    expect(file).toMatchObject({ format: 'svg', moment: 'oom', sum_bytes: sumOf(folded) });
    expect(file.devices[0]!.active_bytes).toBe(file.sum_bytes);
    expect(ok('--as', 'svg', '--at', 'oom').stdout).toBe(readFileSync(at('live.svg'), 'utf8'));
    if (!hasPython) return;
    const [root, ...cells] = svgCells(at('live.svg'));
    expect(root!.bytes).toBe(file.sum_bytes);
    for (const { title } of cells) expect(title).not.toMatch(/\.(?:cpp|h|c):\d+\n/);
  });

  it('of an unknown extension is an error that names the known ones', () => {
    const { stderr } = run('-o', 'live.png');
    expect(stderr).toMatch(/unknown extension "\.png"; expected one of .*\.svg/);
    expect(ok('--as', 'svg', '-o', at('live.html')).stdout).toContain('live.html');
  });

  const pickles = hasPython ? sampled(snapshotPickles(), 16) : [];
  if (pickles.length === 0) skipLoudly('pictures of the corpus', 'MBF_CORPUS and python3');
  else
    it('of recordings of the corpus is XML whose root is their live memory', () => {
      let read = 0;
      for (const name of pickles) {
        const target = at(`${name}.svg`);
        const answer = cli.run(['export', join(SNAPSHOTS, name), '--at', 'end', '-o', target, '--json=full']);
        if (answer.status !== 0) continue;
        const { sum_bytes, devices } = answer.json<ExportResult>();
        expect(devices.reduce((sum, device) => sum + device.active_bytes, 0)).toBe(sum_bytes);
        const cells = svgCells(target);
        expect({ name, bytes: cells[0]?.bytes ?? 0 }).toEqual({ name, bytes: sum_bytes });
        read += 1;
      }
      expect(read).toBeGreaterThan(0);
    });
});

describe('tables', () => {
  it('as Parquet are read back by DuckDB, row for row', async () => {
    const { DuckDBInstance } = await import('@duckdb/node-api');
    const exported = result('--table', 'event', '-o', at('event.parquet'));
    const connection = await (await DuckDBInstance.create(':memory:')).connect();
    const read = async (sql: string): Promise<unknown> => (await connection.runAndReadAll(sql)).getRowsJson();
    const summary = (source: string): string =>
      `SELECT count(*), count(addr), sum(size_bytes), min(addr), max(time_us), string_agg(DISTINCT action::VARCHAR, ',' ORDER BY action::VARCHAR), sum(hash(seq, device, action::VARCHAR, addr, size_bytes, stack_id))::VARCHAR AS checksum FROM ${source}`;
    const written = (await read(summary(`'${at('event.parquet')}'`))) as readonly unknown[][];
    await connection.run(`ATTACH '${db}' AS store (READ_ONLY)`);
    expect(written).toEqual(await read(summary('store.event')));
    expect(Number(written[0]![0])).toBe(exported.rows);
    // Rows keep their order, and bytes their type.
    expect(await read(`SELECT seq FROM '${at('event.parquet')}' LIMIT 3`)).toEqual([[0], [1], [2]]);
    const types = (await read(
      `SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM '${at('event.parquet')}')`,
    )) as string[][];
    expect(Object.fromEntries(types)).toMatchObject({
      addr: 'UBIGINT',
      size_bytes: 'BIGINT',
      action: 'VARCHAR',
      seq: 'INTEGER',
    });
  });

  it('as CSV are what Python reads', () => {
    const query = 'SELECT name, filename, line, NULL AS nothing FROM frame ORDER BY frame_id';
    const summary = result('--query', query, '-o', at('frames.csv'));
    expect(ok('--query', query, '--as', 'csv').stdout).toBe(readFileSync(at('frames.csv'), 'utf8'));
    const rows = ask<SqlResult>('sql', query, '--limit', '0').rows;
    expect(summary.rows).toBe(rows.length);
    if (!hasPython) return;
    const read = JSON.parse(
      python(
        'import csv, json, sys\nprint(json.dumps(list(csv.reader(open(sys.argv[1], newline="", encoding="utf8")))))',
        [at('frames.csv')],
      ),
    ) as string[][];
    expect(read).toEqual([
      ['name', 'filename', 'line', 'nothing'],
      ...rows.map((row) => row.map((cell) => String(cell ?? ''))),
    ]);
  });

  it('of a query become Parquet, comments and semicolons and all', () => {
    const summary = result('--query', "SELECT ';' AS a, 2 AS b; -- the end;", '-o', at('q.parquet'));
    expect(summary.rows).toBe(1);
    const lines = python('import sys\nprint(open(sys.argv[1], "rb").read(4).decode())', [at('q.parquet')]);
    expect(lines.trim()).toBe('PAR1');
  });

  it.each(sampled(['parquet', 'csv'], 2))('all go into a directory as %s, each table and view', (format) => {
    const names = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main' ORDER BY 1";
    const tables = ask<SqlResult>('sql', names).rows.map(([name]) => String(name));
    const directory = at(format);
    mkdirSync(directory);
    for (const name of ['note.txt', `event.${format}`]) writeFileSync(join(directory, name), 'mine');
    const all = ['--table', 'all', '--as', format, '-o', directory];
    // Files that exist are replaced only with --force, and others are left alone.
    expectError(run(...all), 2, 'MBF1007');
    const summary = result(...all, '--force');
    expect(readFileSync(join(directory, 'note.txt'), 'utf8')).toBe('mine');
    const written = tables.map((name) => `${name}.${format}`);
    expect(readdirSync(directory).sort()).toEqual([...written, 'note.txt'].sort());
    expect(summary.tables.map(({ table }) => table)).toEqual(tables);
    for (const table of summary.tables) expect(statSync(table.file).size, table.table).toBe(table.bytes);
    expect(summary.rows).toBe(summary.tables.reduce((sum, table) => sum + table.rows, 0));
    expect(summary.tables.find(({ table }) => table === 'event')!.rows).toBeGreaterThan(1000);
    expect(readdirSync(out)).toEqual([format]);
  });

  it('only read: a statement cannot leave its file, nor write another', () => {
    const evil = at('evil.csv');
    for (const format of ['parquet', 'csv']) {
      const file = at(`x.${format}`);
      for (const [query, code] of [
        ['DELETE FROM trace_entry', 'MBF1005'],
        [`COPY event TO '${evil}'`, 'MBF1005'],
        ['SELECT 1; SELECT 2', 'MBF1005'],
        [`SELECT * FROM read_csv('${join(repoRoot, 'package.json')}')`, 'MBF1005'],
        [`SELECT 1) TO '${evil}' (FORMAT csv); --`, 'MBF1006'],
        ['SELECT nothing FROM event', 'MBF1006'],
        ["SELECT error('mid-stream') FROM event", 'MBF1006'],
        [`SELECT CASE WHEN seq > 20000 THEN error('late') ELSE seq END FROM event`, 'MBF1006'],
        ['', 'MBF1005'],
      ] as const)
        expectError(run('--query', query, '-o', file), 2, code);
    }
    expectError(run('--table', 'nothing', '-o', at('x.csv')), 2, 'MBF1006');
    expect(readdirSync(out)).toEqual([]);
  });
});

/** JSON lacks tuples: the tuples of torch are restored. */
const TO_PICKLE = `
import json, pickle, sys
top = json.load(open(sys.argv[1]))
for s in top['segments']: s['segment_pool_id'] = tuple(s['segment_pool_id'])
pickle.dump(top, open(sys.argv[2], 'wb'))
`;

describe('a whole snapshot', () => {
  it('at a moment is that moment, for us too', () => {
    if (!hasPython) return;
    const seq = peak.seq!;
    const summary = result('--as', 'snapshot-json', '--at', `seq:${seq}`, '-o', at('then.json'));
    expect(summary).toMatchObject({ rows: seq + 1, moment: `seq:${seq}`, handle: HANDLE });
    mkdirSync(at('run'));
    python(TO_PICKLE, [at('then.json'), join(at('run'), 'snapshot_0.pickle')]);
    const again = { env: { XDG_CACHE_HOME: at('cache') } };
    const [snapshot] = cli.expect(0, ['snapshot', at('run'), '--json=full'], again).json<SnapshotResult>().snapshots;
    expect(snapshot!.invariants_hold).toBe(true);
    expect(snapshot!.notes.filter((note) => note.kind.startsWith('invariant_'))).toEqual([]);
    const [device] = snapshot!.devices;
    expect(device).toMatchObject({
      events: seq + 1,
      active_bytes: peak.active_bytes,
      reserved_bytes: peak.reserved_bytes,
      peak_active_bytes: peak.active_bytes,
      peak_seq: seq,
      walk_violations: 0,
    });
    const then = cli.expect(0, ['peak', at('run'), '--json=full', '--limit', '0'], again).json<PeakResult>()
      .snapshots[0]!.devices[0]!;
    const now = ask<PeakResult>('peak', '--limit', '0').snapshots[0]!.devices[0]!;
    // In the file, a stack known only from the free has a frame that marks it; its call site is the same.
    const bySite = (sites: typeof now.sites): Record<string, number> => {
      const bytes: Record<string, number> = {};
      for (const { site, bytes: more } of sites) {
        const name = site.replace(' (freed there; allocated before the recording)', '');
        bytes[name] = (bytes[name] ?? 0) + more;
      }
      return bytes;
    };
    expect(bySite(then.sites)).toEqual(bySite(now.sites));
  });

  it('at its OOM ends with it, as an observer would have dumped it', () => {
    const { rows } = ask<SqlResult>('sql', 'SELECT seq, requested_bytes FROM trace_oom');
    const [oom, requested] = rows[0]!.map(Number);
    const summary = result('--as', 'snapshot-json', '--at', 'oom', '-o', at('oom.json'));
    expect(summary).toMatchObject({ rows: oom! + 1, moment: 'oom' });
    expect(summary.devices[0]!.seq).toBe(oom! - 1);
    if (!hasPython) return;
    mkdirSync(at('oom'));
    python(TO_PICKLE, [at('oom.json'), join(at('oom'), 'snapshot_0.pickle')]);
    const again = { env: { XDG_CACHE_HOME: at('cache') } };
    const then = cli
      .expect(0, ['diagnose', at('oom'), '--json=full', '--capacity', '79.11GiB'], again)
      .json<DiagnoseResult>();
    const now = ask<DiagnoseResult>('diagnose', HANDLE, '--capacity', '79.11GiB');
    expect(then.verdicts[0]).toMatchObject({ cause: now.verdicts[0]!.cause, detail: now.verdicts[0]!.detail });
    const { rows: last } = cli
      .expect(
        0,
        ['sql', 'SELECT action, size_bytes FROM event ORDER BY seq DESC LIMIT 1', at('oom'), '--json=full'],
        again,
      )
      .json<SqlResult>();
    expect(last).toEqual([['oom', requested]]);
  });

  it('is the same on standard output', () => {
    ok('-o', at('whole.json'), '--at', 'end');
    const { stdout } = cli.expect(0, ['export', '--db', db, '--as', 'snapshot-json']);
    expect(stdout).toBe(readFileSync(at('whole.json'), 'utf8'));
  });
});

describe('what is asked wrongly', () => {
  it.each<readonly [readonly string[], number, string]>([
    [[], 2, 'MBF1001'],
    [['--as', 'png'], 2, 'MBF1001'],
    [['-o', 'live.html'], 2, 'MBF1001'],
    [['--as', 'svg', '--table', 'event'], 2, 'MBF1001'],
    [['-o', 'what.bin'], 2, 'MBF1001'],
    [['--as', 'folded', '--at', 'noon'], 2, 'MBF1001'],
    [['--as', 'folded', '--device', '7'], 2, 'MBF1002'],
    [['--as', 'snapshot-json', '--device', '7'], 2, 'MBF1002'],
    [['--as', 'folded', '--device', '-1'], 2, 'MBF1001'],
    [['--as', 'folded', '--table', 'event'], 2, 'MBF1001'],
    [['--as', 'csv'], 2, 'MBF1001'],
    [['--as', 'csv', '--table', 'event', '--query', 'SELECT 1'], 2, 'MBF1001'],
    [['--as', 'csv', '--table', 'all'], 2, 'MBF1001'],
    [['--as', 'csv', '--table', 'event', '--at', 'peak'], 2, 'MBF1001'],
    [['--as', 'pprof', '--with-state', '-o', 'x'], 2, 'MBF1001'],
    [['--as', 'folded', 'no-such-run'], 2, 'MBF1002'],
  ])('export %j ends with %i and %s', (args, status, code) => {
    expectError(run(...args), status, code);
  });

  it('export --json without a file prints the error as JSON too', () => {
    const { status, stdout, stderr } = run('--as', 'folded', '--json=full');
    expect([status, (JSON.parse(stdout) as { code: string }).code]).toEqual([2, 'MBF1001']);
    expect(stderr).toContain('MBF1001');
  });

  it('of a run with several snapshots names their handles', () => {
    for (const rank of [0, 1]) {
      mkdirSync(at('ranks'), { recursive: true });
      writeFileSync(
        join(at('ranks'), `snapshot_${rank}.pickle`),
        smallSnapshot({ segments: [[{ size: 2 ** 21 * (rank + 1) }]] }),
      );
    }
    const several = at('several.duckdb');
    cli.expect(0, ['ingest', at('ranks'), '--db', several]);
    const answer = cli.run(['export', '--as', 'folded', '--db', several]);
    expectError(answer, 2, 'MBF1002');
    expect(answer.stderr).toContain('ranks/0/snapshot#1, ranks/1/snapshot#1');
    const single = cli.expect(0, ['export', 'ranks/1/snapshot#1', '--as', 'folded', '--db', several]);
    expect(sumOf(linesOf(single.stdout))).toBe(2 ** 22);
  });
});

describe('files', () => {
  it('are not replaced without the option, whatever exists there', () => {
    writeFileSync(at('mine.csv'), 'precious');
    symlinkSync(at('nowhere'), at('link.csv'));
    mkdirSync(at('folder.csv'));
    expectError(run('--query', 'SELECT 1', '-o', at('mine.csv')), 2, 'MBF1007');
    expectError(run('--query', 'SELECT 1', '-o', at('link.csv')), 2, 'MBF1007');
    expectError(run('--query', 'SELECT 1', '-o', at('folder.csv')), 5, 'MBF3006');
    expectError(run('--query', 'SELECT 1', '-o', at('folder.csv'), '--force'), 5, 'MBF3006');
    expectError(run('--query', 'SELECT 1', '-o', join(at('none'), 'x.csv')), 5, 'MBF3006');
    expectError(run('--query', 'SELECT 1', '-o', join(at('mine.csv'), 'x.csv')), 5, 'MBF3006');
    expect(readFileSync(at('mine.csv'), 'utf8')).toBe('precious');
    ok('--query', 'SELECT 1 AS one', '-o', at('mine.csv'), '--force');
    expect(readFileSync(at('mine.csv'), 'utf8')).toBe('one\n1\n');
    expect(readdirSync(out).sort()).toEqual(['folder.csv', 'link.csv', 'mine.csv']);
  });

  it('that a full disk cuts are not left behind', () => {
    // The limit of the shell is in blocks of 512 or 1024 bytes; either way the export is larger.
    for (const [format, query] of [
      ['csv', 'SELECT range AS a FROM range(3000000)'],
      ['parquet', 'SELECT hash(range) AS a FROM range(3000000)'],
    ] as const) {
      const limited = spawnLimited(['export', '--db', db, '--query', query, '-o', at(`x.${format}`)]);
      expect(limited.stderr).toContain('MBF3006');
      expect(limited.status).toBe(5);
    }
    expect(readdirSync(out)).toEqual([]);
  });

  it.each(['csv', 'parquet'])('as %s are not left behind half-written by a signal', async (format) => {
    // Fifty million rows take far longer than the test waits.
    const query = 'SELECT hash(range) AS a, hash(range + 1) AS b FROM range(50000000)';
    const args = [cli.script, 'export', '--db', db, '--query', query, '-o', at(`x.${format}`)];
    const child = spawn(process.execPath, args, { stdio: 'ignore', env: environment() });
    const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
    const isWriting = (): boolean =>
      readdirSync(out, { recursive: true, encoding: 'utf8' }).some(
        (name) => name.endsWith('export') && statSync(at(name)).size > 0,
      );
    while (!isWriting() && child.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 5));
    child.kill('SIGTERM');
    // 128 and the number of the signal, as a shell reports it.
    expect(await ended).toEqual([143, null]);
    expect(readdirSync(out)).toEqual([]);
  });
});

function spawnLimited(args: readonly string[]): { status: number; stderr: string } {
  const script =
    'import json, resource, signal, subprocess, sys\n' +
    'def limit():\n    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\n' +
    'r = subprocess.run(sys.argv[1:], capture_output=True, text=True, preexec_fn=limit)\nprint(json.dumps({"status": r.returncode, "stderr": r.stderr}))';
  return JSON.parse(python(script, [process.execPath, cli.script, ...args])) as { status: number; stderr: string };
}

describe('hostile frames', () => {
  const names = [
    'a;b.py:1',
    'new\nline\r.py:2',
    'tab\tand\u0000nul.py:3',
    'ünï çödé 😀.py:4',
    `${'x'.repeat(100_000)}.py:5`,
    'ends in 12 34:6',
    '<script>alert("1")</script>&amp;\u202eyp.py:11',
    '"quoted",\\.py:7',
    '\u2028sep.py:8',
    '__proto__:9',
  ];
  let hostile = '';
  beforeAll(() => {
    const directory = join(shared, 'hostile');
    mkdirSync(directory);
    const blocks = names.map((name, n) => ({ size: 512 * (n + 1), stack: [name, 'main.py:1'] }));
    const total = blocks.reduce((sum, block) => sum + block.size, 0);
    writeFileSync(
      join(directory, 'snapshot_0.pickle'),
      smallSnapshot({ segments: [[...blocks, { size: 2 ** 21 - total, state: 'inactive' }]] }),
    );
    hostile = join(shared, 'hostile.duckdb');
    cli.expect(0, ['ingest', directory, '--db', hostile]);
  });
  const total = names.reduce((sum, _, n) => sum + 512 * (n + 1), 0);

  it('are one line each of folded stacks', () => {
    const { stdout } = cli.expect(0, ['export', '--as', 'folded', '--raw-frames', '--db', hostile]);
    const lines = linesOf(stdout);
    expect(lines).toHaveLength(names.length);
    expect(sumOf(lines)).toBe(total);
    for (const { stack } of lines) expect(stack.split(';')).toHaveLength(2);
    expect(stdout).toContain('a\\x3bb');
    expect(stdout).toContain('new\\u{a}line');
    expect(stdout).toContain('ünï çödé 😀');
  });

  it('keep their names in the other formats', () => {
    cli.expect(0, ['export', '--db', hostile, '--raw-frames', '-o', at('h.speedscope.json')]);
    const file = JSON.parse(readFileSync(at('h.speedscope.json'), 'utf8')) as {
      readonly shared: { readonly frames: readonly { readonly file?: string }[] };
    };
    expect(speedscopeFaults(file)).toEqual([]);
    const files = names.map((name) => name.replace(/:\d+$/, ''));
    expect(new Set(file.shared.frames.map((frame) => frame.file))).toEqual(new Set([...files, 'main.py']));
    cli.expect(0, ['export', '--db', hostile, '--raw-frames', '-o', at('h.pb.gz')]);
    const profile = Profile.decode(gunzipSync(readFileSync(at('h.pb.gz'))));
    for (const name of files) expect(profile.stringTable.strings).toContain(name);
    if (!hasPython) return;
    expect(readPprof(at('h.pb.gz')).samples.reduce((sum, sample) => sum + sample.values[1]!, 0)).toBe(total);
    cli.expect(0, ['export', '--db', hostile, '--raw-frames', '-o', at('h.svg')]);
    const cells = svgCells(at('h.svg'));
    expect(cells[0]!.bytes).toBe(total);
    expect(cells.some(({ title }) => title.includes('nul') && title.includes('\\u{0}'))).toBe(true);
    cli.expect(0, ['export', '--db', hostile, '-o', at('h.json')]);
    const read = JSON.parse(
      python(
        'import json, sys\nprint(json.dumps([f["filename"] for s in json.load(open(sys.argv[1]))["segments"] for b in s["blocks"] for f in b["frames"]]))',
        [at('h.json')],
      ),
    ) as string[];
    for (const name of files) expect(read).toContain(name);
    cli.expect(0, ['export', '--db', hostile, '--table', 'frame', '--csv-raw', '-o', at('h.csv')]);
    const table = python(
      'import csv, json, sys\ncsv.field_size_limit(1 << 20)\nprint(json.dumps([r["filename"] for r in csv.DictReader(open(sys.argv[1], newline="", encoding="utf8"))]))',
      [at('h.csv')],
    );
    expect(JSON.parse(table)).toEqual(expect.arrayContaining([...files, 'main.py']));
  });
});

if (!hasPython) skipLoudly('exports read by Python', 'python3');

it('names every format in its help, and shows examples', () => {
  const { stdout } = cli.expect(0, ['export', '--help']);
  const [, examples] = stdout.split(/\nExamples:\n|\n+Also:\n/);
  for (const line of examples!.split('\n')) expect(line).toMatch(/^\s*\$ mbforensics export\b/);
  for (const format of EXPORT_FORMATS) expect(stdout).toContain(format);
});
