/** Where the tables that this knowledge was converted from lie beside the corpus, they and it have the same rows. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SYMPTOM_ROWS } from '../../../src/findings/explain/carriers.js';
import { STATEMENTS } from '../../../src/findings/explain/statements/index.js';
import { DISAGREEMENTS } from '../../../src/knowledge/disagreements.js';
import { KNOBS } from '../../../src/knowledge/knobs/index.js';
import { repoRoot } from '../../store/scratch.js';

const corpus = process.env['MBF_CORPUS'] ?? join(repoRoot, '..', 'shared', 'corpus');
const path = join(corpus, '..', 'reference', 'guides.md');
const isThere = existsSync(path);
if (!isThere)
  console.warn('no reference tables of the guides beside the corpus: what was converted is not compared with them');

/** First cells of the tables in a section, without their heads. */
function firstCells(section: string): string[] {
  const text =
    readFileSync(path, 'utf8')
      .split(/^## /m)
      .find((part) => part.startsWith(section)) ?? '';
  const lines = text.split('\n');
  return lines
    .filter(
      (line, index) => line.startsWith('|') && !line.startsWith('| ---') && !lines[index + 1]?.startsWith('| ---'),
    )
    .map((line) => line.split('|')[1]?.trim() ?? '');
}

describe.skipIf(!isThere)('as in the reference tables', () => {
  it('statements', () => {
    expect(STATEMENTS.map(({ id }) => id)).toEqual(firstCells('1. '));
  });

  it('knobs', () => {
    const index = KNOBS.filter(({ isAdded }) => isAdded !== true).map(({ title }) => title);
    expect([...index].sort()).toEqual([...firstCells('2. ')].sort());
  });

  it('symptoms', () => {
    expect(SYMPTOM_ROWS.map(({ id, name }) => `${id} ${name}`)).toEqual(firstCells('3. '));
  });

  it('disagreements', () => {
    expect(DISAGREEMENTS.map(({ id }) => id)).toEqual(firstCells('5. '));
  });
});
