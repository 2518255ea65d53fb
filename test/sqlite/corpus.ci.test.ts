/** Every database of the corpus, value by value against SQLite. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MbfError } from '../../src/model/errors.js';
import { openDatabase } from '../../src/sqlite/open-database.js';
import { CORPUS, skipLoudly } from '../support/corpus.js';
import { expectSameAsSqlite, memoryAccess } from './oracle.js';

const DIRECTORY = join(CORPUS, 'nsys');
const files = existsSync(DIRECTORY) ? readdirSync(DIRECTORY).filter((name) => name.endsWith('.sqlite')) : [];

describe('the databases of the corpus', () => {
  if (files.length === 0) {
    skipLoudly('databases of the corpus', 'the corpus (set MBF_CORPUS)');
    return;
  }
  let rows = 0;

  it.each(files)('%s holds what SQLite finds in it, or is refused', async (name) => {
    const bytes = readFileSync(join(DIRECTORY, name));
    if (bytes.toString('latin1', 0, 15) !== 'SQLite format 3') {
      expect(() => openDatabase(memoryAccess(bytes))).toThrow(MbfError);
      return;
    }
    rows += await expectSameAsSqlite(bytes);
  });

  it('hold rows', () => {
    expect(rows).toBeGreaterThan(10_000);
  });
});
