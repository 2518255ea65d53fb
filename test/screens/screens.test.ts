/**
 * What the program prints, compared with the files of docs/screens and with the pages that show them.
 * `npm run screens` rewrites both.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readCommand } from '../../src/cli/read-command.js';
import { VERBS } from '../../src/cli/verbs/index.js';
import { repoRoot } from '../store/scratch.js';
import { expectValid } from './schemas.js';
import { ask, formatOf, print, SCREENS, type Screen } from './screens.js';

const GOLDEN = join(repoRoot, 'docs', 'screens');
const PAGES = ['README.md', ...readdirSync(join(repoRoot, 'docs')).map((name) => `docs/${name}`)].filter((name) =>
  name.endsWith('.md'),
);
/** `doctor` depends on the machine; the report of a bisection is compared with docs/bisect.md, see below. */
const WITHOUT_SCREEN = ['bisect', 'doctor'];
/** Compared by `test/bisect/planted.ci.test.ts`, which makes its repository. */
const isReportOfBisection = (command: string): boolean => command.startsWith('bisect report');

/** Of this run: when files are rewritten, pages show the new ones. */
const printed = new Map<string, string>();

describe('docs/screens', () => {
  it.each(SCREENS)('$file: $command', async (screen) => {
    const text = print(screen);
    printed.set(screen.file, text);
    if (screen.file.endsWith('.json')) expectValid(JSON.parse(text), screen.file);
    if (!screen.file.endsWith('.md')) expect(text).not.toMatch(/undefined|NaN|\[object/);
    await expect(text).toMatchFileSnapshot(join(GOLDEN, screen.file));
  });

  it('has a screen of every verb, and no others', () => {
    const listed = new Set(SCREENS.map(({ file }) => file));
    const files = readdirSync(GOLDEN, { withFileTypes: true }).filter((entry) => entry.isFile());
    expect(files.map(({ name }) => name).filter((name) => !listed.has(name))).toEqual([]);
    const verbs = SCREENS.map(({ command }) => readCommand(command.split(' ')).verb);
    expect([...new Set([...verbs, ...WITHOUT_SCREEN])].sort()).toEqual(Object.keys(VERBS).sort());
  });
});

it('docs/screens/results has only files that a test names', () => {
  const tests = execFileSync('git', ['grep', '-h', '--untracked', 'goldenFile(', 'test'], { cwd: repoRoot }).toString();
  const named = [...tests.matchAll(/goldenFile\('([^']*)'\)/g)].map(([, name]) => name!);
  expect(readdirSync(join(GOLDEN, 'results')).sort()).toEqual([...new Set(named)].sort());
});

/** The shell takes of a golden text what the page shows: `| head -20`, or `; echo "exit $?"`. */
const throughShell = (output: string, exitCode: number, tail: string): string =>
  execFileSync('/bin/sh', ['-c', `printed() { cat; return ${exitCode}; }; printed${tail}`], {
    encoding: 'utf8',
    input: output,
  });

/** What a page shows, and the folder that its SQL is asked of from then on. */
function shown(command: string, folder: string): { readonly output: string; readonly folder: string } {
  if (/^sql "[^"]*"$/.test(command)) return { output: ask(folder, command), folder };
  const asked = (one: Screen): string => [one.command, ...formatOf(one.file)].join(' ');
  const screen = SCREENS.find((one) => /^$|^(?: \||;)/.test(command.replace(asked(one), '')));
  if (screen === undefined) throw new Error(`test/screens/screens.yaml has no such command: ${command}`);
  const golden = printed.get(screen.file) ?? readFileSync(join(GOLDEN, screen.file), 'utf8');
  const tail = command.slice(asked(screen).length);
  return { output: tail === '' ? golden : throughShell(golden, screen.exitCode, tail), folder: screen.folder };
}

describe('console blocks', () => {
  it.each(PAGES)('%s', async (page) => {
    const file = join(repoRoot, page);
    let folder = 'fragmentation';
    const text = readFileSync(file, 'utf8').replaceAll(
      /(?<=```console\n\$ mbforensics )([^\n]*)\n[\s\S]*?\n(?=```)/g,
      (block, command: string) => {
        if (isReportOfBisection(command)) return block;
        const { output, folder: next } = shown(command, folder);
        folder = next;
        return `${command}\n${output.trimEnd()}\n`;
      },
    );
    await expect(text).toMatchFileSnapshot(file);
  });
});
