/** Python with packages of the registry, for tests of other engines: a virtual environment in the cache directory. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

export interface PythonPackages {
  /** The interpreter. */
  readonly python: string;
  /** The folder of the packages. */
  readonly site: string;
}

/** Pinned, so that a test that passes goes on passing. */
export const ENGINES = { polars: 'polars==2.1.0', pyspark: 'pyspark==4.1.4' } as const;

/** Made at the first call, and kept; the reason where it cannot be made, as offline. */
export function pythonWith(...packages: readonly string[]): PythonPackages | string {
  const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'mbforensics');
  const name = createHash('sha256').update(packages.join(' ')).digest('hex').slice(0, 12);
  const home = join(cache, `python-${name}`);
  if (!existsSync(join(home, 'whole'))) {
    mkdirSync(cache, { recursive: true });
    // Another worker may make the same one: scripts in it name its folder, so it cannot be moved, only replaced.
    const failed = made(home, packages);
    if (failed !== undefined) return failed;
  }
  const python = join(home, 'bin', 'python3');
  const { stdout } = spawnSync(python, ['-c', 'import sysconfig; print(sysconfig.get_path("purelib"))'], {
    encoding: 'utf8',
  });
  return { python, site: stdout.trim() };
}

/** The reason why it failed. */
function made(home: string, packages: readonly string[]): string | undefined {
  const steps = [
    ['python3', ['-m', 'venv', '--clear', home]],
    [join(home, 'bin', 'python3'), ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages]],
  ] as const;
  for (const [program, args] of steps) {
    const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
    if (status !== 0) {
      rmSync(home, { recursive: true, force: true });
      return `Python with ${packages.join(', ')} (${(error?.message ?? stderr).trim().split('\n').at(-1)})`;
    }
  }
  writeFileSync(join(home, 'whole.tmp'), '');
  renameSync(join(home, 'whole.tmp'), join(home, 'whole'));
  return undefined;
}
