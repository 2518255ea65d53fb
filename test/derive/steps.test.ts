/** The steps by which runs are concluded: one writer for each table, in an order in which all that is read exists. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { STEPS } from '../../src/derive/derive.js';
import { libraryObjects } from '../../src/store/install-library.js';
import { packageRoot, schemaTables } from '../../src/store/load-queries.js';
import { blankText } from '../../src/store/query-file.js';

const tables = STEPS.flatMap((step) => step.tables);
const ruled = libraryObjects().filter(({ kind }) => kind === 'table');
const nameOf = ({ name }: { readonly name: string }): string => name.replace('library.', '');

it('every table has one step, and every table of the library is of one', () => {
  expect(new Set(tables).size).toBe(tables.length);
  expect(tables).toEqual(expect.arrayContaining(ruled.map(nameOf)));
  const known = new Set([...schemaTables().map(({ name }) => name), ...ruled.map(nameOf)]);
  for (const table of tables) expect(known, table).toContain(table);
});

it('a rule reads only what earlier steps have written', () => {
  const objects = new Map(libraryObjects().map((object) => [nameOf(object), object]));
  /** Derived tables behind a statement, through views and macros. */
  const read = (statement: string, seen: Set<string>): string[] =>
    [...new Set(blankText(statement).match(/[a-z_]\w*/g))].flatMap((word) => {
      if (seen.has(word)) return [];
      if (tables.includes(word) && new RegExp(`(?:FROM|JOIN)\\s+${word}\\b`).test(statement)) return [word];
      const object = objects.get(word);
      if (object === undefined || object.kind === 'table') return [];
      seen.add(word);
      return read(object.statement, seen);
    });
  for (const object of ruled) {
    const place = tables.indexOf(nameOf(object));
    for (const table of read(object.statement, new Set()))
      expect(tables.indexOf(table), `${nameOf(object)} reads ${table}`).toBeLessThan(place);
  }
});

it('no other code writes these tables', () => {
  const files = execFileSync('git', ['ls-files', 'src/**/*.ts'], { cwd: packageRoot(), encoding: 'utf8' })
    .split('\n')
    // Labels are TEMP for the rules of a user; a text without a run is judged in a store of its own.
    .filter((file) => file !== '' && !/^src\/derive\/|judge-texts\.ts$|^src\/store\//.test(file));
  const names = tables.filter((table) => !/label/.test(table)).join('|');
  const writes = new RegExp(`(?:INSERT INTO|UPDATE|DELETE FROM|insertRows\\(|insertQuery\\()\\s*'?(?:${names})\\b`);
  expect(files.length).toBeGreaterThan(500);
  expect(files.filter((file) => writes.test(readFileSync(join(packageRoot(), file), 'utf8')))).toEqual([]);
});
