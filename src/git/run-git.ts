/** Starts `git` and reads what it prints: without a shell, without the network, bounded in memory. */
import { spawn } from 'node:child_process';
import { MbfError } from '../model/errors.js';

/** Names and values of environment variables; only the command line may read its own. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Where git runs. Without `gitDir` it looks for the repository itself, from `directory` upwards. */
export interface GitPlace {
  readonly directory: string;
  readonly gitDir?: string | undefined;
  /** What git inherits; undefined: what this process has. */
  readonly environment?: Environment | undefined;
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

/** Printed bytes that are read of one call. */
export const MOST_BYTES = 64 * 1024 ** 2;
const MOST_COMPLAINT = 16 * 1024;

/** Transports, one by one: a setting of the user's for one of them would win over `protocol.allow`. */
const TRANSPORTS = ['http', 'https', 'ssh', 'git', 'file', 'ext'];

/**
 * Settings of a user or a repository that would start other programs, change the output or fetch. A partial clone asks
 * its remote for missing objects behind our back; with every transport closed it fails instead.
 */
const SETTINGS: readonly string[] = [
  'core.quotepath=off',
  'core.fsmonitor=false',
  'core.pager=cat',
  // What is larger is data, not code: git calls it binary, without reading it.
  'core.bigFileThreshold=4m',
  'color.ui=false',
  'diff.external=',
  'diff.relative=false',
  'log.showSignature=false',
  'i18n.logOutputEncoding=UTF-8',
  'protocol.allow=never',
  ...TRANSPORTS.map((name) => `protocol.${name}.allow=never`),
];

/** Variables that point git elsewhere or change what a diff looks like: set in hooks, and by people. */
const MISLEADING =
  /^GIT_(?:DIR|WORK_TREE|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|COMMON_DIR|NAMESPACE|PREFIX|EXTERNAL_DIFF|DIFF_OPTS|ALLOW_PROTOCOL|GRAFT_FILE|SHALLOW_FILE|REPLACE_REF_BASE|(?:LITERAL|GLOB|NOGLOB|ICASE)_PATHSPECS)$/;

function childEnvironment(environment: Environment): Record<string, string> {
  const kept = Object.entries(environment).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !MISLEADING.test(entry[0]),
  );
  return { ...Object.fromEntries(kept), LC_ALL: 'C', GIT_OPTIONAL_LOCKS: '0', GIT_NO_LAZY_FETCH: '1' };
}

/**
 * One call. `status` is git's own; revisions among `args` have to be ids already (`resolveRevision`).
 *
 * @throws MbfError MBF1008 if git cannot be started
 */
export function runGit(place: GitPlace, args: readonly string[], mostBytes = MOST_BYTES): Promise<GitOutput> {
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
      stdio: ['ignore', 'pipe', 'pipe'],
      windowsHide: true,
      ...(place.environment === undefined ? {} : { env: childEnvironment(place.environment) }),
    });
    const printed: Buffer[] = [];
    const complaints: Buffer[] = [];
    let bytes = 0;
    let complaintBytes = 0;
    let isCut = false;
    child.stdout.on('data', (chunk: Buffer) => {
      if (isCut) return;
      const remainingBytes = mostBytes - bytes;
      printed.push(chunk.length > remainingBytes ? chunk.subarray(0, remainingBytes) : chunk);
      bytes += chunk.length;
      if (bytes <= mostBytes) return;
      isCut = true;
      child.kill('SIGKILL');
    });
    child.stderr.on('data', (chunk: Buffer) => {
      if (complaintBytes < MOST_COMPLAINT) complaints.push(chunk);
      complaintBytes += chunk.length;
    });
    child.on('error', (cause: NodeJS.ErrnoException) => {
      const fact = cause.code === 'ENOENT' ? 'git is not installed, or not on the PATH' : `git: ${cause.message}`;
      reject(new MbfError('MBF1008', fact, {}, cause));
    });
    child.on('close', (code) => {
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
