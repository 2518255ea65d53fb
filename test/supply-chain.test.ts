/** Packages that are installed with ours: pinned by hash on every platform, without scripts, under known licences. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { repoRoot } from './store/scratch.js';

interface Locked {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly hasInstallScript?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** Scripts that npm runs when it installs a package from the registry or an archive. */
const INSTALLS = ['preinstall', 'install', 'postinstall'];
const read = <T>(file: string): T => JSON.parse(readFileSync(join(repoRoot, file), 'utf8')) as T;
const { '': ours, ...locked } = read<{ packages: Record<string, Locked> }>('package-lock.json').packages;
const packages = Object.entries(locked);
const manifest = read<Record<'scripts' | 'dependencies' | 'devDependencies', Record<string, string>>>('package.json');

const placesWhere = (isBad: (entry: Locked, place: string) => boolean): string[] =>
  packages.filter(([place, entry]) => isBad(entry, place)).map(([place]) => place);

describe('the lock file', () => {
  it('has a hash of every package, and no address but that of the registry', () => {
    expect(packages.length).toBeGreaterThan(100);
    expect(placesWhere(({ integrity = '' }) => !integrity.startsWith('sha512-'))).toEqual([]);
    expect(placesWhere(({ resolved = '' }) => !/^(?:$|https:\/\/registry\.npmjs\.org\/)/.test(resolved))).toEqual([]);
  });

  it('has what package.json asks for, each in one version', () => {
    const { dependencies, devDependencies } = manifest;
    expect(ours).toMatchObject({ dependencies, devDependencies });
    for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies }))
      expect([name, locked[`node_modules/${name}`]?.version]).toEqual([name, version]);
  });

  // npm leaves out those of other platforms when it writes a lock file next to an installation.
  it('has the packages of all platforms', () => {
    const isLocked = (place: string, name: string): boolean =>
      `${place}/node_modules/${name}` in locked || `node_modules/${name}` in locked;
    const unlocked = packages.flatMap(([place, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter((name) => !isLocked(place, name)),
    );
    expect(unlocked).toEqual([]);
    const natives = packages.filter(([place]) => place.startsWith('node_modules/@duckdb/node-bindings-'));
    const platforms = natives.flatMap(([, { os = [], cpu = [] }]) => os.map((system) => `${system}-${cpu[0]}`));
    for (const platform of ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64', 'win32-x64'])
      expect(platforms).toContain(platform);
  });

  it('lists only packages without a script that runs when it is installed', () => {
    expect(placesWhere(({ hasInstallScript = false }) => hasInstallScript)).toEqual([]);
    const runsScript = (place: string): boolean => {
      if (!existsSync(join(repoRoot, place, 'package.json'))) return false;
      const { scripts = {} } = read<{ scripts?: Record<string, string> }>(join(place, 'package.json'));
      // npm compiles a package with this file.
      return INSTALLS.some((name) => name in scripts) || existsSync(join(repoRoot, place, 'binding.gyp'));
    };
    expect(placesWhere((_, place) => runsScript(place))).toEqual([]);
  });

  it('has only licences that a product under Apache-2.0 can use', () => {
    const used = ['MIT', 'Apache-2.0', 'BSD-3-Clause', 'ISC', 'MIT AND BSD-3-Clause'];
    const forDevelopment = [...used, 'MIT OR Apache-2.0', 'MPL-2.0', '0BSD', 'BlueOak-1.0.0'];
    expect(placesWhere(({ license = '', dev = false }) => !(dev ? forDevelopment : used).includes(license))).toEqual(
      [],
    );
  });
});

it('our package runs nothing when it is installed', () => {
  // `prepare` runs in a checkout only.
  for (const script of INSTALLS) expect(manifest.scripts).not.toHaveProperty(script);
});
