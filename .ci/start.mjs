// `npm start`: ingests the sample run and prints its diagnosis, the way README tells a stranger to do it with a run of
// their own.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const cli = join(root, 'dist', 'src', 'cli', 'main.js');
const args = process.argv.slice(2);
const sample = join('samples', 'llama3-70b-fragmentation');

function mbforensics(...words) {
  console.log(`\n$ mbforensics ${words.join(' ')}`);
  const { status } = spawnSync(process.execPath, [cli, ...words], { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 70);
}

if (args.length > 0) {
  process.exit(spawnSync(process.execPath, [cli, ...args], { stdio: 'inherit' }).status ?? 70);
}
mbforensics('ingest', sample);
mbforensics('diagnose');
