// Makes a checkout ready for `npm start`, `npm test`, `npm link` and `npm pack`: installs if node_modules is missing or
// older than the lock file, then builds. Plain JavaScript without dependencies, since on a fresh clone there are none.
import { execFileSync } from 'node:child_process';
import { existsSync, statSync, utimesSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
// npm writes this file at the end of every install, so a broken install counts as none.
const stamp = join(root, 'node_modules', '.package-lock.json');

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
if (!existsSync(stamp) || statSync(stamp).mtimeMs < statSync(join(root, 'package-lock.json')).mtimeMs) {
  console.error('installing dependencies …');
  // Not `npm ci`: it refuses a lock file that lacks another platform's optional binary, and not every registry carries
  // them all. Versions come from the lock file all the same, which --no-save leaves as it is.
  run(npm, ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error']);
  utimesSync(stamp, new Date(), new Date());
}
run(npm, ['run', '--silent', 'build']);
