/** Differences and histories of real repositories. */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isAncestor, MOST_COMMITS, readCommit, suspectCommits } from '../../src/git/commits.js';
import { compareCommits } from '../../src/git/compare-commits.js';
import { openRepository, type Repository } from '../../src/git/repository.js';
import { resolveRevision } from '../../src/git/resolve-revision.js';
import { type ChangedFile, type CommitComparison, commitsTouching } from '../../src/model/git.js';
import {
  gitEnvironment,
  openTestRepository,
  refusal,
  repositoryAt,
  scratch,
  type TestRepository,
} from './repositories.js';

type Files = Parameters<TestRepository['write']>[0];

const open = (repo: TestRepository): Promise<Repository> => openRepository(repo.root, gitEnvironment());
const compared = async (repo: TestRepository, from = 'HEAD~1', to = 'HEAD'): Promise<CommitComparison> =>
  compareCommits(await open(repo), from, to);
const numbers = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, i) => `line ${from + i}\n`).join('');

/** A repository with these commits, and their ids. */
function commits(list: Readonly<Record<string, Files>>, repo = repositoryAt(scratch())) {
  return { repo, shas: Object.entries(list).map(([subject, files]) => repo.commit(subject, files)) };
}

/** `path`, `+added`, `-deleted`, or `from>to`. */
const namesOf = ({ old_path: from, new_path: to }: ChangedFile): string =>
  from === null ? `+${to}` : to === null ? `-${from}` : from === to ? from : `${from}>${to}`;

function fileOf({ files }: CommitComparison, path: string): ChangedFile {
  const file = files.find(({ new_path, old_path }) => new_path === path || old_path === path);
  return file ?? expect.fail(`${path} is not among ${files.map(({ new_path }) => new_path)}`);
}

describe('openRepository', () => {
  it('finds the top from any directory inside', async () => {
    const repo = repositoryAt(scratch());
    repo.commit('first', { 'a/b/c.txt': 'x' });
    const opened = await openRepository(join(repo.root, 'a', 'b'), gitEnvironment());
    expect(opened).toMatchObject({ root: repo.root, gitDir: join(repo.root, '.git') });
  });

  it('knows the git directory of a linked worktree, and a bare repository', async () => {
    const base = scratch();
    const repo = repositoryAt(join(base, 'main'));
    const sha = repo.commit('first', { x: '1' });
    repo.git('worktree', 'add', '-q', '-b', 'other', join(base, 'linked'));
    const linked = await openRepository(join(base, 'linked'), gitEnvironment());
    expect(linked).toMatchObject({
      root: join(base, 'linked'),
      gitDir: join(repo.root, '.git', 'worktrees', 'linked'),
    });
    expect(await resolveRevision(linked, 'main')).toBe(sha);
    repo.git('clone', '-q', '--bare', repo.root, join(base, 'bare.git'));
    const bare = await openRepository(join(base, 'bare.git'), gitEnvironment());
    expect(bare.root).toBe(bare.gitDir);
    expect((await readCommit(bare, 'HEAD')).subject).toBe('first');
  });

  it('is not led astray by variables of a hook', async () => {
    const base = scratch();
    const [repo, other] = [repositoryAt(join(base, 'one')), repositoryAt(join(base, 'other'))];
    const sha = repo.commit('mine', { x: '1' });
    other.commit('theirs', { x: '2' });
    const hook = { GIT_DIR: join(other.root, '.git'), GIT_WORK_TREE: other.root, GIT_INDEX_FILE: '/nowhere' };
    const environment = { ...gitEnvironment(), ...hook };
    const opened = await openRepository(repo.root, environment);
    expect(opened.root).toBe(repo.root);
    expect(await resolveRevision(opened, 'HEAD')).toBe(sha);
  });

  it.each(['missing', 'a file', 'no repository'])('refuses %s', async (what) => {
    const base = scratch();
    if (what === 'a file') writeFileSync(join(base, what), '');
    if (what === 'no repository') mkdirSync(join(base, what));
    const environment = { ...gitEnvironment(), GIT_CEILING_DIRECTORIES: base };
    const error = await refusal(openRepository(join(base, what), environment));
    expect(error.code).toBe('MBF1008');
    expect(error.describe()).toContain(what);
  });

  it('reports that git is missing', async () => {
    const error = await refusal(openRepository(scratch(), { PATH: '/nowhere' }));
    expect([error.code, error.message]).toEqual(['MBF1008', 'git is not installed, or not on the PATH']);
  });
});

describe('resolveRevision', () => {
  it('takes ids, their beginnings, branches, tags and expressions', async () => {
    const repo = repositoryAt(scratch());
    const first = repo.commit('first', { x: '1' });
    repo.git('tag', '-a', 'v1', '-m', 'tag');
    const second = repo.commit('second', { x: '2' });
    const repository = await open(repo);
    for (const revision of [second, second.slice(0, 9), 'main'])
      expect(await resolveRevision(repository, revision)).toBe(second);
    for (const revision of ['v1', 'HEAD~1', 'main^']) expect(await resolveRevision(repository, revision)).toBe(first);
  });

  const ODD = ['nobody', '', '-n1', '--all', '--output=x', 'HEAD~1..HEAD', 'HEAD:x', 'HEAD\nmain', 'HEAD\0'];

  it('refuses all else', async () => {
    const { repo } = commits({ first: { x: '1' }, second: { x: '2' } });
    for (const revision of [...ODD, '0'.repeat(40), 'f'.repeat(64)]) {
      const error = await refusal(resolveRevision(await open(repo), revision));
      expect([revision, error.code, error.kind]).toEqual([revision, 'MBF1008', 'usage']);
      expect(existsSync(join(repo.root, 'x^{commit}'))).toBe(false);
    }
  });

  it('reports that a clone is shallow', async () => {
    const base = scratch();
    const repo = repositoryAt(join(base, 'one'));
    const first = repo.commit('first', { x: '1' });
    repo.commit('second', { x: '2' });
    repo.git('clone', '-q', '--depth=1', `file://${repo.root}`, join(base, 'shallow'));
    const error = await refusal(resolveRevision(await openRepository(join(base, 'shallow'), gitEnvironment()), first));
    expect(error.message).toContain('git fetch --unshallow');
  });

  it('reads SHA-256 repositories', async () => {
    const repo = repositoryAt(scratch(), '--object-format=sha256');
    const first = repo.commit('first', { x: '1\n' });
    const second = repo.commit('second', { x: '2\n' });
    const comparison = await compared(repo);
    expect([comparison.from, comparison.to]).toEqual([first, second]);
    expect(first).toHaveLength(64);
    expect(comparison.files[0]?.hunks[0]).toMatchObject({ removed: ['1'], added: ['2'] });
    expect(comparison.commits.map(({ sha }) => sha)).toEqual([second]);
  });
});

describe('compareCommits', () => {
  it('has hunks without context, with the function they are in', async () => {
    const repo = repositoryAt(scratch());
    const source = [
      ...['import torch', 'class Layer(torch.nn.Module):', '    def __init__(self):', '        self.a = 1', ''],
      ...[
        '    @jit_fuser',
        '    async def forward(self, x):',
        '        y = self.a(x)',
        '        del x',
        '        return y',
      ],
    ];
    const first = repo.commit('first', { 'm.py': `${source.join('\n')}\n` });
    source.splice(8, 1);
    source[7] = '        y = self.a(x).float()';
    source.splice(4, 0, '        self.b = 2', '        self.c = 3');
    const second = repo.commit('second', { 'm.py': `${source.join('\n')}\n` });
    const comparison = await compared(repo, first, second);
    expect(comparison).toMatchObject({ from: first, to: second, is_ancestor: true, submodules: [] });
    expect(comparison.truncated).toBeUndefined();
    expect(fileOf(comparison, 'm.py').hunks).toEqual([
      {
        ...{ old_start: 4, old_lines: 0, new_start: 5, new_lines: 2, context: 'def __init__(self):' },
        ...{ removed: [], added: ['        self.b = 2', '        self.c = 3'] },
      },
      {
        ...{ old_start: 8, old_lines: 2, new_start: 10, new_lines: 1, context: 'async def forward(self, x):' },
        ...{ removed: ['        y = self.a(x)', '        del x'], added: ['        y = self.a(x).float()'] },
      },
    ]);
  });

  it('distinguishes added, deleted, emptied, binary, mode-only, linked and renamed files', async () => {
    const repo = repositoryAt(scratch());
    repo.commit('first', {
      ...{ 'old/name.py': numbers(1, 40), 'gone.py': 'a\nb\n', 'empty.py': '', 'run.sh': 'true\n', link: 'text\n' },
      ...{ data: new Uint8Array([0, 1, 2, 0, 255]), 'end.txt': 'one\ntwo', 'cut.txt': 'one\ntwo\n' },
    });
    repo.write({
      ...{ 'old/name.py': null, 'new/place.py': `${numbers(1, 20)}inserted\n${numbers(21, 40)}`, 'gone.py': null },
      ...{ 'fresh.py': 'x\n', data: new Uint8Array([0, 1, 2, 0, 254]), 'end.txt': 'one\ntwo\nthree\n', 'cut.txt': '' },
    });
    chmodSync(join(repo.root, 'run.sh'), 0o755);
    rmSync(join(repo.root, 'link'));
    symlinkSync('fresh.py', join(repo.root, 'link'));
    repo.commit('second');
    const comparison = await compared(repo);
    const changed = 'cut.txt data end.txt +fresh.py -gone.py link old/name.py>new/place.py run.sh';
    expect(comparison.files.map(namesOf)).toEqual(changed.split(' '));
    expect(fileOf(comparison, 'data')).toMatchObject({ binary: true, hunks: [] });
    expect(fileOf(comparison, 'run.sh')).toMatchObject({ binary: false, hunks: [], similarity: null });
    expect(fileOf(comparison, 'gone.py').hunks).toMatchObject([
      { old_start: 1, old_lines: 2, new_start: 0, new_lines: 0, removed: ['a', 'b'], added: [] },
    ]);
    expect(fileOf(comparison, 'cut.txt').hunks).toMatchObject([{ old_lines: 2, new_lines: 0 }]);
    expect(fileOf(comparison, 'end.txt').hunks).toMatchObject([
      { old_start: 2, old_lines: 1, new_start: 2, new_lines: 2, removed: ['two'], added: ['two', 'three'] },
    ]);
    expect(fileOf(comparison, 'link').hunks).toMatchObject([{ removed: ['text'] }, { added: ['fresh.py'] }]);
    const renamed = fileOf(comparison, 'new/place.py');
    expect(renamed.similarity).toBeGreaterThan(90);
    expect(renamed.hunks).toMatchObject([{ old_start: 20, old_lines: 0, new_start: 21, added: ['inserted'] }]);
  });

  it('reads any file name, and lines that look like headers', async () => {
    const repo = repositoryAt(scratch());
    const names = [
      ...['a b.py', 'b/c b/c.py', 'say "hi".py', 'tab\there.py', 'new\nline.py', 'ünï/cødé 漢字.py'],
      ...['back\\slash.py', ' lead and trail ', '-dash.py', 'bell\x07.py', '"quoted"'],
    ];
    const before = '-- a/x\n@@ -1 +1 @@\ndiff --git a/q b/q\n:100644 100644 1 2 M\tz\nold\n';
    const after = '++ b/x\n@@ -2 +2 @@\ndiff --git a/r b/r\n\\ No newline at end of file\nnew\n';
    repo.commit('first', Object.fromEntries(names.map((name) => [name, before])));
    repo.commit('second', Object.fromEntries(names.map((name) => [name, after])));
    const comparison = await compared(repo);
    expect(comparison.files.map((file) => file.new_path).sort()).toEqual([...names].sort());
    for (const file of comparison.files) {
      expect(file.hunks.flatMap(({ removed }) => removed)).toEqual(before.trimEnd().split('\n'));
      expect(file.hunks.flatMap(({ added }) => added)).toEqual(after.trimEnd().split('\n'));
    }
    expect(comparison.commits[0]?.paths.toSorted()).toEqual([...names].sort());
  });

  it('reads renames between such names', async () => {
    const repo = repositoryAt(scratch());
    const [tab, plain, deep] = [numbers(1, 30), numbers(100, 130), numbers(200, 230)];
    repo.commit('first', { 'tab\told.py': tab, 'plain.py': plain, 'd/x b/x.py': deep });
    repo.write({ 'tab\told.py': null, 'plain.py': null, 'd/x b/x.py': null });
    repo.commit('second', { 'plain new.py': `${tab}more\n`, 'quo"te.py': plain, 'x b/x b/x.py': `${deep}more\n` });
    const { files } = await compared(repo);
    const renamed = ['tab\told.py>plain new.py', 'plain.py>quo"te.py', 'd/x b/x.py>x b/x b/x.py'];
    expect(files.map(namesOf)).toEqual(renamed);
    expect(files.map(({ hunks }) => hunks.length)).toEqual([1, 0, 1]);
  });

  it('shows nothing of what settings and attributes would change', async () => {
    const { repo } = commits({
      first: { 'm.py': numbers(1, 9), '.gitattributes': '*.py diff=odd\n' },
      second: { 'm.py': `${numbers(1, 4)}changed\n${numbers(6, 9)}` },
    });
    const trap = join(repo.root, 'trap');
    for (const setting of ['diff.external', 'diff.odd.command', 'diff.odd.textconv', 'core.fsmonitor', 'core.pager'])
      repo.git('config', setting, `touch ${trap} #`);
    for (const setting of [
      ...['diff.noprefix=true', 'diff.mnemonicPrefix=true', 'diff.context=9', 'diff.interHunkContext=9'],
      ...['diff.ignoreSubmodules=all', 'diff.relative=true', 'color.ui=always', 'color.diff=always'],
      ...['log.showSignature=true', 'core.quotepath=true', 'i18n.logOutputEncoding=latin1', 'format.pretty=fuller'],
      'log.diffMerges=separate',
    ])
      repo.git('config', ...setting.split('='));
    const environment = { ...gitEnvironment(), GIT_EXTERNAL_DIFF: `touch ${trap} #`, GIT_DIFF_OPTS: '--unified=5' };
    const comparison = await compareCommits(await openRepository(repo.root, environment), 'HEAD~1', 'HEAD');
    expect(comparison.files).toMatchObject([{ new_path: 'm.py', hunks: [{ old_start: 5, removed: ['line 5'] }] }]);
    expect(comparison.commits).toMatchObject([{ subject: 'second', paths: ['m.py'] }]);
    expect(existsSync(trap)).toBe(false);
  });

  it('lists commits newest first, and both sides where neither contains the other', async () => {
    const repo = repositoryAt(scratch());
    const base = repo.commit('base', { x: '1\n', y: '1\n' });
    repo.git('checkout', '-q', '-b', 'side');
    const side = repo.commit('side: ünicode', { 'y z': '2\n', y: null });
    repo.git('checkout', '-q', 'main');
    const main = repo.commit('main', { x: '2\n' });
    repo.git('merge', '-q', '--no-ff', '-m', 'merged', 'side');
    const merge = repo.git('rev-parse', 'HEAD').trim();
    const repository = await open(repo);
    const straight = await compareCommits(repository, base, merge);
    expect(straight.is_ancestor).toBe(true);
    expect(straight.commits).toMatchObject([
      { sha: merge, parents: [main, side], subject: 'merged', paths: [] },
      { sha: main, parents: [base], subject: 'main', paths: ['x'] },
      { sha: side, parents: [base], subject: 'side: ünicode', paths: ['y', 'y z'] },
    ]);
    expect(straight.commits[1]!.time_s - straight.commits[2]!.time_s).toBe(60);
    const diverged = await compareCommits(repository, side, main);
    expect(diverged.is_ancestor).toBe(false);
    expect(diverged.commits.map(({ sha }) => sha)).toEqual([main, side]);
    const back = await compareCommits(repository, merge, base);
    expect([back.is_ancestor, back.commits.length]).toEqual([false, 3]);
    const unchanged = await compareCommits(repository, main, main);
    expect(unchanged).toMatchObject({ is_ancestor: true, files: [], commits: [] });
  });

  it('knows what a merge changes itself, and both names of a rename', async () => {
    const repo = repositoryAt(scratch());
    const base = repo.commit('base', { x: 'base\n', 'old.py': numbers(1, 30) });
    repo.git('checkout', '-q', '-b', 'side');
    repo.commit('side', { x: 'side\n' });
    repo.git('checkout', '-q', 'main');
    repo.git('mv', 'old.py', 'new.py');
    repo.commit('moved', { x: 'main\n' });
    try {
      repo.git('merge', '-q', 'side');
    } catch {
      repo.commit('merged by hand', { x: 'both\n' });
    }
    const comparison = await compared(repo, base, 'HEAD');
    expect(comparison.commits.map(({ subject, paths }) => [subject, paths.toSorted()])).toEqual([
      ['merged by hand', ['x']],
      ['moved', ['new.py', 'old.py', 'x']],
      ['side', ['x']],
    ]);
    const touching = (path: string): string[] =>
      commitsTouching(comparison.commits, fileOf(comparison, path)).map(({ subject }) => subject);
    expect(touching('new.py')).toEqual(['moved']);
    expect(touching('x')).toEqual(['merged by hand', 'moved', 'side']);
  });

  it('bounds what it reads: large files are data, long lines and long diffs are cut', async () => {
    const repo = repositoryAt(scratch());
    const big = Array.from({ length: 150_000 }, (_, i) => `${i}`).join('\n');
    repo.commit('first', { 'a.csv': 'x\n', 'b.txt': 'x\n', 'c.txt': 'x\n', 'min.js': 'x\n', 'z.py': 'x\n' });
    const [csv, js] = ['row of data\n'.repeat(1_000_000), `${'y'.repeat(100_000)}\n`];
    repo.commit('second', { 'a.csv': csv, 'b.txt': big, 'c.txt': big, 'min.js': js, 'z.py': 'y\n' });
    const comparison = await compared(repo);
    expect(comparison.truncated).toBe(true);
    expect(fileOf(comparison, 'a.csv')).toMatchObject({ binary: true, hunks: [] });
    const kept = comparison.files.flatMap(({ hunks }) => hunks.flatMap(({ removed, added }) => [...removed, ...added]));
    expect(kept).toHaveLength(200_000);
    expect(fileOf(comparison, 'min.js').hunks[0]?.added[0]).toHaveLength(2_000);
    // Edits come before rewrites, whose places are known all the same.
    expect(fileOf(comparison, 'z.py').hunks).toMatchObject([{ removed: ['x'], added: ['y'] }]);
    expect(fileOf(comparison, 'c.txt').hunks).toMatchObject([{ new_start: 1, new_lines: 150_000 }]);
    const asked = await compareCommits(await open(repo), 'HEAD~1', 'HEAD', (path) => path === 'c.txt');
    expect(fileOf(asked, 'c.txt').hunks[0]?.added).toHaveLength(150_000);
  });

  it('stops git at 64 MiB and still knows every file', async () => {
    const repo = repositoryAt(scratch());
    const row = `${'x'.repeat(99)}\n`;
    const files = Array.from({ length: 24 }, (_, i) => [`f${String(i).padStart(2, '0')}.txt`, row.repeat(35_000)]);
    repo.commit('first', { 'z.py': 'x\n' });
    repo.commit('second', { ...Object.fromEntries(files), 'z.py': 'y\n' });
    const comparison = await compared(repo);
    expect(comparison.truncated).toBe(true);
    expect(comparison.files).toHaveLength(25);
    expect(fileOf(comparison, 'z.py').hunks).toEqual([]);
    expect(fileOf(comparison, 'f00.txt').hunks).toHaveLength(1);
  });

  it('caps the commits', async () => {
    const repo = repositoryAt(scratch());
    const base = repo.commit('base', { x: '0' });
    const stream = Array.from(
      { length: MOST_COMMITS + 20 },
      (_, i) =>
        `commit refs/heads/many\nmark :${i + 1}\ncommitter T <t@e> ${1_800_000_000 + i} +0000\ndata 2\nc\n` +
        `from ${i === 0 ? base : `:${i}`}\nM 100644 inline f\ndata ${String(i).length}\n${i}\n`,
    ).join('');
    spawnSync('git', ['fast-import', '--quiet'], { cwd: repo.root, input: stream, env: gitEnvironment() });
    const comparison = await compared(repo, base, 'many');
    expect(comparison.commits).toHaveLength(MOST_COMMITS);
    expect(comparison.commits[0]?.sha).toBe(comparison.to);
    expect(comparison.truncated).toBe(true);
  });

  it('never fetches: a partial clone without the files is an error', async () => {
    const base = scratch();
    const repo = repositoryAt(join(base, 'one'));
    repo.git('config', 'uploadpack.allowFilter', 'true');
    repo.commit('first', { 'm.py': numbers(1, 30) });
    repo.commit('second', { 'm.py': numbers(2, 30) });
    repo.commit('third', { 'm.py': numbers(3, 30) });
    const clone = join(base, 'partial');
    repo.git('clone', '-q', '--filter=blob:none', `file://${repo.root}`, clone);
    const error = await refusal(compareCommits(await openRepository(clone, gitEnvironment()), 'HEAD~2', 'HEAD~1'));
    expect(error.code).toBe('MBF1008');
    expect(error.message).toMatch(/^git diff-tree: /);
    // The missing objects are still missing.
    expect(openTestRepository(clone).git('rev-list', '--objects', '--all', '--missing=print')).toContain('?');
  });
});

describe('submodules', () => {
  function withSubmodule(): { base: string; one: TestRepository; inner: TestRepository; pins: string[] } {
    const base = scratch();
    const inner = repositoryAt(join(base, 'inner'));
    const pins = [
      inner.commit('inner first', { 'megatron/core/mlp.py': 'def forward(x):\n    return x\n', README: 'x\n' }),
      inner.commit('inner second', { 'megatron/core/mlp.py': 'def forward(x):\n    y = x.float()\n    return y\n' }),
      inner.commit('inner third', { 'new file.py': 'x = 1\n' }),
    ];
    const repo = repositoryAt(join(base, 'one'));
    repo.commit('start', { 'a.py': '1\n' });
    repo.git('submodule', '--quiet', 'add', '--name', 'mlm', inner.root, '3rdparty/Megatron LM');
    const checkout = openTestRepository(join(repo.root, '3rdparty/Megatron LM'));
    checkout.git('checkout', '-q', pins[0]!);
    repo.commit('add the submodule');
    repo.commit('unrelated', { 'a.py': '2\n' });
    checkout.git('checkout', '-q', pins[2]!);
    repo.commit('bump Megatron-LM');
    return { base, one: repo, inner, pins };
  }

  it('shows the files inside', async () => {
    const { one: repo, pins } = withSubmodule();
    const comparison = await compared(repo, 'HEAD~2', 'HEAD');
    const path = '3rdparty/Megatron LM';
    expect(comparison.submodules).toEqual([{ path, from: pins[0], to: pins[2], is_readable: true }]);
    expect(comparison.files.map(({ submodule, new_path }) => [submodule, new_path])).toEqual([
      [path, 'megatron/core/mlp.py'],
      [path, 'new file.py'],
      ['', 'a.py'],
    ]);
    expect(fileOf(comparison, 'megatron/core/mlp.py').hunks).toMatchObject([
      { context: 'def forward(x):', removed: ['    return x'], added: ['    y = x.float()', '    return y'] },
    ]);
    const touching = commitsTouching(comparison.commits, fileOf(comparison, 'new file.py'));
    expect(touching.map(({ subject }) => subject)).toEqual(['bump Megatron-LM']);
  });

  it('finds its history where git keeps it, also from a linked worktree', async () => {
    const { base, one: repo } = withSubmodule();
    repo.git('worktree', 'add', '-q', '--detach', join(base, 'linked'));
    const linked = await openRepository(join(base, 'linked'), gitEnvironment());
    expect((await compareCommits(linked, 'HEAD~2', 'HEAD')).submodules[0]?.is_readable).toBe(true);
    repo.git('submodule', '--quiet', 'deinit', '-f', '--all');
    rmSync(join(repo.root, '3rdparty'), { recursive: true });
    const comparison = await compared(repo, 'HEAD~2', 'HEAD');
    expect(comparison.submodules[0]?.is_readable).toBe(true);
    expect(comparison.files).toHaveLength(3);
  });

  it('reports that it is missing, or lacks a commit', async () => {
    const { base, one: repo, inner } = withSubmodule();
    const clone = join(base, 'clone');
    repo.git('clone', '-q', repo.root, clone);
    const without = await compareCommits(await openRepository(clone, gitEnvironment()), 'HEAD~2', 'HEAD');
    expect(without.submodules).toMatchObject([{ is_readable: false }]);
    expect(without.files.map(({ submodule }) => submodule)).toEqual(['']);
    // A pin whose commit was never fetched.
    const fourth = inner.commit('inner fourth', { README: 'y\n' });
    repo.git('update-index', '--cacheinfo', `160000,${fourth},3rdparty/Megatron LM`);
    repo.git('commit', '-q', '-m', 'bump blindly');
    const blind = await compared(repo);
    expect(blind.submodules).toMatchObject([{ to: fourth, is_readable: false }]);
    expect(blind.files).toEqual([]);
  });

  it('reports a submodule that is added or removed', async () => {
    const { one: repo, pins } = withSubmodule();
    const repository = await open(repo);
    const added = await compareCommits(repository, 'HEAD~3', 'HEAD~2');
    expect(added.submodules).toEqual([{ path: '3rdparty/Megatron LM', from: null, to: pins[0], is_readable: false }]);
    expect(added.files.map(({ new_path }) => new_path)).toEqual(['.gitmodules']);
    repo.git('rm', '-q', '-f', '3rdparty/Megatron LM');
    repo.commit('vendored', { '3rdparty/Megatron LM': 'a file\n' });
    const gone = await compareCommits(repository, 'HEAD~1', 'HEAD');
    expect(gone.submodules).toMatchObject([{ from: pins[2], to: null }]);
    expect(fileOf(gone, '3rdparty/Megatron LM')).toMatchObject({ old_path: null });
  });

  it('follows a submodule of a submodule', async () => {
    const { base, one: repo, inner } = withSubmodule();
    const deep = repositoryAt(join(base, 'deep'));
    const first = deep.commit('deep first', { 'k.py': '1\n' });
    const second = deep.commit('deep second', { 'k.py': '2\n' });
    const checkout = openTestRepository(join(repo.root, '3rdparty/Megatron LM'));
    checkout.git('submodule', '--quiet', 'add', deep.root, 'third/deep');
    openTestRepository(join(checkout.root, 'third/deep')).git('checkout', '-q', first);
    checkout.commit('with deep');
    repo.commit('bump');
    openTestRepository(join(checkout.root, 'third/deep')).git('checkout', '-q', second);
    checkout.commit('deeper');
    repo.commit('bump again');
    expect(inner.root).not.toBe(checkout.root);
    const comparison = await compared(repo);
    expect(comparison.submodules.map(({ path }) => path)).toEqual([
      '3rdparty/Megatron LM',
      '3rdparty/Megatron LM/third/deep',
    ]);
    const file = fileOf(comparison, 'k.py');
    expect(file.submodule).toBe('3rdparty/Megatron LM/third/deep');
    expect(commitsTouching(comparison.commits, file).map(({ subject }) => subject)).toEqual(['bump again']);
  });

  it('is moved', async () => {
    const { one: repo, pins } = withSubmodule();
    mkdirSync(join(repo.root, 'third'));
    repo.git('mv', '3rdparty/Megatron LM', 'third/mlm');
    repo.commit('moved');
    renameSync(join(repo.root, 'a.py'), join(repo.root, 'b.py'));
    const comparison = await compared(repo);
    expect(comparison.submodules).toEqual([{ path: 'third/mlm', from: pins[2], to: pins[2], is_readable: true }]);
  });
});

describe('commits', () => {
  it('reads one and determines ancestors', async () => {
    const repo = repositoryAt(scratch());
    const first = repo.commit('first: "quoted" – ünï\n\nBody.', { x: '1' });
    const second = repo.commit('second', { x: '2' });
    const repository = await open(repo);
    const commit = await readCommit(repository, 'HEAD~1');
    expect(commit).toEqual({ sha: first, parents: [], subject: 'first: "quoted" – ünï', time_s: expect.any(Number) });
    expect((await readCommit(repository, second)).parents).toEqual([first]);
    expect(await isAncestor(repository, first, second)).toBe(true);
    expect(await isAncestor(repository, second, first)).toBe(false);
    expect(await isAncestor(repository, first, first)).toBe(true);
    expect((await refusal(isAncestor(repository, first, 'nobody'))).code).toBe('MBF1008');
  });

  it('lists what a bisection has left', async () => {
    const repo = repositoryAt(scratch());
    const shas = Array.from({ length: 6 }, (_, i) => repo.commit(`c${i}`, { x: `${i}` }));
    const repository = await open(repo);
    const left = async (bad: string, ...good: string[]): Promise<string[]> =>
      (await suspectCommits(repository, bad, good)).map(({ subject }) => subject);
    expect(await left(shas[5]!, shas[2]!)).toEqual(['c5', 'c4', 'c3']);
    expect(await left(shas[4]!, shas[0]!, shas[2]!)).toEqual(['c4', 'c3']);
    expect(await left(shas[1]!)).toEqual(['c1', 'c0']);
    expect(await left(shas[1]!, shas[3]!)).toEqual([]);
  });
});
