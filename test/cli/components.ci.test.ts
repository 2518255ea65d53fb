/**
 * Components where other views show them: in `timeline`, `diff`, `diagnose` and SQL their sums equal those of
 * `attribute`.
 */
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, it } from 'vitest';
import type { AttributedDevice, AttributeResult } from '../../src/model/results/attribute.js';
import type { DiagnoseResult } from '../../src/model/results/common.js';
import type { SnapshotDiff } from '../../src/model/results/diff.js';
import type { TimelineResult } from '../../src/model/results/timeline.js';
import { startChild } from '../store/scratch.js';
import { asker, byComponent, expectFits, sum } from '../support/ask.js';
import { type Act, recordProgram } from '../support/recorded-program.js';
import { copyStore, samplePath, sampleStore } from '../support/stores.js';

const LEAK = samplePath('leak');
const MIB = 2 ** 20;

const STACK = ['__init__ /home/u/pkg/net.py:3', '<module> /home/u/train.py:40'];
const PROGRAM: readonly Act[] = ['w', 'b', 'c'].map((alloc) => ({ alloc, bytes: 2 * MIB, stack: STACK }));

const { cli, cwd, mbf, text, json, put } = asker();
const attributed = (...args: string[]): AttributedDevice => json<AttributeResult>('attribute', ...args).devices[0]!;

describe('timeline', () => {
  const trace = (sample: string, ...args: readonly string[]) =>
    json<TimelineResult>('timeline', samplePath(sample), '--components', ...args).snapshots[0]!.devices[0]!.trace!;
  /** Columns with entries: what was most of each, and what its components add up to. */
  function both(sample: string, ...args: readonly string[]): [number[], number[]] {
    const { columns, components } = trace(sample, ...args);
    expect(components!.bytes).toHaveLength(columns.length);
    const filled = columns.flatMap(({ first_seq }, i) => (first_seq === null ? [] : [i]));
    expect(filled.length).toBeGreaterThan(10);
    return [
      filled.map((i) => columns[i]!.active_max_bytes),
      filled.map((i) => sum(components!.bytes[i]!, (part) => part)),
    ];
  }

  it.each([
    ['leak', ['--width', '50']],
    ['leak', ['--by', 'time', '--width', '300']],
    ['leak', ['--from', 'step:3', '--to', 'step:4']],
    ['capacity', ['--width', '5000']],
  ])('of %s %j adds up, column by column', (sample, args) => {
    const [most, sums] = both(sample, ...args);
    expect(sums).toEqual(most);
  });

  // The first column shows what was live before its first entry too.
  it.each([
    ['leak', ['--from', 'seq:100', '--to', 'seq:900']],
    ['llama3-70b-pp8', ['--width', '1000']],
  ])('of %s %j begins with what was live before its first entry', (sample, args) => {
    const [most, sums] = both(sample, ...args);
    expect(sums.slice(1)).toEqual(most.slice(1));
    expect(sums[0]).toBe(most[0]);
  });

  it('draws them with a letter for each', () => {
    const { stdout } = mbf('timeline', LEAK, '--components', '--height', '8');
    expectFits(stdout);
    expect(stdout).toContain('P parameter ≤ 8.46 GiB · O optimizer_state ≤ 25.37 GiB');
    expect(stdout).toMatch(/^ +│P+O{40,}$/m);
    expect(text('timeline', LEAK)).not.toContain('P parameter');
  });
});

describe('diff', () => {
  it('has the difference of both sides of attribute', () => {
    const [a, b] = ['pp8', 'vpp10'].map((name) => samplePath(`llama3-70b-${name}`)) as [string, string];
    const { components, total_delta_bytes } = json<SnapshotDiff>('diff', a, b);
    expect(sum(components, ({ delta_bytes }) => delta_bytes)).toBe(total_delta_bytes);
    const without = (side: 'a_bytes' | 'b_bytes') =>
      Object.fromEntries(components.map((row) => [row.component, row[side]]).filter(([, bytes]) => bytes !== 0));
    expect(without('a_bytes')).toEqual(byComponent(attributed(a).components));
    expect(without('b_bytes')).toEqual(byComponent(attributed(b).components));
    for (const row of components) expect(row.delta_bytes).toBe(row.b_bytes - row.a_bytes);
  });
});

describe('diagnose', () => {
  it.each(['leak', 'capacity', 'llama3-70b-fragmentation'])('of %s equals attribute at the OOM', (name) => {
    const run = samplePath(name);
    const { components } = json<DiagnoseResult>('diagnose', run).verdicts[0]!;
    const expected = attributed(run, '--at', 'oom');
    expect(components).toMatchObject({ moment: 'oom', total_bytes: expected.total_bytes });
    expect(byComponent(components!.parts)).toEqual(byComponent(expected.components));
    expect(sum(components!.parts, ({ bytes }) => bytes)).toBe(components!.total_bytes);
    const { stdout } = mbf('diagnose', run, '--full');
    const [largest] = [...components!.parts].sort((a, b) => b.bytes - a.bytes);
    const shown = /^Live +component.*\n +(\S+(?: \S+)*?) +(\d+\.\d\d GiB) +(\d+\.\d) %/m.exec(stdout);
    expect(shown?.slice(1)).toEqual([
      largest!.component.replaceAll('_', ' '),
      `${(largest!.bytes / 2 ** 30).toFixed(2)} GiB`,
      ((100 * largest!.bytes) / expected.total_bytes).toFixed(1),
    ]);
  });
});

/** A reader in a process of its own holds the store open, so that it cannot be written. */
async function heldOpen(name: string): Promise<{ readonly close: () => Promise<unknown> }> {
  const reader = startChild('lock-child.mjs', [join(cli.script, '..', '..', '..'), join(cwd, name), 'read']);
  expect(await reader.nextLine()).toBe('open');
  return {
    close() {
      reader.writeLine('enough');
      return reader.ended;
    },
  };
}

describe('SQL', () => {
  const rows = (db: string, statement: string): number[][] =>
    json<{ rows: unknown[][] }>('sql', statement, '--db', db).rows.map((row) => row.map(Number));

  it('has them before a statement names them, and they add up at any entry', () => {
    const db = sampleStore('leak');
    const { seq, total_bytes, blocks } = attributed(LEAK);
    const sums = 'SELECT sum(bytes), sum(blocks) FROM components_at';
    expect(rows(db, `${sums}(1, 0, ${seq})`)).toEqual([[total_bytes, blocks]]);
    for (const entry of [1, 500, 7886])
      expect(rows(db, `${sums}(1, 0, ${entry})`)).toEqual(
        rows(db, `SELECT sum(actual_bytes), count(*) FROM live_at(1, 0, ${entry})`),
      );
    expect(rows(db, 'SELECT count(*), count(component) FROM allocation_component')).toEqual(
      rows(db, 'SELECT count(*), count(*) FROM allocation'),
    );
  });

  it.each(['leak', 'llama3-70b-fragmentation'])('of %s has the rows of attribute', (name) => {
    const db = sampleStore(name);
    const select =
      'component, sub_component, phase, known_by, confidence, rules, bytes::BIGINT, requested_bytes::BIGINT';
    const table = (statement: string) =>
      json<{ rows: unknown[][] }>('sql', statement, '--db', db)
        .rows.map((row) => row.map(String))
        .sort();
    const rowsOf = ({ components }: AttributedDevice) =>
      components
        .map((row) =>
          [row.component, row.sub_component, row.phase, row.by, row.confidence, row.rules.join(' ')].concat([
            String(row.bytes),
            String(row.requested_bytes),
            String(row.blocks),
          ]),
        )
        .sort();
    for (const moment of ['peak', 'oom', 'start', 'seq:500']) {
      const device = attributed('--db', db, '--at', moment);
      expect(device.components.length > 1).toBe(device.total_bytes > 0);
      const seq = device.seq ?? -1;
      expect(table(`SELECT ${select}, blocks FROM components_at(1, 0, ${seq})`), moment).toEqual(rowsOf(device));
    }
    const peak = attributed('--db', db);
    const sums = 'SELECT component, sum(bytes)::BIGINT, sum(blocks)::BIGINT FROM peak_component GROUP BY component';
    const blocks = byComponent(peak.components.map(({ component, blocks: bytes }) => ({ component, bytes })));
    const expected = Object.entries(byComponent(peak.components)).map(([key, bytes]) => [key, bytes, blocks[key]]);
    expect(table(sums)).toEqual(expected.map((row) => row.map(String)).sort());
  });

  it('has them at the end of each step, and in ranges of entries', () => {
    const db = sampleStore('leak');
    const steps = rows(db, 'SELECT DISTINCT ordinal, end_seq FROM step_component ORDER BY ordinal');
    expect(steps.length).toBeGreaterThan(2);
    for (const [ordinal, seq] of steps) {
      const { total_bytes, blocks } = attributed('--db', db, '--at', `seq:${seq}`);
      const sums = `SELECT sum(bytes), sum(blocks) FROM step_component WHERE ordinal = ${ordinal}`;
      expect(rows(db, sums)).toEqual([[total_bytes, blocks]]);
    }
    const series = "component_series(1, 0, '0,1000,3000', '999,2999,4999')";
    const moments = rows(db, `SELECT DISTINCT nth, moment_seq FROM ${series} ORDER BY nth`);
    expect(moments.map(([nth]) => nth)).toEqual([0, 1, 2]);
    for (const [nth, seq] of moments) {
      const ofRange = `SELECT component, bytes FROM ${series} WHERE nth = ${nth}`;
      const atMoment = `SELECT component, sum(bytes) FROM components_at(1, 0, ${seq}) GROUP BY component`;
      const differing = `(${ofRange} EXCEPT ${atMoment}) UNION ALL (${atMoment} EXCEPT ${ofRange})`;
      expect(rows(db, `SELECT count(*) FROM (${differing})`)).toEqual([[0]]);
    }
  });

  it('has them by rules of a user for one question only, where the store cannot be written too', async () => {
    copyStore(join(cwd, 'ruled.duckdb'), LEAK);
    const rule = '{id: mine.all, component: kv_cache, sub_component: pages, at: {function: forward}}';
    put('mine.yaml', `rules: [${rule}]`);
    const builtIn = attributed('--db', 'ruled.duckdb');
    const ruled = attributed('--db', 'ruled.duckdb', '--rules', 'mine.yaml');
    expect(byComponent(ruled.components)['kv_cache']).toBeGreaterThan(0);
    expect(sum(ruled.components, ({ bytes }) => bytes)).toBe(builtIn.total_bytes);
    const series = mbf('timeline', '--db', 'ruled.duckdb', '--components', '--rules', 'mine.yaml', '--json=full');
    const { components } = series.json<TimelineResult>().snapshots[0]!.devices[0]!.trace!;
    const largest = components!.bytes.map((bytes) => bytes[components!.components.indexOf('kv_cache')]!);
    expect(Math.max(...largest)).toBeGreaterThanOrEqual(byComponent(ruled.components)['kv_cache']!);
    const reader = await heldOpen('ruled.duckdb');
    expect(attributed('--db', 'ruled.duckdb', '--rules', 'mine.yaml')).toEqual(ruled);
    await reader.close();
    expect(attributed('--db', 'ruled.duckdb')).toEqual(builtIn);
    expect(rows('ruled.duckdb', "SELECT count(*) FROM label WHERE rules LIKE '%mine%'")).toEqual([[0]]);
  });

  it('has them of memory from before the recording too', () => {
    const run = samplePath('llama3-70b-fragmentation');
    const db = sampleStore('llama3-70b-fragmentation');
    const { total_bytes, blocks, components } = attributed(run, '--at', 'start');
    expect(rows(db, 'SELECT sum(bytes), sum(blocks) FROM components_at(1, 0, -1)')).toEqual([[total_bytes, blocks]]);
    const parameter = byComponent(components)['parameter'];
    const statement = "SELECT sum(bytes) FROM components_at(1, 0, -1) WHERE component = 'parameter'";
    expect(rows(db, statement)).toEqual([[parameter]]);
  });

  it('has them where the store cannot be written', async () => {
    copyStore(join(cwd, 'held.duckdb'), LEAK);
    const reader = await heldOpen('held.duckdb');
    const counts = 'SELECT count(component) = count(*), count(*) > 0 FROM allocation_component';
    const answer = mbf('sql', counts, '--db', 'held.duckdb', '--json=full');
    expect(answer.stderr).toBe('');
    expect(answer.json<{ rows: unknown[][] }>().rows).toEqual([[true, true]]);
    await reader.close();
  });

  it('leaves them NULL where an ingest was killed before they were made and the store cannot be written', async () => {
    copyStore(join(cwd, 'killed.duckdb'), LEAK);
    const labelled = attributed('--db', 'killed.duckdb');
    const instance = await DuckDBInstance.create(join(cwd, 'killed.duckdb'));
    const connection = await instance.connect();
    await connection.run('UPDATE block_life SET label = NULL; DELETE FROM label; DELETE FROM labelled_device');
    connection.closeSync();
    instance.closeSync();
    const reader = await heldOpen('killed.duckdb');
    const counts = 'SELECT count(component), count(actual_bytes) > 0 FROM allocation_component';
    const ask = () => json<{ rows: unknown[][] }>('sql', counts, '--db', 'killed.duckdb').rows;
    expect(ask()).toEqual([[0, true]]);
    // A verb makes them for its question.
    expect(attributed('--db', 'killed.duckdb')).toEqual(labelled);
    await reader.close();
    // The next question can make them.
    expect(ask()[0]![0]).toBeGreaterThan(0);
  });

  it('drops them with the file they are of', () => {
    const record = (acts: readonly Act[]) => put('changing/snapshot_1.pickle', recordProgram(acts));
    record(PROGRAM);
    mbf('ingest', 'changing', '--db', 'changing.duckdb');
    const labelled = 'SELECT count(label) FROM block_life';
    expect(rows('changing.duckdb', labelled)).toEqual([[3]]);
    record(PROGRAM.slice(0, 2));
    mbf('ingest', 'changing', '--db', 'changing.duckdb');
    expect(rows('changing.duckdb', labelled)).toEqual([[2]]);
    const left = ['label', 'labelled_device', 'block_life', 'segment_life', 'derived_history'].map(
      (table) => `SELECT count(*) FROM ${table} WHERE snapshot_id NOT IN (SELECT snapshot_id FROM snapshot)`,
    );
    expect(rows('changing.duckdb', left.join(' UNION ALL '))).toEqual(left.map(() => [0]));
  });
});
