/** A pickle that would run code is refused at the opcode that would do so, whatever surrounds it. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { OP, pickled, Raw } from '../../samples/generate/write/pickle-writer.js';
import { entry, segment, snapshot, snapshotPickle, trace } from '../support/small-snapshot.js';
import { type Bench, cliBelow, expectCliError, openBench, temporaryDirectory } from './harness.js';
import { FIRING, REFUSED_ALONE } from './malicious.js';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
  // Not into an empty store: what is there must still be there afterwards.
  expect((await bench.take('good.pickle', snapshotPickle())).source.status).toBe('ingested');
});
afterAll(() => bench.close());

const directory = temporaryDirectory();
const canary = join(directory, 'canary');
const all = [...Object.values(FIRING).map((make) => make(`touch ${canary}`)), ...REFUSED_ALONE];

it('all opcodes that import, call or build are tried', () => {
  expect(new Set(all.map(({ opcode }) => opcode)).size).toBe(16);
});

it.each(all)('$opcode is refused by name and offset, and nothing runs', async ({ bytes, offset, opcode }) => {
  const { source } = await bench.take('evil.pickle', bytes);
  expect(source.error).toMatchObject({ code: 'MBF2102', offset });
  expect(source.error?.text).toContain(`refused opcode ${opcode}:`);
  expect(source.error?.text).toContain(`at byte ${offset}`);
  expect(source.error?.remedy).toMatch(/Do not load this file with Python/);
  expect(existsSync(canary)).toBe(false);
});

const late = entry('alloc', 1, { frames: new Raw([OP.EMPTY_LIST, OP.EMPTY_DICT, OP.BUILD]) });
it.each([
  ['gzip', 'evil.pickle.gz', gzipSync(FIRING['GLOBAL']!(`touch ${canary}`).bytes)],
  ['no known key', 'evil.pickle', pickled([new Raw(Buffer.from('cposix\nsystem\n(tR', 'latin1'))])],
  [
    ...(['after 3000 entries', 'evil.pickle'] as const),
    pickled(snapshot({ segments: [segment()], device_traces: [[...trace(3000), late]] })),
  ],
  ['after STOP it is data nobody reads', 'evil.pickle', Buffer.concat([snapshotPickle(), Buffer.from('cposix\n')])],
])('%s', async (what, name, bytes) => {
  const { source } = await bench.take(name, bytes);
  if (what.startsWith('after STOP')) {
    expect(source.status).toBe('ingested');
    expect(source.notes.map((note) => note.kind)).toContain('trailing_bytes');
  } else expect(source.error?.code).toBe('MBF2102');
  expect(existsSync(canary)).toBe(false);
});

it.each(Object.keys(FIRING))('%s on the command line: exit 4, one line with the position, nothing runs', (name) => {
  const cwd = join(directory, name);
  mkdirSync(cwd);
  const { bytes, offset, opcode } = FIRING[name]!(`touch ${canary}`);
  writeFileSync(join(cwd, 'evil.pickle'), bytes);
  const ask = cliBelow(directory);
  for (const verb of ['snapshot', 'diagnose', 'peak'])
    expectCliError(
      ask(cwd, verb, 'evil.pickle'),
      4,
      'MBF2102',
      `evil.pickle at byte ${offset}: refused opcode ${opcode}`,
    );
  const ingested = ask(cwd, 'ingest', 'evil.pickle', '--db', 'a.duckdb', '--json=full');
  expect(ingested.status).toBe(4);
  expect(ingested.json()).toMatchObject({ sources: [{ status: 'failed', error: { code: 'MBF2102' } }] });
  const counted = ask(cwd, 'sql', 'SELECT count(*) AS n FROM event', '--db', 'a.duckdb', '--format', 'csv');
  expect(counted.stdout).toBe('n\n0\n');
  expect(existsSync(canary)).toBe(false);
});
