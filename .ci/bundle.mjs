// `npm run bundle`: one archive that needs neither a registry nor an install script, for Linux with glibc. It has the
// files of `npm pack`, the packages that the built program loads, and the native database of each platform. Both
// `npm install -g --offline FILE` and `tar xzf FILE` install it. The argument `--only linux-x64` makes an archive of
// that platform alone. Native packages are fetched from the registry of npm; their hashes must be those of the lock.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const PLATFORMS = ['linux-x64', 'linux-arm64'];
const NATIVE = '@duckdb/node-bindings-';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'));

class BundleError extends Error {}

/** Packs a package of the registry, or without a name this one; returns what npm reports of the file. */
function pack(folder, name) {
  const args = ['pack', '--json', '--ignore-scripts', '--loglevel=error', '--pack-destination', folder];
  const { status, stdout, stderr } = spawnSync('npm', name === undefined ? args : [...args, '--prefer-offline', name], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  if (status !== 0) throw new BundleError(`npm pack failed:\n${stderr}`);
  const [report] = JSON.parse(stdout);
  return report;
}

function extract(archive, folder) {
  mkdirSync(folder, { recursive: true });
  execFileSync('tar', ['-xzf', archive, '-C', folder, '--strip-components=1']);
}

/** Packages that files of the built program load, with those that these depend on. */
function packagesOf(program) {
  const names = new Set();
  for (const file of readdirSync(program).filter((name) => name.endsWith('.cjs')))
    for (const [, name] of readFileSync(join(program, file), 'utf8').matchAll(/\brequire\("([^".][^"]*)"\)/g))
      if (!isBuiltin(name)) names.add(name);
  const loaded = [...names];
  // A set that grows is iterated to its end.
  for (const name of names)
    for (const dependency of Object.keys(readJson(join(root, 'node_modules', name, 'package.json')).dependencies ?? {}))
      names.add(dependency);
  return { loaded, all: [...names] };
}

/** Fetches the native database of a platform; returns the name of the package, and the file. */
function fetchNative(platform, work, locked) {
  const name = `${NATIVE}${platform}`;
  const { version, integrity } = locked[`node_modules/${name}`] ?? {};
  if (version === undefined) throw new BundleError(`package-lock.json lacks ${name}; npm install adds it`);
  let fetched;
  try {
    fetched = pack(work, `${name}@${version}`);
  } catch (error) {
    const available = PLATFORMS.filter((known) => known !== platform);
    throw new BundleError(
      `The registry of npm lacks ${name}@${version}, or cannot be reached. ` +
        `A bundle without this package: npm run bundle -- --only ${available}\n${error.message}`,
    );
  }
  if (fetched.integrity !== integrity)
    throw new BundleError(`${name}@${version} has the hash ${fetched.integrity}, in package-lock.json ${integrity}`);
  return [name, join(work, fetched.filename)];
}

function makeBundle(platforms, work) {
  const built = join(root, 'dist', 'src', 'bundle');
  if (!existsSync(join(built, 'program.cjs'))) throw new BundleError('dist/ is missing; npm run build makes it');
  const locked = readJson(join(root, 'package-lock.json')).packages;
  const natives = platforms.map((platform) => fetchNative(platform, work, locked));

  const { name, version, filename } = pack(work);
  const top = `${name}-${version}`;
  const folder = join(work, top);
  extract(join(work, filename), folder);
  const modules = join(folder, 'node_modules');
  const { loaded, all } = packagesOf(built);
  for (const dependency of all)
    cpSync(join(root, 'node_modules', dependency), join(modules, dependency), { recursive: true });
  for (const [native, archive] of natives) extract(archive, join(modules, native));

  const { scripts: _, devDependencies: __, dependencies, ...manifest } = readJson(join(folder, 'package.json'));
  const bundled = {
    ...manifest,
    os: ['linux'],
    cpu: platforms.map((platform) => platform.replace('linux-', '')),
    libc: ['glibc'],
    dependencies: Object.fromEntries(loaded.map((dependency) => [dependency, dependencies[dependency]])),
    bundleDependencies: loaded,
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(bundled, null, 2)}\n`);
  // For `tar xzf`; npm leaves links out, and makes its own.
  mkdirSync(join(folder, 'bin'));
  symlinkSync(join('..', manifest.bin.mbforensics), join(folder, 'bin', 'mbforensics'));

  const target = join(root, `${top}-${platforms.length === PLATFORMS.length ? 'linux' : platforms.join('-')}.tgz`);
  // Two bundles of one build are equal byte for byte. The time is the one that npm pack gives to files.
  const equal = ['--sort=name', '--mtime=1985-10-26T08:15:00Z', '--owner=0', '--group=0', '--numeric-owner'];
  const options = [...equal, '--mode=u=rwX,go=rX', '--format=ustar', '--use-compress-program=gzip -n'];
  execFileSync('tar', [...options, '-cf', target, '-C', work, top]);
  console.log(`${target}  ${(statSync(target).size / 1e6).toFixed(1)} MB`);
  // As sha256sum prints it, to compare a copy on another machine.
  console.log(`sha256  ${createHash('sha256').update(readFileSync(target)).digest('hex')}`);
}

const { only } = parseArgs({ options: { only: { type: 'string' } } }).values;
const platforms = only === undefined ? PLATFORMS : only.split(',');
const work = mkdtempSync(join(tmpdir(), 'mbforensics-bundle-'));
try {
  const unknown = platforms.find((platform) => !PLATFORMS.includes(platform));
  if (unknown !== undefined) throw new BundleError(`--only ${unknown}: expected ${PLATFORMS.join(' or ')}`);
  makeBundle(platforms, work);
} catch (error) {
  if (!(error instanceof BundleError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(work, { recursive: true, force: true });
}
