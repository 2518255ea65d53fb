/**
 * Nightly only: the package as users install it. The commands of docs/install.md are run in a fresh checkout, from the
 * packed file, from the offline bundle without a network, and in a container made of plain Debian.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { repoRoot } from '../store/scratch.js';
import { environment } from '../support/cli.js';
import { skipLoudly } from '../support/corpus.js';
import { NIGHTLY } from '../support/level.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

interface Manifest {
  readonly version: string;
  readonly cpu?: readonly string[];
  readonly scripts?: Readonly<Record<string, string>>;
}

const readJson = <T>(...path: string[]): T => JSON.parse(readFileSync(join(...path), 'utf8')) as T;

const root = temporaryDirectory();
const clone = join(root, 'clone');
const { version } = readJson<Manifest>(repoRoot, 'package.json');
const packed = `mbforensics-${version}.tgz`;
const bundle = `mbforensics-${version}-linux.tgz`;
const page = readFileSync(join(repoRoot, 'docs', 'install.md'), 'utf8');
const SAMPLE = join(repoRoot, 'samples', 'llama3-70b-fragmentation');
const VERDICT = /^VERDICT {2}fragmentation/m;

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

/** Blocks of a section of the page, in their order. */
function blocks(section: string, language = 'sh'): string[] {
  const text = page.split(/^## /m).find((part) => part.startsWith(`${section}\n`))!;
  return [...text.matchAll(/```(\w+)\n([\s\S]*?)```/g)]
    .filter(([, name]) => name === language)
    .map(([, , code]) => code!);
}

/** A machine of a user: a home directory with a run in it, and a global directory of npm. */
function machine(name: string): { home: string; prefix: string; settings: Record<string, string> } {
  const home = join(root, name);
  const prefix = join(home, 'global');
  mkdirSync(join(home, 'runs'), { recursive: true });
  symlinkSync(SAMPLE, join(home, 'runs', 'llama3-70b-sft'));
  const settings = {
    npm_config_prefix: prefix,
    XDG_CACHE_HOME: join(home, 'cache'),
    PATH: `${join(prefix, 'bin')}${delimiter}${process.env['PATH']}`,
  };
  return { home, prefix, settings };
}

const hasRegistry =
  NIGHTLY && spawnSync('npm', ['view', 'commander@14.0.3', 'version'], { env, timeout: 60_000 }).status === 0;
/** Starts a command in a network namespace without interfaces. */
const NO_NETWORK = spawnSync('unshare', ['-rn', 'true']).status === 0 ? ['unshare', '-rn'] : [];
/** Scripts that npm runs when it installs a package from an archive. */
function installScripts(folder: string): string[] {
  const { scripts = {} } = readJson<Manifest>(folder, 'package.json');
  return Object.keys(scripts).filter((name) => ['preinstall', 'install', 'postinstall'].includes(name));
}

describe.runIf(NIGHTLY)('an installation', () => {
  if (!hasRegistry) {
    skipLoudly('installations', 'the registry of npm');
    return;
  }

  it('by npm link in a fresh checkout is built, and runs', () => {
    const tracked = run('git', ['ls-files', '-co', '--exclude-standard'], repoRoot).trim().split('\n');
    for (const file of tracked.filter((path) => existsSync(join(repoRoot, path)))) {
      mkdirSync(dirname(join(clone, file)), { recursive: true });
      cpSync(join(repoRoot, file), join(clone, file));
    }
    expect(blocks('Checkout')[0]).toMatch(/^npm start .*\nnpm link /);
    // The option --prefix would name the checkout too.
    run('npm', ['link', '--no-audit', '--no-fund'], clone, { npm_config_prefix: join(root, 'linked') });
    expect(run(join(root, 'linked', 'bin', 'mbforensics'), ['--help'], root)).toContain('diagnose');
    // The link has built the checkout: scripts that build it again are left out here and below.
    expect(run('npm', ['start', '--ignore-scripts'], clone)).toMatch(VERDICT);
  });

  it('has commands in README with the version of the package', () => {
    const readme = readFileSync(join(repoRoot, 'README.md'), 'utf8');
    for (const file of [packed, bundle]) expect(readme).toContain(file);
  });

  it('of a packed file has a sample, and diagnoses a run', () => {
    const [pack, install, npx] = blocks('Packed file');
    run('sh', ['-euc', pack!.replace('npm pack', 'npm pack --ignore-scripts')], clone);
    const { home, prefix, settings } = machine('packed');
    cpSync(join(clone, packed), join(home, packed));
    expect(run('sh', ['-euc', install!], home, settings)).toMatch(VERDICT);
    expect(run('sh', ['-euc', npx!], home, settings)).toMatch(VERDICT);
    const installed = join(prefix, 'lib', 'node_modules', 'mbforensics');
    expect(existsSync(join(installed, 'samples', 'generate'))).toBe(false);
    expect(readdirSync(join(installed, 'samples'))).toContain(basename(SAMPLE));
    expect(installScripts(installed)).toEqual([]);
  });

  describe('of the offline bundle', () => {
    if (process.platform !== 'linux') {
      skipLoudly('the offline bundle', 'Linux');
      return;
    }
    const offline = machine('offline');
    const unpacked = join(offline.home, `mbforensics-${version}`);
    /** In addition to the namespace: no address of a registry, and no cache with what the build fetched. */
    const unreachable = {
      ...offline.settings,
      npm_config_registry: 'http://127.0.0.1:9/',
      npm_config_cache: join(root, 'empty-cache'),
      npm_config_fetch_retries: '0',
    };
    const withoutNetwork = (script: string): string => {
      const [command, ...args] = [...NO_NETWORK, 'sh', '-euc', script];
      return run(command!, args, offline.home, unreachable);
    };

    it('is made by npm run bundle', () => {
      const [make] = blocks('Offline bundle');
      run('sh', ['-euc', make!.replace('npm run bundle', 'npm run bundle --ignore-scripts')], clone);
      cpSync(join(clone, bundle), join(offline.home, bundle));
    });

    it('runs where it is unpacked, without network', () => {
      if (NO_NETWORK.length === 0) console.warn('network namespaces: none here; only the registry is unreachable');
      expect(withoutNetwork(blocks('Offline bundle')[1]!)).toMatch(VERDICT);
    });

    it('is installed by npm without network, from an empty cache', () => {
      expect(withoutNetwork(blocks('Offline bundle')[2]!)).toMatch(VERDICT);
      expect(existsSync(join(offline.prefix, 'lib', 'node_modules', 'mbforensics', 'package.json'))).toBe(true);
    });

    it('has the native packages of the lock for x64 and arm64, and no install script', () => {
      // Machines of ELF: https://www.sco.com/developers/gabi/latest/ch4.eheader.html
      const machines = { x64: 62, arm64: 183 };
      const { packages } = readJson<{ packages: Record<string, Manifest> }>(repoRoot, 'package-lock.json');
      for (const [cpu, expected] of Object.entries(machines)) {
        const path = join('node_modules', '@duckdb', `node-bindings-linux-${cpu}`);
        const manifest = readJson<Manifest>(unpacked, path, 'package.json');
        expect([manifest.cpu, manifest.version]).toEqual([[cpu], packages[path]!.version]);
        const libraries = readdirSync(join(unpacked, path)).filter((name) => /\.(?:node|so)$/.test(name));
        expect(libraries.sort()).toEqual(['duckdb.node', 'libduckdb.so']);
        for (const name of libraries)
          expect(readFileSync(join(unpacked, path, name)).readUInt16LE(18), join(path, name)).toBe(expected);
      }
      const files = run('tar', ['-tzf', bundle], offline.home).trim().split('\n');
      for (const file of files.filter((name) => name.endsWith('/package.json')))
        expect(installScripts(join(offline.home, dirname(file)))).toEqual([]);
      // npm compiles a package that has one.
      expect(files.filter((name) => name.endsWith('binding.gyp'))).toEqual([]);
    });

    it('lists its files in order, with one time and one owner', () => {
      const names = run('tar', ['-tzf', bundle], offline.home).trim().split('\n');
      const paths = names.map((name) => name.replace(/\/$/, '').replaceAll('/', '\0'));
      expect(paths).toEqual([...paths].sort());
      const lines = run('tar', ['-tzvf', bundle, '--numeric-owner', '--full-time'], offline.home).trim().split('\n');
      const stamps = lines.map((line) => /^\S+ (\S+) +\d+ (\S+ \S+)/.exec(line)!.slice(1).join(' '));
      expect([...new Set(stamps)]).toEqual(['0/0 1985-10-26 08:15:00']);
    });

    it('is not made without a package that the registry lacks; the error has its name, and a way out', () => {
      const { status, stderr } = spawnSync(process.execPath, [join(clone, '.ci', 'bundle.mjs')], {
        env: { ...env, ...unreachable, npm_config_cache: join(root, 'other-cache') },
        encoding: 'utf8',
      });
      expect(status).toBe(1);
      expect(stderr).toContain('@duckdb/node-bindings-linux-x64@');
      expect(stderr).toContain('npm run bundle -- --only linux-arm64');
    });

    /** The machine of the image named by FROM: a suite of Debian. */
    const SUITES: Readonly<Record<string, string>> = { 'debian:13-slim': 'trixie' };

    it('runs in a container made by the steps of the recipe on plain Debian', ({ skip }) => {
      const recipe = blocks('Container', 'dockerfile')[0]!.replaceAll('\\\n', '').trim().split('\n');
      const steps = recipe.map((line) => /^([A-Z]+) (.*)$/.exec(line)!.slice(1) as [string, string]);
      const [from, image] = steps.shift()!;
      expect(from).toBe('FROM');
      if (process.getuid?.() !== 0 || spawnSync('mmdebstrap', ['--version']).status !== 0) {
        console.warn('the container recipe: skipped: needs root and mmdebstrap');
        skip('needs root and mmdebstrap');
      }
      const base = join(root, 'debian');
      const made = spawnSync('mmdebstrap', ['--quiet', '--variant=apt', SUITES[image]!, base], {
        encoding: 'utf8',
        timeout: 300_000,
      });
      if (made.status !== 0) {
        console.warn(`the container recipe: skipped: no base system of Debian:\n${made.stderr}`);
        skip('needs packages of Debian');
      }

      const proxies = Object.entries(process.env).filter(([name]) => /^https?_proxy$/i.test(name));
      const settings = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root' };
      // The mounts end with the command.
      const inside = (network: boolean, ...command: string[]): string => {
        const namespaces = ['--mount', '--pid', '--fork', `--mount-proc=${join(base, 'proc')}`];
        const args = [...namespaces, ...(network ? [] : ['--net']), 'chroot', base, ...command];
        const { status, stdout, stderr } = spawnSync('unshare', args, {
          env: { ...settings, ...(network ? Object.fromEntries(proxies) : {}) } as NodeJS.ProcessEnv,
          encoding: 'utf8',
          maxBuffer: 1 << 26,
        });
        if (status !== 0) throw new Error(`${command.join(' ')} ended with ${status}:\n${stderr}${stdout}`);
        return stdout;
      };
      let entry: string[] = [];
      for (const [step, text] of steps) {
        if (step === 'RUN') inside(true, 'sh', '-c', text);
        else if (step === 'ENTRYPOINT') entry = JSON.parse(text) as string[];
        else if (step === 'ADD') {
          // Docker unpacks local archives.
          const [source, target] = text.split(' ') as [string, string];
          const archives = run('sh', ['-c', `ls ${source}`], offline.home)
            .trim()
            .split('\n');
          expect(archives).toEqual([bundle]);
          for (const archive of archives) run('tar', ['-xzf', archive, '-C', join(base, target)], offline.home);
        } else throw new Error(`a step that this test does not run: ${step}`);
      }

      const start = /docker run .*-v "\$PWD\/runs:(\S+):ro" mbforensics (\S+)/.exec(blocks('Container')[0]!)!;
      cpSync(SAMPLE, join(base, start[1]!, basename(start[2]!)), { recursive: true });
      expect(inside(false, ...entry, start[2]!)).toMatch(VERDICT);
    });
  });
});
