/** Real repositories in temporary directories, whatever the settings of who runs the tests. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { MbfError } from '../../src/model/errors.js';
import { sharedFolder } from '../support/stores.js';

export interface TestRepository {
  readonly root: string;
  /** What it prints; throws unless it succeeds. */
  git(...args: string[]): string;
  /** Paths with what they hold; null takes a file away. */
  write(files: Readonly<Record<string, string | Uint8Array | null>>): void;
  /** All that differs, as a commit one minute after the last one; its id. */
  commit(subject: string, files?: Readonly<Record<string, string | Uint8Array | null>>): string;
}

/** Neither variables of a hook around the tests nor the user's settings get through. */
export function gitEnvironment(): Record<string, string> {
  const kept = Object.entries(process.env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !entry[0].startsWith('GIT_'),
  );
  return { ...Object.fromEntries(kept), GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null', HOME: '/' };
}

const SETTINGS = ['user.name=Test', 'user.email=test@example.org', 'protocol.file.allow=always', 'gc.auto=0'];
let clock = 1_700_000_000;

/** Removed when the test ends. */
export function scratch(): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'mbf-git-')));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

export function repositoryAt(root: string, ...init: string[]): TestRepository {
  mkdirSync(root, { recursive: true });
  const repository = openTestRepository(root);
  repository.git('init', '-q', '-b', 'main', ...init);
  return repository;
}

export function openTestRepository(root: string): TestRepository {
  const git = (...args: string[]): string => {
    const time = `${clock} +0000`;
    const { status, stdout, stderr } = spawnSync('git', [...SETTINGS.flatMap((one) => ['-c', one]), ...args], {
      cwd: root,
      encoding: 'utf8',
      env: { ...gitEnvironment(), GIT_AUTHOR_DATE: time, GIT_COMMITTER_DATE: time },
    });
    if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}${stdout}`);
    return stdout;
  };
  const write = (files: Readonly<Record<string, string | Uint8Array | null>>): void => {
    for (const [path, content] of Object.entries(files)) {
      const file = join(root, path);
      if (content === null) rmSync(file, { force: true });
      else {
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, content);
      }
    }
  };
  return {
    root,
    git,
    write,
    commit(subject, files = {}) {
      clock += 60;
      write(files);
      git('add', '-A');
      git('commit', '-q', '--allow-empty', '-m', subject);
      return git('rev-parse', 'HEAD').trim();
    },
  };
}

/** A copy at `root` of a repository that `make` makes once per build, and its commits, oldest first. */
export function sharedRepository(name: string, root: string, make: (repo: TestRepository) => void) {
  const made = sharedFolder(`git-${name}`, (folder) => make(repositoryAt(folder)));
  cpSync(made, root, { recursive: true });
  const repo = openTestRepository(root);
  return { repo, shas: repo.git('rev-list', '--reverse', 'HEAD').trim().split('\n') };
}

/** A pipe without a writer, and a link to a device without an end, in the place of a file. */
export function pipe(path: string): string {
  rmSync(path, { force: true });
  execFileSync('mkfifo', [path]);
  return path;
}
export function endless(path: string): string {
  rmSync(path, { force: true });
  symlinkSync('/dev/zero', path);
  return path;
}

/** A PATH below `directory` with a git that does not know GIT_NO_LAZY_FETCH. */
export function pathOfOlderGit(directory: string): string {
  const git = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  const bin = join(directory, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'git'), `#!/bin/sh\nunset GIT_NO_LAZY_FETCH\nexec ${git} "$@"\n`, { mode: 0o755 });
  return `${bin}${delimiter}${process.env['PATH']}`;
}

/** The error of a question that must not be answered. */
export const refusal = (question: Promise<unknown>): Promise<MbfError> =>
  question.then(
    () => expect.fail('it was answered'),
    (error: MbfError) => error,
  );

/** Command lines of running processes with a word in them, such as a directory; `program` is how they begin. */
export function processesWith(word: string, program = /^/): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      } catch {
        // It has ended meanwhile.
        return '';
      }
    })
    .filter((words) => program.test(words) && words.includes(word));
}
