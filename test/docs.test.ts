/**
 * README and the reference pages agree with the program: verbs, exit codes, errors, tables of the store. Their console
 * blocks are compared in `test/screens`.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EXIT } from '../src/cli/exit-codes.js';
import { errorRemedies } from '../src/knowledge/errors.js';
import { CAUSES } from '../src/model/vocabulary.js';
import { describeTables } from '../src/store/check-tables.js';
import { repoRoot as ROOT } from './store/scratch.js';
import { buildCli } from './support/cli.js';

const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');

describe('README', () => {
  it('is short', () => {
    expect(readme.split('\n').length - 1).toBeLessThanOrEqual(250);
    expect(Buffer.byteLength(readme)).toBeLessThanOrEqual(16 * 1024);
  });

  it('lists the exit codes', () => {
    const listed = [...readme.matchAll(/^\| (\d+) \| /gm)].map(([, code]) => Number(code));
    expect(listed).toEqual(Object.values(EXIT));
  });

  it('names every cause', () => {
    const sentence = /The verdict is one of ([^.]*)\./.exec(readme)![1]!;
    expect([...sentence.matchAll(/`(\w+)`/g)].map(([, cause]) => cause)).toEqual([...CAUSES]);
  });

  it('and docs/verbs.md list the verbs of --help, in its groups and order', () => {
    const help = buildCli().expect(0, ['--help', '--all']).stdout;
    const [, ...groups] = help.slice(help.indexOf('\n\n', help.indexOf('--version'))).split(/^(?=[A-Z][A-Za-z ]+:$)/m);
    const verbsOf = (text: string): string[] => [...text.matchAll(/^ {2}([a-z-]+) /gm)].map(([, verb]) => verb!);
    const expected = groups
      .map((group) => [/^[^:]*/.exec(group)![0], verbsOf(group)] as const)
      .filter(([, verbs]) => verbs.length > 0);
    expect(expected.length).toBe(5);

    const row = ([name, verbs]: readonly [string, readonly string[]]): string =>
      `| ${name} | ${verbs.map((verb) => `\`${verb}\``).join(', ')} |`;
    for (const group of expected) expect(readme).toContain(row(group));

    const reference = readFileSync(join(ROOT, 'docs', 'verbs.md'), 'utf8').split(/^\| \*\*/m);
    const listed = reference.slice(1).map((text) => {
      const verbs = [...text.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, verb]) => verb!);
      return [/^[^*]*/.exec(text)![0], verbs];
    });
    expect(listed).toEqual(expected);
  });
});

describe('links, and files named in the code of the project, exist', () => {
  const pages = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.md'], { cwd: ROOT, encoding: 'utf8' })
    .split('\n')
    .filter((page) => page !== '' && !page.includes('/template/') && existsSync(join(ROOT, page)));
  // FORMAT.md names files of other projects too, and the recipes of CONTRIBUTING.md make new ones.
  const isNew = (path: string): boolean => /\/acme|largest-blocks/.test(path);

  it.each(pages)('%s', (page) => {
    const text = readFileSync(join(ROOT, page), 'utf8').replaceAll(/```[\s\S]*?```/g, '');
    const links = [...text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, target]) =>
      resolve(ROOT, dirname(page), target!),
    );
    const named = [...text.matchAll(/`[^`]*`/g)]
      .flatMap(([code]) => code.match(/(?<![\w./-])(?:src|parsers|queries|test|\.ci)\/[\w./-]*[\w/](?![\w*<{])/g) ?? [])
      .filter((path) => !isNew(path) && !path.endsWith('/') && !page.startsWith('parsers/'))
      .map((path) => join(ROOT, path));
    expect([...links, ...named].filter((path) => !existsSync(path))).toEqual([]);
  });
});

it('README and docs/*.md link only to what is packed with them', () => {
  const shown = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  const [{ files }] = JSON.parse(shown) as [{ files: readonly { readonly path: string }[] }];
  const packed = files.map(({ path }) => path);
  const pages = packed.filter((path) => /^(?:README|docs\/[^/]*)\.md$/.test(path));
  const written = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'));
  expect(pages.length).toBe(1 + written.length);
  const dead = pages.flatMap((page) => {
    const text = readFileSync(join(ROOT, page), 'utf8').replaceAll(/```[\s\S]*?```/g, '');
    const targets = [...text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, target]) => join(dirname(page), target!));
    return targets.filter((target) => !packed.some((path) => path === target || path.startsWith(join(target, '/'))));
  });
  expect(dead).toEqual([]);
});

it('docs/errors.md lists every error with its remedy', () => {
  const rows = readFileSync(join(ROOT, 'docs', 'errors.md'), 'utf8').matchAll(/^\| (MBF\d+) \| [^|]+ \| (.+) \|$/gm);
  expect([...rows].map(([, code, remedy]) => [code, remedy])).toEqual(Object.entries(errorRemedies()));
});

it('docs/sql.md names every table of the store', async () => {
  const text = readFileSync(join(ROOT, 'docs', 'sql.md'), 'utf8');
  for (const table of Object.keys({ ...(await describeTables()).schema, ...(await describeTables()).derived }))
    expect(text, `table ${table}`).toContain(`\`${table}\``);
});

it('every FORMAT.md names where its format is defined', () => {
  const parsers = readdirSync(join(ROOT, 'parsers'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(parsers.length).toBeGreaterThan(1);
  for (const { name } of parsers) {
    expect(readFileSync(join(ROOT, 'parsers', name, 'FORMAT.md'), 'utf8')).toMatch(/## Where it is defined|upstream/i);
  }
});
