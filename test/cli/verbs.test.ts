/** Every verb as it is defined: what `--help` needs of it, and that its help can be printed. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Verb } from '../../src/cli/define-verb.js';
import type { ListedVerb, VerbName } from '../../src/cli/verbs/index.js';
import { sharedBuild } from '../store/scratch.js';
import { warmCliOf, wordsOf } from '../support/cli.js';

const CLI = join(sharedBuild(), 'src', 'cli');
const { GROUPS, PARTS, VERBS } = (await import(
  join(CLI, 'verbs', 'index.js')
)) as typeof import('../../src/cli/verbs/index.js');

const verbs = await Promise.all(
  Object.entries<ListedVerb>(VERBS).map(async ([name, { group, load }]) => ({
    name,
    group,
    verb: (await load()).verb,
  })),
);

/** A verb and the verbs below it, with the words that call them. */
function withParts(words: string, verb: Verb): Called[] {
  return [{ words, verb }, ...verb.verbs.flatMap((part) => withParts(`${words} ${part.name}`, part))];
}
interface Called {
  readonly words: string;
  readonly verb: Verb;
}
const all = verbs.flatMap(({ name, verb }) => withParts(wordsOf(name).join(' '), verb));

const cli = warmCliOf(join(CLI, 'main.js'));

describe('a verb', () => {
  it.each(verbs)('$name has that name, and is listed or a part of a listed one', ({ name, verb, group }) => {
    expect(verb.name).toBe(name);
    expect([...PARTS.values()].includes(name as VerbName)).toBe(group === undefined);
  });

  it('is one of at most 29 in the help, 12 of them in its first group', () => {
    const shown = verbs.filter(({ group }) => group !== undefined);
    expect(shown.length).toBeLessThanOrEqual(29);
    expect(shown.filter(({ group }) => group === GROUPS[0]).length).toBeLessThanOrEqual(12);
  });

  it.each(all)('$words has a summary of one line, and examples that call it', ({ words, verb }) => {
    expect(verb.summary).toMatch(/^\S.*(?:[^.\s]|\.\.\.)$/);
    expect(verb.examples.length).toBeGreaterThan(0);
    const ownExamples = verb.examples.filter((example) => example === words || example.startsWith(`${words} `));
    expect(ownExamples.length).toBeGreaterThan(0);
    if (verb.verbs.length === 0) expect(ownExamples).toEqual(verb.examples);
  });

  it.each(all)('$words --help has the summary and the examples', ({ words, verb }) => {
    const judges = words === 'bisect triage' || words === 'bisect run';
    const { stdout, stderr } = cli.expect(judges ? 255 : 0, [...words.split(' '), '--help']);
    expect(stderr).toBe('');
    expect(stdout).toContain(`Usage: mbforensics ${words}`);
    expect(stdout.replace(/\s+/g, ' ')).toContain(verb.summary);
    if (/^(?:golden|bisect)$/.test(words)) return;
    for (const example of verb.examples) expect(stdout).toContain(`\n  $ mbforensics ${example}\n`);
  });
});

it('--help has every verb in its group, and every group once', () => {
  const { stdout } = cli.expect(0, ['--help', '--all']);
  const [, ...sections] = stdout.split(/\n\n(?=[A-Z][\w ]*:\n)/);
  const listed = sections
    .map(
      (section) =>
        [
          section.slice(0, section.indexOf(':')),
          [...section.matchAll(/^ {2}([a-z][\w-]*)/gm)].map(([, name]) => name),
        ] as const,
    )
    .filter(([heading]) => (GROUPS as readonly string[]).includes(heading));
  expect(listed).toEqual(
    GROUPS.map((group) => [group, verbs.filter((verb) => verb.group === group).map(({ name }) => name)]),
  );
});
