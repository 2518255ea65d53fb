/**
 * `npm run compare`: asks two builds of the command line the same questions and reports every difference between the
 * answers.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { gunzipSync, gzipSync } from 'node:zlib';
import { bytesOf, collectInputs, type Input } from './inputs.js';
import { Build, filesOf } from './program.js';
import { type Difference, differences, type Json } from './projection.js';

const USAGE = `usage: npm run compare -- [options]
  --base REV        the build to compare with (default: HEAD, the last commit)
  --base-dir DIR    a built checkout of it; --head-dir DIR: the other one (default: this checkout)
  --inputs LIST     of samples,corpus,generated (default: samples,corpus)
  --quick           samples only, and the main verbs
  --sample K        inputs of each part of the corpus (default: 6)
  --input TEXT      only inputs with this text in their names
  --only VERB       only this verb
  --seeds N         runs of each generated cause (default: 1)
  --jobs N          inputs at a time (default: 2)
  --show N          differing paths printed of each command (default: 4)
  --fresh           do not use the stored answers of the base build
`;

const root = resolve(import.meta.dirname, '..', '..', '..');
const cache = join(tmpdir(), `mbforensics-compare-${userInfo().uid}`);
const say = (text: string): void => void process.stderr.write(`${text}\n`);

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}

/** A built checkout of a revision, made once per commit. */
function checkoutOf(name: string): string {
  const commit = git('rev-parse', '--verify', `${name}^{commit}`);
  const folder = join(cache, `base-${commit.slice(0, 12)}`);
  if (existsSync(folder)) return folder;
  say(`building ${name} in ${folder}`);
  const part = `${folder}.part${process.pid}`;
  // A plain copy of the files: a worktree would stay registered in the repository.
  mkdirSync(part, { recursive: true });
  const archive = execFileSync('git', ['archive', '--format=tar', commit], { cwd: root, maxBuffer: 1 << 30 });
  execFileSync('tar', ['-x', '-C', part], { input: archive });
  symlinkSync(join(root, 'node_modules'), join(part, 'node_modules'));
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: part, stdio: ['ignore', 2, 2] });
  renameSync(part, folder);
  return folder;
}

/** The base build's answers are the same each time, so they are stored. */
async function stored(key: string, isFresh: boolean, make: () => Promise<Json[]>): Promise<Json[]> {
  const path = join(cache, 'answers', `${key}.json.gz`);
  if (!isFresh && existsSync(path)) return JSON.parse(gunzipSync(readFileSync(path)).toString('utf8')) as Json[];
  const answers = await make();
  mkdirSync(join(cache, 'answers'), { recursive: true });
  writeFileSync(`${path}.part${process.pid}`, gzipSync(JSON.stringify(answers), { level: 3 }));
  renameSync(`${path}.part${process.pid}`, path);
  return answers;
}

function keyOf(input: Input, identity: string): string {
  const hash = createHash('sha256').update(identity).update(JSON.stringify(input));
  for (const path of input.paths.flatMap(filesOf)) hash.update(path).update(readFileSync(path));
  return hash.digest('hex').slice(0, 32);
}

const short = (value: Json | undefined): string => {
  const text = value === undefined ? '(missing)' : JSON.stringify(value);
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
};

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      base: { type: 'string', default: 'HEAD' },
      'base-dir': { type: 'string' },
      'head-dir': { type: 'string' },
      inputs: { type: 'string', default: 'samples,corpus' },
      quick: { type: 'boolean', default: false },
      sample: { type: 'string', default: '6' },
      input: { type: 'string', default: '' },
      only: { type: 'string' },
      seeds: { type: 'string', default: '1' },
      jobs: { type: 'string', default: '2' },
      show: { type: 'string', default: '4' },
      fresh: { type: 'boolean', default: false },
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) {
    process.stdout.write(USAGE);
    return 0;
  }
  const base = values['base-dir'] === undefined ? checkoutOf(values.base) : resolve(values['base-dir']);
  const head = resolve(values['head-dir'] ?? root);
  const corpus = resolve(process.env['MBF_CORPUS'] ?? join(root, '..', 'shared', 'corpus'));
  const parts = values.quick ? ['samples'] : values.inputs.split(',');
  if (parts.includes('corpus') && !existsSync(corpus)) say(`no corpus at ${corpus}: set MBF_CORPUS`);
  const inputs = collectInputs(join(root, 'test', 'frozen', 'commands.yaml'), {
    parts,
    quick: values.quick,
    seeds: Number(values.seeds),
    sample: Number(values.sample),
    only: values.only,
    corpus,
    cache,
    base,
  })
    .filter(({ name, commands }) => name.includes(values.input) && commands.length > 0)
    .map((input) => ({
      input,
      size: input.paths.reduce((sum, path) => sum + bytesOf(path), 0) * input.commands.length,
    }))
    .sort((a, b) => b.size - a.size)
    .map(({ input }) => input);
  const host = join(root, 'test', 'support', 'warm-cli.mjs');
  const identity = createHash('sha256')
    .update(new Build(base, host).identity())
    .update(readFileSync(join(import.meta.dirname, 'projection.js')))
    .digest('hex');
  const started = Date.now();
  const counts = { compared: 0, differ: 0, inputs: 0 };
  const seconds = new Map<string, number>();
  const queue = inputs.values();

  async function worker(slot: number): Promise<void> {
    const builds = [new Build(base, host), new Build(head, host)] as const;
    // Both builds use the same folder, one after the other: paths in answers are equal, and so is their length.
    const folder = join(cache, 'work', `${String(process.pid).padStart(8, '0')}-${slot}`);
    for (const input of queue) {
      const begun = Date.now();
      const ask = (build: Build): Promise<Json[]> => build.answers(input, folder, [base, head]);
      const before = await stored(keyOf(input, identity), values.fresh, () => ask(builds[0]));
      const after = await ask(builds[1]);
      counts.inputs += 1;
      let differ = 0;
      for (const [i, command] of input.commands.entries()) {
        counts.compared += 1;
        const found = differences(before[i], after[i]);
        if (found.length === 0) continue;
        differ += 1;
        report(input, command, found, Number(values.show));
      }
      counts.differ += differ;
      const seconds = ((Date.now() - begun) / 1000).toFixed(1);
      say(
        `[${counts.inputs}/${inputs.length}] ${input.name}: ${input.commands.length} commands, ${differ} differ, ${seconds} s`,
      );
    }
    for (const build of builds) build.end();
    for (const [command, time] of builds[1].seconds) seconds.set(command, (seconds.get(command) ?? 0) + time);
    rmSync(folder, { recursive: true, force: true });
  }
  await Promise.all(Array.from({ length: Number(values.jobs) }, (_, slot) => worker(slot)));
  const slowest = [...seconds].sort((a, b) => b[1] - a[1]).slice(0, 8);
  say(`slowest: ${slowest.map(([command, time]) => `${command} ${time.toFixed(1)} s`).join(' · ')}`);
  say(`${((Date.now() - started) / 1000).toFixed(0)} s; base: ${basename(base)}`);
  process.stdout.write(`${counts.compared} compared, ${counts.differ} differ\n`);
  return counts.differ > 0 ? 1 : 0;
}

function report(input: Input, command: string, found: readonly Difference[], most: number): void {
  const shown = found
    .slice(0, most)
    .map(({ path, base, head }) => `  ${path}\n    base ${short(base)}\n    new  ${short(head)}\n`);
  const more = found.length > most ? `  … ${found.length - most} more\n` : '';
  process.stdout.write(`${input.name}: mbforensics ${command}\n${shown.join('')}${more}`);
}

process.exitCode = await main().catch((error: unknown) => {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error));
  return 2;
});
