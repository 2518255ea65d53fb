/**
 * Real bisections over a hundred commits, each with one planted change and with what misleads a bisection: settings
 * that change, commits that do not build, runs that fail now and then, outputs that are cut, merges and reverts. The
 * training of a commit is a script of the repository that prints Megatron-LM's lines.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BisectReportResult } from '../../src/model/results/bisect.js';

/** What the training of a commit does. */
interface State {
  readonly peakMib: number;
  readonly stepMs: number;
  /** More at each step. */
  readonly leakMib: number;
  readonly ending: 'completed' | 'capacity' | 'fragmentation' | 'other_process' | 'broken' | 'empty' | 'cut';
  /** Share of the launches that end with a timeout of NCCL. */
  readonly flaky: number;
  /** As `arguments` of the log prints them; `printed: false` leaves them out. */
  readonly settings: Readonly<Record<string, string>>;
  readonly printed: boolean;
  /** Relative standard deviation of steps, and of runs. */
  readonly stepNoise: number;
  readonly runNoise: number;
}

const BASE: State = {
  ...{ peakMib: 50_000, stepMs: 1000, leakMib: 0, ending: 'completed', flaky: 0, printed: true },
  ...{ stepNoise: 0.01, runNoise: 0.003 },
  settings: {
    ...{ num_layers: '24', hidden_size: '2048', num_attention_heads: '16', seq_length: '4096', micro_batch_size: '1' },
    ...{ global_batch_size: '64', world_size: '8', tensor_model_parallel_size: '2', pipeline_model_parallel_size: '1' },
    ...{ bf16: 'True', recompute_granularity: 'None' },
  },
};

/** `peak` and `step`: more than in the base state, relative. */
type Change = Partial<State> & { readonly peak?: number; readonly step?: number };

export interface Scenario {
  readonly on: string;
  /** The first commit that is bad, from 0 to 99. */
  readonly planted: number;
  /** Changes of the base state, by the commits that have them. */
  readonly at: Readonly<Record<string, Change>>;
  readonly subjects?: Readonly<Record<number, string>>;
  /** Commits on a branch that is merged at `to`. */
  readonly branch?: { readonly from: number; readonly to: number };
  readonly options?: string;
  /** The state of a run for `--like`. */
  readonly like?: Change;
  readonly goldenRuns?: number;
  /**
   * `named`: the planted commit with at least medium confidence. `held`: the planted commit is named, or among those
   * left, with low confidence at least. `reported`: nothing is named with more than low confidence, and the setting is
   * reported.
   */
  readonly expected: 'named' | 'held' | 'reported';
  /** The setting that has to be reported. */
  readonly setting?: string;
}

const COMMITS = 100;

const changed = (state: State, { peak, step, settings, ...change }: Change): State => ({
  ...{ ...state, ...change, settings: { ...state.settings, ...settings } },
  ...(peak === undefined ? {} : { peakMib: BASE.peakMib * (1 + peak) }),
  ...(step === undefined ? {} : { stepMs: BASE.stepMs * (1 + step) }),
});

function hasCommit(commits: string, i: number): boolean {
  const [, from, sign, to] = /^(\d+)([-/])(\d*)$/.exec(commits)!;
  return sign === '/' ? i % Number(to) === Number(from) : i >= Number(from) && i <= Number(to || COMMITS);
}

/** What commit `i` does. */
const stateOf = ({ at }: Scenario, i: number): State =>
  Object.entries(at).reduce(
    (state, [commits, change]) => (hasCommit(commits, i) ? changed(state, change) : state),
    BASE,
  );

const TRAINER = String.raw`
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
const [state, output, seed] = [JSON.parse(readFileSync(process.argv[2] ?? 'state.json', 'utf8')), process.argv[3] ?? process.env.MBF_OUTPUT_DIR, process.argv[4] ?? process.env.MBF_COMMIT + process.env.MBF_ATTEMPT];
let counter = 0;
const uniform = () => createHash('sha256').update(seed + ':' + counter++).digest().readUInt32LE(0) / 2 ** 32;
const normal = () => Math.sqrt(-2 * Math.log(uniform() + 1e-12)) * Math.cos(2 * Math.PI * uniform());
if (state.ending === 'broken') { console.error('ModuleNotFoundError: No module named megatron.core.foo'); process.exit(1); }
mkdirSync(output, { recursive: true });
const out = (text) => writeFileSync(output + '/train.log', text);
if (state.ending === 'empty') { out(''); process.exit(0); }
const lines = [];
if (state.printed) {
  lines.push('------------------------ arguments ------------------------');
  for (const [key, value] of Object.entries(state.settings)) lines.push('  ' + key + ' ' + '.'.repeat(48 - key.length) + ' ' + value);
  lines.push('-------------------- end of arguments ---------------------');
}
const time = (s) => new Date(Date.UTC(2026, 1, 3, 4, 5, s)).toISOString().slice(0, 19).replace('T', ' ');
const speed = state.stepMs * (1 + state.runNoise * normal());
const died = uniform() < state.flaky;
const total = 60;
const steps = died ? 7 : state.ending === 'capacity' || state.ending === 'fragmentation' || state.ending === 'other_process' ? 12 : state.ending === 'cut' ? 9 : total;
for (let i = 1; i <= steps; i += 1) {
  const spike = uniform() < 0.03 ? 1.5 + uniform() : 1;
  const ms = i === 1 ? 9 * speed : speed * (1 + state.stepNoise * normal()) * spike;
  lines.push(' [' + time(i) + '.123456] iteration ' + String(i).padStart(8) + '/' + String(total).padStart(8) + ' | consumed samples: ' + 64 * i + ' | elapsed time per iteration (ms): ' + ms.toFixed(1) + ' | learning rate: 1.500000E-04 | global batch size:    64 | lm loss: ' + (10 - 0.05 * i).toExponential(6).toUpperCase() + ' | loss scale: 1.0 | grad norm: 1.234 | num zeros: 0 | number of skipped iterations:   0 | number of nan iterations:   0 |');
  if (i === 1 || i === 2 || i % 10 === 0) {
    const peak = state.peakMib * (i === 1 ? 0.88 : 1) * (1 + 0.0003 * normal()) + state.leakMib * i;
    for (const rank of [0, 1]) lines.push('[Rank ' + rank + '] (after ' + i + ' iterations) memory (MB) | allocated: ' + (peak * 0.6).toFixed(4) + ' | max allocated: ' + peak.toFixed(4) + ' | reserved: ' + (peak * 1.1).toFixed(1) + ' | max reserved: ' + (peak * 1.12).toFixed(1));
  }
}
const oom = (allocated, unused, other) => '[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 0.80 GiB is free. ' + other + 'Including non-PyTorch memory, this process has ' + (allocated + unused + 0.8).toFixed(2) + ' GiB memory in use. Of the allocated memory ' + allocated.toFixed(2) + ' GiB is allocated by PyTorch, and ' + unused.toFixed(2) + ' GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)';
const trace = ['[rank0]: Traceback (most recent call last):', '[rank0]:   File "/opt/megatron/core/transformer/mlp.py", line 150, in forward', '[rank0]:     intermediate = self.linear_fc1(hidden)'];
let code = 0;
if (died) { lines.push('[rank3]:[E203 04:35:06.000000000 ProcessGroupNCCL.cpp:629] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1234, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600029 milliseconds before timing out.'); code = 1; }
else if (state.ending === 'capacity') { lines.push(...trace, oom(77, 0.5, '')); code = 1; }
else if (state.ending === 'fragmentation') { lines.push(...trace, oom(60, 17.5, '')); code = 1; }
else if (state.ending === 'other_process') { lines.push(...trace, oom(40, 0.5, 'Process 4711 has 37.00 GiB memory in use. ')); code = 1; }
else if (state.ending !== 'cut') lines.push('[after training is done] datetime: ' + time(total + 1) + ' ');
out(lines.join('\n') + '\n');
process.exit(code);
`;

export interface Outcome {
  readonly report: BisectReportResult;
  readonly planted: string;
  readonly output: string;
  /** Points of `history --bisect`. */
  readonly runs: number;
}

/** Bisects one scenario in `directory`, which must exist. */
export function bisectScenario(script: string, directory: string, scenario: Scenario): Outcome {
  const repository = join(directory, 'repository');
  mkdirSync(repository);
  const own = { XDG_CACHE_HOME: join(directory, 'cache'), MBF_DB: '' };
  const env = { ...process.env, ...own, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: repository, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
  const states = Array.from({ length: COMMITS }, (_, i) => stateOf(scenario, i));
  git('init', '-q', '-b', 'main');
  execFileSync('git', ['fast-import', '--quiet'], { cwd: repository, env, input: history(scenario, states) });
  git('checkout', '-q', 'main');
  const shas = subjectsOf(git('log', '--all', '--format=%H %s'));
  writeFileSync(join(directory, 'train.mjs'), TRAINER);
  const train = (state: State, name: string): string => {
    writeFileSync(join(directory, `${name}.json`), JSON.stringify(state));
    const output = join(directory, name);
    spawnSync(process.execPath, [join(directory, 'train.mjs'), `${output}.json`, output, name]);
    return output;
  };
  const tool = (...args: string[]): string =>
    execFileSync(process.execPath, [script, ...args], { cwd: repository, env, encoding: 'utf8' });
  const db = join(directory, 'golden.duckdb');
  for (let run = 1; run <= (scenario.goldenRuns ?? 1); run += 1)
    tool('golden', 'add', train(states[0]!, `golden-${run}`), '--name', 'good', '--db', db);
  const golden = join(directory, 'golden.json');
  tool('golden', 'export', golden, '--name', 'good', '--db', db);
  const like = scenario.like === undefined ? [] : ['--like', train(changed(BASE, scenario.like), 'like')];
  git('bisect', 'start', 'main', shas[0]!);
  const more = [...like, ...(scenario.options?.split(' ') ?? [])];
  const command = ['bisect', 'run', '--golden', golden, '--on', scenario.on, ...more];
  const judge = [process.execPath, script, ...command, '--quiet', '--', process.execPath, 'train.mjs'];
  const options = { cwd: repository, env, encoding: 'utf8', maxBuffer: 2 ** 28 } as const;
  const answer = spawnSync('git', ['bisect', 'run', ...judge], options);
  const report = JSON.parse(tool('bisect', 'report', '--json=full')) as BisectReportResult;
  const { points } = JSON.parse(tool('history', '--bisect', '--json=full')) as { readonly points: readonly unknown[] };
  const planted = shas[scenario.planted]!;
  return { report, planted, runs: points.length, output: answer.stdout + answer.stderr };
}

/** Ids by the number with which the subject begins. */
function subjectsOf(log: string): string[] {
  const shas: string[] = [];
  for (const [, sha, number] of log.matchAll(/^(\w+) (\d+)(?= |$)/gm)) shas[Number(number)] = sha!;
  return shas;
}

/** For `git fast-import`: subjects begin with the number of the commit. */
function history({ subjects = {}, branch }: Scenario, states: readonly State[]): string {
  const parts: string[] = [];
  const blob = (text: string): string => `data ${Buffer.byteLength(text)}\n${text}\n`;
  for (const [i, state] of states.entries()) {
    const onBranch = branch !== undefined && i >= branch.from && i < branch.to;
    const parent = branch !== undefined && i === branch.to ? branch.from - 1 : i - 1;
    const subject = `${i} ${subjects[i] ?? 'Tidy up'}`;
    parts.push(
      `commit refs/heads/${onBranch ? 'side' : 'main'}\nmark :${i + 1}\n`,
      `committer a <a@b> ${1_780_000_000 + 3600 * i} +0000\n`,
      blob(subject),
      i === 0 ? '' : `from :${parent + 1}\n`,
      branch !== undefined && i === branch.to ? `merge :${i}\n` : '',
      `M 644 inline state.json\n${blob(`${JSON.stringify(state, null, 1)}\n`)}`,
      `M 644 inline train.mjs\n${blob(TRAINER)}`,
      `M 644 inline src/file_${i % 7}.py\n${blob(`# change ${i}\nvalue = ${i}\n`)}`,
      '\n',
    );
  }
  return parts.join('');
}
