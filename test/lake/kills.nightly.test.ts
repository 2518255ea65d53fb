/** `lake add` killed at any moment: what a second one makes of it is the undisturbed lake. */
import { cpSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { buildCli } from '../support/cli.js';
import { SEED } from '../support/level.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { doubled, filesOf, partsOf, smallRun, start } from './lakes.js';

const KILLS = 50;
/** Kills of one test. */
const EACH = 10;

const cli = buildCli();
const root = temporaryDirectory();
const stores = ['before', 'after'].map((name, i) => {
  const db = join(root, `${name}.duckdb`);
  cli.expect(0, ['ingest', smallRun(join(root, name, 'night-shift'), 12 - 4 * i, 3 * i), '--db', db]);
  return db;
});
const add = (db: string, lake: string): string[] => [
  ...['lake', 'add', 'night-shift', '--to', lake, '--id', 'a', '--events', '--block', '0/1', '--db', db],
];
const [before, after] = stores.map((db) => {
  const lake = join(root, `lake-of-${stores.indexOf(db)}`);
  cli.expect(0, add(db, lake));
  return lake;
}) as [string, string];

/** Seeded, from 0 to 1. */
let state = SEED;
const random = (): number => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
};

/** Folders come and go while they are listed. */
function partsNow(lake: string): string[] {
  try {
    return partsOf(lake);
  } catch {
    return partsNow(lake);
  }
}

/** Lets the writer go on until it has changed `changes` parts of the lake, or has ended. */
async function untilChanged(lake: string, changes: number, ended: Promise<unknown>): Promise<void> {
  const first = new Set(partsOf(lake));
  let isOver = false;
  void ended.then(() => {
    isOver = true;
  });
  while (!isOver) {
    const now = new Set(partsNow(lake));
    const come = [...now].filter((name) => !first.has(name));
    const gone = [...first].filter((name) => !now.has(name));
    if (come.length + gone.length >= changes) return;
    await setTimeout(0);
  }
}

describe(`SIGKILL of lake add (seed ${SEED})`, () => {
  it.each(Array.from({ length: KILLS / EACH }, (_, i) => i))(
    'loses and doubles no row (%d)',
    async (nth) => {
      for (let i = 0; i < EACH; i += 1) {
        const lake = join(root, `lake-${nth}-${i}`);
        mkdirSync(lake);
        // Into an empty lake, or in the place of other rows.
        if (i % 2 === 1) cpSync(before, lake, { recursive: true });
        const { child, ended } = start(add(stores[1]!, lake));
        // Half of the kills at any time, half while parts are put into their places, which takes milliseconds.
        if (i % 4 < 2) await Promise.race([setTimeout(200 + 1500 * random()), ended]);
        else await untilChanged(lake, 1 + Math.floor(30 * random()), ended);
        child.kill('SIGKILL');
        await ended;
        expect(doubled(lake)).toEqual([]);
        const visible = partsOf(lake).filter((name) => !name.startsWith('.'));
        for (const name of visible) expect(name).toMatch(/^\w+\/run=[^/]+\/rank_block=0\/part-[0-9a-f]{16}\.parquet$/);
        expect(await start(add(stores[1]!, lake)).ended).toMatchObject({ status: 0, stderr: '' });
        expect(filesOf(lake)).toEqual(filesOf(after));
      }
    },
    300_000,
  );

  it('of lake compact keeps every row, and the next one finishes it', async () => {
    const lake = join(root, 'compacted');
    const run = join(root, 'before', 'night-shift');
    for (const block of ['0/2', '1/2'])
      cli.expect(0, ['lake', 'add', run, '--to', lake, '--id', 'a', '--block', block]);
    const expected = join(root, 'compacted-undisturbed');
    cpSync(lake, expected, { recursive: true });
    cli.expect(0, ['lake', 'compact', expected]);
    for (let i = 0; i < EACH; i += 1) {
      const copy = join(root, `compacted-${i}`);
      cpSync(lake, copy, { recursive: true });
      const { child, ended } = start(['lake', 'compact', copy]);
      if (i % 2 === 0) await Promise.race([setTimeout(200 + 1000 * random()), ended]);
      else await untilChanged(copy, 1 + Math.floor(20 * random()), ended);
      child.kill('SIGKILL');
      await ended;
      expect(doubled(copy)).toEqual([]);
      expect(await start(['lake', 'compact', copy]).ended).toMatchObject({ status: 0 });
      expect(filesOf(copy)).toEqual(filesOf(expected));
      expect(readdirSync(copy).filter((name) => name.startsWith('.'))).toEqual([]);
    }
  }, 300_000);
});
