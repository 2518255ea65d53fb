// Makes a checkout ready for `npm start`, `npm test`, `npm link` and `npm pack`: installs what the lock file lists
// unless it is installed already, then builds unless that is done: `npm link` after `npm start` does neither. Plain
// JavaScript without dependencies: a fresh clone has none.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildId, sourcesId } from './build-id.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';

/** Whether every package has the version and the hash of the lock file. Those for other platforms are optional. */
function isInstalled() {
  // npm writes this file at the end of every install, so a broken install counts as none.
  const installed = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(installed)) return false;
  const packagesOf = (file) => JSON.parse(readFileSync(file, 'utf8')).packages;
  const there = packagesOf(installed);
  return Object.entries(packagesOf(join(root, 'package-lock.json'))).every(
    ([place, { integrity, optional }]) =>
      place === '' || (place in there ? there[place].integrity === integrity : optional === true),
  );
}

/** Whether `dist` is what the last build left, of the sources as they are. */
function isBuilt() {
  const dist = join(root, 'dist');
  const recorded = (...names) => {
    const file = join(dist, ...names);
    return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  };
  return (
    recorded('built-from') === sourcesId(root) &&
    recorded('src', 'build-id') === buildId(join(root, 'package.json'), dist, join(root, 'queries'))
  );
}

// Settings of the npm that runs this, such as --global of `npm link`, are not those of the install below.
const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^npm_config_(global|prefix|local_prefix|omit)$/i.test(name)),
);

function run(command, args) {
  execFileSync(command, args, { cwd: root, stdio: ['ignore', 2, 2], env: { ...env, MBF_PREPARING: '1' } });
}

// The install below runs the script `prepare`, which is this file.
if (process.env.MBF_PREPARING !== undefined) process.exit(0);

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`mbforensics needs Node 20.19 or newer; this is ${process.versions.node}.`);
  process.exit(2);
}
if (!isInstalled()) {
  console.error('installing dependencies …');
  // Nothing is installed that differs from the hashes of the lock file.
  run(npm, ['ci', '--no-audit', '--no-fund', '--loglevel=error']);
}
if (!isBuilt()) run(npm, ['run', '--silent', 'build']);
