// Asks the built program what users ask, and writes the code that V8 compiled for it next to the files of the bundle.
// The argument is the folder of the build.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const cli = join(resolve(process.argv[2]), 'src', 'cli');
const samples = ['llama3-70b-fragmentation', 'capacity', 'nccl-outside'].map((name) => join(root, 'samples', name));
const { codePath, loadBundled, scripts } = await import(pathToFileURL(join(cli, 'load-bundle.js')).href);
const { runProgram } = loadBundled('./program.cjs');

// V8 drops code that did not run for a while. Code of other flags would be refused, so the flag is put back.
setFlagsFromString('--no-flush-bytecode');
process.stdout.setMaxListeners(0);
const cache = mkdtempSync(join(tmpdir(), 'mbforensics-build-'));
process.env.XDG_CACHE_HOME = cache;
delete process.env.MBF_DB;
try {
  const questions = samples.flatMap((sample) =>
    ['diagnose', 'peak', 'log', 'log memory', 'snapshot', 'advise', 'show'].map((verb) => [...verb.split(' '), sample]),
  );
  questions.push(['report', samples[0], '-o', join(cache, 'report.html')]);
  questions.push(['export', 'redact', samples[1], '-o', join(cache, 'redacted')]);
  for (const words of questions) {
    process.argv = [process.argv[0], join(cli, 'main.js'), ...words];
    await runProgram();
    if (process.exitCode !== 0) throw new Error(`${words.join(' ')} ends with ${process.exitCode}`);
  }
  setFlagsFromString('--flush-bytecode');
  for (const [file, script] of scripts) writeFileSync(codePath(file), script.createCachedData());
} finally {
  rmSync(cache, { recursive: true, force: true });
}
