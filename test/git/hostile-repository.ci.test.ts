/**
 * Repositories of unknown origin: their settings start no program and open no connection, and pipes and devices in
 * the place of files neither hang us nor fill the memory. A clone has few of these; an unpacked archive, or a checkout
 * in a shared folder, may have all.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commitsTouching, suspectCommits } from '../../src/git/commits.js';
import { compareCommits } from '../../src/git/compare-commits.js';
import { listCommits } from '../../src/git/list-commits.js';
import { openRepository } from '../../src/git/repository.js';
import { runGit } from '../../src/git/run-git.js';
import { submodulesOffPin } from '../../src/git/submodules-off-pin.js';
import {
  endless,
  gitEnvironment,
  pathOfOlderGit,
  pipe,
  processesWith,
  refusal,
  repositoryAt,
  scratch,
  sharedRepository,
  type TestRepository,
} from './repositories.js';

function twoCommits(root = scratch()): { made: TestRepository; shas: [string, string] } {
  const { repo, shas } = sharedRepository('two-commits', root, (made) => {
    made.commit('first', { 'm.py': 'a = 1\n' });
    made.commit('second', { 'm.py': 'a = 2\n' });
  });
  return { made: repo, shas: shas as [string, string] };
}

/** Every call of git that a verb makes. */
async function questions(root: string, [first, second]: readonly [string, string], environment = gitEnvironment()) {
  const repository = await openRepository(root, environment);
  const { files } = await compareCommits(repository, first, second);
  return {
    files: files.map(({ new_path }) => new_path),
    touching: (await commitsTouching(repository, first, second, 'a')).map(({ subject }) => subject),
    suspects: (await suspectCommits(repository, second, [first])).map(({ subject }) => subject),
    commits: (await listCommits(repository)).length,
    offPin: await submodulesOffPin(repository),
  };
}

const ANSWERS = { files: ['m.py'], touching: ['second'], suspects: ['second'], commits: 2, offPin: [] };

describe('settings of a repository', () => {
  it('start no program', async () => {
    const { made, shas } = twoCommits();
    const canary = join(made.root, 'canary');
    const program = `touch ${canary} #`;
    const aliases = ['log', 'diff-tree', 'rev-parse', 'rev-list', 'config', 'cat-file', 'ls-files'];
    for (const setting of [
      ...['diff.odd.textconv', 'diff.odd.command', 'diff.external', 'filter.odd.clean', 'filter.odd.smudge'],
      ...['filter.odd.process', 'core.fsmonitor', 'core.pager', 'core.sshCommand', 'core.gitProxy', 'core.editor'],
      ...['core.alternateRefsCommand', 'gpg.program', 'uploadpack.packObjectsHook', 'remote.origin.uploadpack'],
    ])
      made.git('config', setting, program);
    for (const setting of ['credential.helper', ...aliases.map((name) => `alias.${name}`)])
      made.git('config', setting, `!${program}`);
    made.git('config', 'log.showSignature', 'true');
    made.git('config', 'trace2.eventTarget', canary);
    made.write({ '.git/info/attributes': '* diff=odd filter=odd\n' });
    const hooks = join(made.root, 'hooks');
    made.write({ 'hooks/reference-transaction': `#!/bin/sh\n${program}\n` });
    chmodSync(join(hooks, 'reference-transaction'), 0o755);
    made.git('config', 'core.hooksPath', hooks);
    rmSync(canary, { force: true });
    expect(await questions(made.root, shas)).toEqual(ANSWERS);
    expect(existsSync(canary)).toBe(false);
  });

  it('open no transport, also with a git that does not know GIT_NO_LAZY_FETCH', async () => {
    const base = scratch();
    const { made, shas } = twoCommits(join(base, 'made'));
    made.git('config', 'uploadpack.allowFilter', 'true');
    const clone = join(base, 'partial');
    made.git('clone', '-q', '--no-checkout', '--filter=blob:none', `file://${made.root}`, clone);
    const canary = join(base, 'canary');
    const config = (key: string, value: string): unknown => made.git('-C', clone, 'config', key, value);
    config('protocol.allow', 'always');
    config('fetch.bundleURI', 'pwn::x');
    const environment = { ...gitEnvironment(), PATH: pathOfOlderGit(base) };
    for (const [transport, url] of [
      ['pwn', 'pwn::x'],
      ['none', 'none::x'],
      ['none-', 'none-::x'],
      ['', '::x'],
      ['ext', `ext::touch ${canary}`],
      ['file', `file://${made.root}`],
    ] as const) {
      config('remote.origin.url', url);
      if (transport !== '') config(`protocol.${transport}.allow`, 'always');
      config(`alias.remote-${transport}`, `!touch ${canary} #`);
      const error = await refusal(questions(clone, shas, environment));
      expect([url, error.code, error.message]).toEqual([url, 'MBF1008', expect.stringMatching(/^git diff-tree: /)]);
      expect(existsSync(canary), url).toBe(false);
    }
  });

  it('name no file that git waits for', async () => {
    const { made, shas } = twoCommits();
    const files = 'core.attributesFile core.excludesFile diff.orderFile mailmap.file blame.ignoreRevsFile'.split(' ');
    for (const make of [pipe, endless]) {
      for (const key of files) made.git('config', key, make(join(made.root, '.git', key)));
      make(join(made.root, '.mailmap'));
      expect(await questions(made.root, shas)).toEqual(ANSWERS);
    }
  });

  it('include no file that git waits for', async () => {
    const { made, shas } = twoCommits();
    const config = join(made.root, '.git', 'config');
    const plain = execFileSync('cat', [config], { encoding: 'utf8' });
    pipe(join(made.root, '.git', 'trap'));
    endless(join(made.root, '.git', 'zeros'));
    writeFileSync(join(made.root, '.git', 'more'), '[include]\n\tpath = trap\n');
    writeFileSync(join(made.root, '.git', 'round'), '[include]\n\tpath = round\n[core]\n\tbare = false\n');
    for (const [settings, file] of [
      ['[include]\n\tpath = trap\n', 'trap'],
      ['[Include]\n\tPATH = "tr"\\\nap\n', 'trap'],
      [`[includeIf "gitdir:${made.root}/"] path = zeros`, 'zeros'],
      ['[include]\n\tpath = more\n', 'trap'],
      ['[include]\n\tpath = /dev/zero\n', '/dev/zero'],
    ] as const) {
      writeFileSync(config, `${plain}${settings}`);
      const error = await refusal(openRepository(made.root, gitEnvironment()));
      expect([settings, error.code, error.message]).toEqual([settings, 'MBF2961', 'is not a regular file']);
      expect(error.place.file).toMatch(new RegExp(`${file}$`));
    }
    writeFileSync(config, `${plain}[include]\n\tpath = missing\n`);
    expect(await questions(made.root, shas)).toEqual(ANSWERS);
    // Git follows ten levels, and complains.
    writeFileSync(config, `${plain}[include]\n\tpath = round\n`);
    expect((await refusal(openRepository(made.root, gitEnvironment()))).code).toBe('MBF1008');
    writeFileSync(config, `${plain}# ${'x'.repeat(9 * 1024 ** 2)}\n`);
    expect((await refusal(openRepository(made.root, gitEnvironment()))).code).toBe('MBF2961');
  });
});

describe('a .gitmodules in a commit', () => {
  it('includes no file', async () => {
    const base = scratch();
    const { made: inner, shas: pins } = twoCommits(join(base, 'inner'));
    const made = repositoryAt(join(base, 'made'));
    const trap = pipe(join(base, 'trap'));
    const pin = (sha: string): string => {
      made.write({ '.gitmodules': `[include]\n\tpath = ${trap}\n[submodule "lib"]\n\tpath = lib\n` });
      made.git('add', '.gitmodules');
      made.git('update-index', '--add', '--cacheinfo', `160000,${sha},lib`);
      made.git('commit', '-q', '-m', 'pinned');
      return made.git('rev-parse', 'HEAD').trim();
    };
    const shas = [pin(pins[0]), pin(pins[1])] as const;
    made.git('clone', '-q', '--bare', inner.root, join(made.root, '.git', 'modules', 'lib'));
    const repository = await openRepository(made.root, gitEnvironment());
    const comparison = await compareCommits(repository, ...shas);
    expect(comparison.submodules).toMatchObject([{ path: 'lib', is_readable: true }]);
    expect(comparison.files.map(({ new_path }) => new_path)).toEqual(['m.py']);
    // One that is not to be read counts as missing.
    pipe(join(made.root, '.git', 'modules', 'lib', 'config'));
    expect((await compareCommits(repository, ...shas)).submodules).toMatchObject([{ is_readable: false }]);
  });
});

describe('files of a repository', () => {
  it('are neither pipes nor devices', async () => {
    const { made } = twoCommits();
    const inside = join(made.root, 'a');
    mkdirSync(inside);
    for (const name of [
      ...['config', 'HEAD', 'index', 'packed-refs', 'shallow', 'commondir', 'info/attributes', 'info/grafts'],
      ...['objects/info/alternates', '../.gitattributes', '../.gitmodules'],
    ]) {
      const file = join(made.root, '.git', name);
      mkdirSync(dirname(file), { recursive: true });
      if (existsSync(file)) renameSync(file, `${file}.kept`);
      for (const make of [pipe, endless]) {
        make(file);
        const error = await refusal(openRepository(inside, gitEnvironment()));
        expect([error.code, error.place.file]).toEqual(['MBF2961', file]);
      }
      rmSync(file);
      if (existsSync(`${file}.kept`)) renameSync(`${file}.kept`, file);
    }
    // Git itself refuses this one.
    rmSync(join(made.root, '.git'), { recursive: true });
    pipe(join(made.root, '.git'));
    const environment = { ...gitEnvironment(), GIT_CEILING_DIRECTORIES: join(made.root, '..') };
    expect((await refusal(openRepository(inside, environment))).code).toBe('MBF1008');
  });

  it('are looked for where a .git file, a linked worktree and a bare repository have them', async () => {
    const base = scratch();
    const { made } = twoCommits(join(base, 'made'));
    made.git('worktree', 'add', '-q', '--detach', join(base, 'linked'));
    made.git('clone', '-q', '--bare', made.root, join(base, 'bare.git'));
    made.git('init', '-q', '--separate-git-dir', join(base, 'apart'), join(base, 'top'));
    for (const [place, file] of [
      ['linked', join('made', '.git', 'packed-refs')],
      ['bare.git', join('bare.git', 'packed-refs')],
      ['top', join('apart', 'packed-refs')],
    ] as const) {
      pipe(join(base, file));
      const error = await refusal(openRepository(join(base, place), gitEnvironment()));
      expect([error.code, error.place.file]).toEqual(['MBF2961', join(base, file)]);
    }
  });
});

describe('a call of git', () => {
  const call = (root: string, ref: string, limits: Parameters<typeof runGit>[2]) =>
    runGit({ directory: root, environment: gitEnvironment() }, ['rev-parse', '--verify', ref], limits);

  it('ends when it waits, when its time is over, and when it grows', async () => {
    const { made } = twoCommits();
    const refs = join(made.root, '.git', 'refs', 'heads');
    pipe(join(refs, 'pipe'));
    endless(join(refs, 'zeros'));
    const messages = [
      await refusal(call(made.root, 'refs/heads/pipe', { asleepSeconds: 1 })),
      await refusal(call(made.root, 'refs/heads/pipe', { seconds: 1 })),
      await refusal(call(made.root, 'refs/heads/zeros', { memoryBytes: 64 * 1024 ** 2 })),
    ];
    expect(messages.map(({ code, message }) => [code, message])).toEqual([
      ['MBF2961', 'git rev-parse was stopped at 1 s of waiting for a file'],
      ['MBF2961', 'git rev-parse was stopped at 1 s'],
      ['MBF2961', 'git rev-parse was stopped at 64.00 MiB of memory'],
    ]);
    expect(process.listenerCount('SIGTERM')).toBe(0);
    await expect.poll(() => processesWith(made.root), { timeout: 20_000 }).toEqual([]);
  });
});
