/** Starts `git` and reads what it prints: without a shell, without the network, bounded in memory and time. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { MbfError } from '../model/errors.js';
import { GIB, MIB } from '../model/units.js';
import { type ChildLimits, guardChild } from './guard-child.js';

/** Names and values of environment variables; only the command line may read its own. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Where git runs. Without `gitDir` it looks for the repository itself, from `directory` upwards. */
export interface GitPlace {
  readonly directory: string;
  readonly gitDir?: string | undefined;
  /** What git inherits, except for variables that would mislead it. */
  readonly environment: Environment;
}

export interface GitLimits extends ChildLimits {
  /** Printed bytes that are read; git is stopped at more of them, and `isCut` is set. */
  readonly bytes: number;
}

export interface GitOutput {
  readonly status: number;
  /** UTF-8; bytes that are none read as U+FFFD. */
  readonly text: string;
  /** First line of what it complained about, without `fatal: `. */
  readonly complaint: string;
  /** It printed more than was asked for: `text` is the beginning, and git was stopped. */
  readonly isCut: boolean;
}

/** Far above what large repositories need, so that a cold network file system has time as well. */
export const GIT_LIMITS: GitLimits = { bytes: 64 * MIB, seconds: 120, asleepSeconds: 30, memoryBytes: 2 * GIB };
const MOST_COMPLAINT = 16 * 1024;

/**
 * What git takes for the beginning of a function, in files that no attribute names a language for: a `def` or `class`
 * at any depth, else what begins a line, as in git's own default, which knows only the class of a method. `default` is
 * the driver of all files without one.
 */
const FUNCTION_LINES = '^[ \t]*((class|(async[ \t]+)?def)[ \t].*)$\n^[A-Za-z_$].*';

/** Settings of a user or a repository that would start other programs, name files to be read or change the output. */
const SETTINGS: readonly string[] = [
  'core.quotepath=off',
  'core.fsmonitor=false',
  'core.hooksPath=/dev/null',
  'core.pager=cat',
  // Either could be a pipe or a device.
  'core.attributesFile=/dev/null',
  'core.excludesFile=/dev/null',
  // What is larger is data, not code: git calls it binary, without reading it.
  'core.bigFileThreshold=4m',
  'color.ui=false',
  'diff.external=',
  'diff.orderFile=/dev/null',
  'diff.relative=false',
  `diff.default.xfuncname=${FUNCTION_LINES}`,
  // `git fetch` of 2.40 and later downloads from there before it looks at GIT_ALLOW_PROTOCOL.
  'fetch.bundleURI=',
  // No author is printed, and a .mailmap could be a pipe.
  'log.mailmap=false',
  'log.showRoot=true',
  'log.showSignature=false',
  'i18n.logOutputEncoding=UTF-8',
];

/** Variables that point git elsewhere or change what a diff looks like: set in hooks, and by people. */
const MISLEADING =
  /^GIT_(?:DIR|WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|COMMON_DIR|NAMESPACE|PREFIX|EXTERNAL_DIFF|DIFF_OPTS|ATTR_SOURCE|CONFIG|GRAFT_FILE|SHALLOW_FILE|REPLACE_REF_BASE|(?:LITERAL|GLOB|NOGLOB|ICASE)_PATHSPECS)$/;

/**
 * The only transport that git may use. It does not exist: a partial clone asks its remote for missing objects without
 * any option, and git before May 2024 does not know GIT_NO_LAZY_FETCH. This variable overrides all configuration,
 * where `protocol.NAME.allow` of a repository overrides `protocol.allow`. Random, because a repository that knew the
 * name could have a remote of that transport, and `alias.remote-NAME` as its program.
 */
const NO_TRANSPORT = `none-${randomUUID()}`;

function childEnvironment(environment: Environment): Record<string, string> {
  const kept = Object.entries(environment).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !MISLEADING.test(entry[0]),
  );
  return {
    ...Object.fromEntries(kept),
    LC_ALL: 'C',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: NO_TRANSPORT,
  };
}

/**
 * One call; `args` begin with git's subcommand. `status` is git's own; revisions among `args` have to be ids already
 * (`resolveRevision`).
 *
 * @throws MbfError MBF1008 if git cannot be started, MBF2961 if it was stopped at a limit of time or memory
 */
export function runGit(place: GitPlace, args: readonly string[], limits: Partial<GitLimits> = {}): Promise<GitOutput> {
  const { bytes: mostBytes, ...childLimits } = { ...GIT_LIMITS, ...limits };
  const all = [
    '--no-pager',
    '--no-optional-locks',
    ...SETTINGS.flatMap((setting) => ['-c', setting]),
    '-C',
    place.directory,
    // A submodule's settings name a work tree that need not be there.
    ...(place.gitDir === undefined ? [] : [`--git-dir=${place.gitDir}`, `--work-tree=${place.directory}`]),
    ...args,
  ];
  return new Promise((resolve, reject) => {
    const child = spawn('git', all, {
      // A group of its own, which is stopped together.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      windowsHide: true,
      env: childEnvironment(place.environment),
    });
    const printed: Buffer[] = [];
    const complaints: Buffer[] = [];
    let bytes = 0;
    let complaintBytes = 0;
    let isCut = false;
    const guard = guardChild(child, childLimits, (limit) => {
      const fact = `git ${args[0]} was stopped at ${limit}`;
      reject(new MbfError('MBF2961', fact, { file: place.directory }));
    });
    child.stdout.on('data', (chunk: Buffer) => {
      if (isCut) return;
      const remainingBytes = mostBytes - bytes;
      printed.push(chunk.length > remainingBytes ? chunk.subarray(0, remainingBytes) : chunk);
      bytes += chunk.length;
      if (bytes <= mostBytes) return;
      isCut = true;
      guard.stop();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      if (complaintBytes < MOST_COMPLAINT) complaints.push(chunk);
      complaintBytes += chunk.length;
    });
    child.on('error', (cause: NodeJS.ErrnoException) => {
      guard.end();
      const fact = cause.code === 'ENOENT' ? 'git is not installed, or not on the PATH' : `git: ${cause.message}`;
      reject(new MbfError('MBF1008', fact, {}, cause));
    });
    child.on('close', (code) => {
      guard.end();
      resolve({
        status: isCut ? 0 : (code ?? 128),
        text: Buffer.concat(printed).toString('utf8'),
        complaint: firstLine(Buffer.concat(complaints).toString('utf8')),
        isCut,
      });
    });
  });
}

/** Git's error message; warnings and hints precede it. */
function firstLine(complaints: string): string {
  const lines = complaints.split('\n').filter((line) => line.trim() !== '');
  const line = lines.find((one) => /^(?:fatal|error): /.test(one)) ?? lines[0] ?? '';
  return line.replace(/^(?:fatal|error): /, '');
}
