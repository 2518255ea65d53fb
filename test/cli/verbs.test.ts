/** Every verb as it is defined: what `--help` needs of it, and that its help can be printed. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { GROUPS, type Verb } from '../../src/cli/define-verb.js';
import { sharedBuild } from '../store/scratch.js';
import { warmCliOf } from '../support/cli.js';

const CLI = join(sharedBuild(), 'src', 'cli');
const { VERBS } = (await import(join(CLI, 'verbs', 'index.js'))) as typeof import('../../src/cli/verbs/index.js');

const verbs = await Promise.all(
  Object.entries(VERBS).map(async ([name, load]) => ({ name, verb: (await load()).verb })),
);

/** A verb and the verbs below it, with the words that call them. */
function withParts(words: string, verb: Verb): { readonly words: string; readonly verb: Verb }[] {
  return [{ words, verb }, ...verb.verbs.flatMap((part) => withParts(`${words} ${part.name}`, part))];
}
const all = verbs.flatMap(({ name, verb }) => withParts(name, verb));

const cli = warmCliOf(join(CLI, 'main.js'));

describe('a verb', () => {
  it.each(verbs)('$name has that name and a group', ({ name, verb }) => {
    expect(verb.name).toBe(name);
    expect(GROUPS).toContain(verb.group);
  });

  it.each(all)('$words has a summary of one line, and examples that call it', ({ words, verb }) => {
    expect(verb.summary).toMatch(/^\S.*[^.\s]$/);
    expect(verb.examples.length).toBeGreaterThan(0);
    const ownExamples = verb.examples.filter((example) => example === words || example.startsWith(`${words} `));
    expect(ownExamples.length).toBeGreaterThan(0);
    if (verb.verbs.length === 0) expect(ownExamples).toEqual(verb.examples);
  });

  it.each(all)('$words --help has the summary and the examples', ({ words, verb }) => {
    const judges = words === 'triage' || words === 'bisect run';
    const { stdout, stderr } = cli.expect(judges ? 255 : 0, [...words.split(' '), '--help']);
    expect(stderr).toBe('');
    expect(stdout).toContain(`Usage: mbforensics ${words}`);
    expect(stdout.replace(/\s+/g, ' ')).toContain(verb.summary);
    if (/^(?:golden|bisect)$/.test(words)) return;
    for (const example of verb.examples) expect(stdout).toContain(`\n  $ mbforensics ${example}\n`);
  });
});

it('--help has every verb in its group, and every group once', () => {
  const { stdout } = cli.expect(0, ['--help']);
  const [, ...sections] = stdout.split(/\n\n(?=[A-Z][\w ]*:\n)/);
  const listed = sections
    .map(
      (section) =>
        [
          section.slice(0, section.indexOf(':')),
          [...section.matchAll(/^ {2}([a-z][\w-]*)/gm)].map(([, name]) => name),
        ] as const,
    )
    .filter(([heading]) => heading !== 'Options' && heading !== 'Commands');
  expect(listed).toEqual(
    GROUPS.map((group) => [group, verbs.filter(({ verb }) => verb.group === group).map(({ name }) => name)]),
  );
});
