/** Every console block of the pages in docs/ prints what the page shows, and every verb is shown on a page. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readCommand } from '../src/cli/read-command.js';
import { VERBS } from '../src/cli/verbs/index.js';
import { repoRoot } from './store/scratch.js';
import { consoleBlocksOf, testConsoleBlocks } from './support/console-blocks.js';

const pages = readdirSync(join(repoRoot, 'docs')).map((name) => `docs/${name}`);
const pagesWithBlocks = pages.filter((page) => consoleBlocksOf(page).length > 0);

/** Their output depends on the day or the machine, or is a script or a page. */
const NOT_SHOWN = ['runs', 'doctor', 'completion', 'report'];

it('every verb is shown', () => {
  const shown = ['README.md', ...pages].flatMap(consoleBlocksOf).map(({ words }) => readCommand(words.split(' ')).verb);
  expect([...new Set([...shown, ...NOT_SHOWN])].sort()).toEqual(Object.keys(VERBS).sort());
});

describe.each(pagesWithBlocks)('%s', (page) => testConsoleBlocks(page));
