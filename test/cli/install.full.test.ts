/** The package as users install it: `npm link` in a fresh checkout, and a packed archive installed globally. */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { DiagnoseResult } from '../../src/model/results/common.js';
import { repoRoot } from '../store/scratch.js';
import { environment } from '../support/cli.js';
import { skipLoudly } from '../support/corpus.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const root = temporaryDirectory();
/** Without what the npm that runs the tests sets for its scripts. */
const env = {
  ...Object.fromEntries(Object.entries(environment()).filter(([name]) => !/^npm_/i.test(name))),
  XDG_CACHE_HOME: join(root, 'cache'),
};

function run(
  command: string,
  args: readonly string[],
  cwd: string,
  more: Readonly<Record<string, string>> = {},
): string {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd,
    env: { ...env, ...more },
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}:\n${stderr}${stdout}`);
  return stdout;
}

const registry = spawnSync('npm', ['view', 'commander@14.0.3', 'version'], { env, encoding: 'utf8', timeout: 60_000 });

describe('an installation', () => {
  if (registry.status !== 0) {
    skipLoudly('installations', 'the registry of npm');
    return;
  }
  const clone = join(root, 'clone');
  const sample = 'samples/llama3-70b-fragmentation';

  it('by npm link in a fresh checkout is built, and runs', () => {
    const tracked = run('git', ['ls-files', '-co', '--exclude-standard'], repoRoot).trim().split('\n');
    for (const file of tracked.filter((path) => existsSync(join(repoRoot, path)))) {
      mkdirSync(dirname(join(clone, file)), { recursive: true });
      cpSync(join(repoRoot, file), join(clone, file));
    }
    // The option --prefix would name the checkout too.
    run('npm', ['link', '--no-audit', '--no-fund'], clone, { npm_config_prefix: join(root, 'linked') });
    expect(run(join(root, 'linked', 'bin', 'mbforensics'), ['--help'], root)).toContain('diagnose');
  });

  it('of a packed archive holds a sample, and diagnoses it', () => {
    // Its script `prepare` built the checkout for the link already.
    run('npm', ['pack', '--ignore-scripts', '--pack-destination', root], clone);
    const archive = readdirSync(root).find((name) => name.endsWith('.tgz'))!;
    run(
      'npm',
      ['install', '-g', '--prefix', join(root, 'global'), '--no-audit', '--no-fund', join(root, archive)],
      root,
    );
    const installed = join(root, 'global', 'lib', 'node_modules', 'mbforensics');
    expect(existsSync(join(installed, 'samples', 'generate'))).toBe(false);
    const program = join(root, 'global', 'bin', 'mbforensics');
    const { verdicts } = JSON.parse(
      run(program, ['diagnose', join(installed, sample), '--json'], root),
    ) as DiagnoseResult;
    expect(verdicts[0]!.cause).toBe('fragmentation');
  });
});
