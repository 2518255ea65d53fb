/**
 * Run directories of every cause: CPython and the built command line are the judges, the truth beside the files is the
 * answer.
 */

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { incidentsInText } from '../../parsers/log/index.js';
import { CAUSES_TO_GENERATE } from '../../samples/generate/causes/index.js';
import type { DumpedSnapshot, GeneratedRun, RunPlan, SimulatedRank, TorchRelease } from '../../samples/generate/run.js';
import { allocConf } from '../../samples/generate/write/launch-script.js';
import { runLogs } from '../../samples/generate/write/log-layout.js';
import { gigabytes } from '../../samples/generate/write/memory-lines.js';
import { PyFloat, PyText, PyTuple, type PyValue } from '../../samples/generate/write/pickle-writer.js';
import { pythonFloat } from '../../samples/generate/write/python-text.js';
import { CONFIG_NAME, LAUNCH_NAME, runDirectory, TRUTH_NAME } from '../../samples/generate/write/run-directory.js';
import { completedIterations, jobOf, type RunFacts, runFacts } from '../../samples/generate/write/run-facts.js';
import { snapshotValue } from '../../samples/generate/write/snapshot-pickle.js';
import type { IngestResult, SnapshotInfo, SnapshotResult } from '../../src/model/results/common.js';
import { MIB } from '../../src/model/units.js';
import { isOomKind } from '../../src/model/vocabulary.js';
import { buildCli } from '../support/cli.js';
import { hasPython, skipLoudly } from '../support/corpus.js';
import { lastAttempt, lastAttemptOf, onNodes, withEndings, withRestart } from '../support/generated-runs.js';
import { incidentDifferences } from '../support/incident-differences.js';
import { sampled } from '../support/level.js';
import { type RunTruth, truthOf } from '../support/run-truth.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** A number with no meaning: any other should do as well. */
const SEED = 20_261;
const ORACLE = fileURLToPath(new URL('oracle.py', import.meta.url));
if (!hasPython) skipLoudly('generated pickles', 'python3');

interface Built {
  readonly name: string;
  readonly run: GeneratedRun;
  readonly directory: string;
  readonly truth: RunTruth;
  /** Texts of its logs, in the order of the truth. */
  readonly logs: readonly string[];
}

const root = temporaryDirectory();
const cli = buildCli();
const built: Built[] = [];

function put(name: string, run: GeneratedRun, options: Parameters<typeof runDirectory>[1] = {}): Built {
  const directory = join(root, 'runs', name);
  mkdirSync(directory, { recursive: true });
  const files = runDirectory(run, options);
  for (const [file, bytes] of files) writeFileSync(join(directory, file), bytes);
  const truth = truthOf(directory);
  return { name, run, directory, truth, logs: truth.logs.map((log) => String(files.get(log))) };
}

beforeAll(() => {
  for (const cause of CAUSES_TO_GENERATE) built.push(put(`${cause.name}-${SEED}`, cause.build(SEED)));
});

const read = ({ directory }: Built, file: string): string => readFileSync(join(directory, file), 'utf8');
const planOf = ({ run }: Built): RunPlan => lastAttempt(run).plan;
const textOf = (facts: RunFacts): string => [...runLogs(facts).values()].join('');

function rankOf({ run }: Built, { attempt, rank }: Pick<DumpedSnapshot, 'attempt' | 'rank'>): SimulatedRank {
  return run.attempts[attempt]!.ranks.find((candidate) => candidate.rank === rank)!;
}

interface OracleReport extends Readonly<Record<'segments' | 'blocks' | 'reserved' | 'allocated' | 'active', number>> {
  readonly file: string;
  readonly protocol: number;
  readonly same: boolean;
  readonly digest: string;
  readonly top: readonly string[];
  readonly traces: readonly number[];
  readonly actions: readonly string[];
  readonly entry_keys: readonly string[];
  readonly settings: Readonly<Record<string, unknown>>;
}

function oracle(files: readonly string[]): OracleReport[] {
  const run = spawnSync('python3', [ORACLE, ...files], { encoding: 'utf8', maxBuffer: 1 << 28 });
  expect(run.stderr).toBe('');
  const lines = run.stdout.trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as OracleReport);
}

/** The text whose digest the oracle takes. */
function canonical(value: PyValue): string {
  if (value instanceof PyFloat) return `{"float":${JSON.stringify(pythonFloat(value.value))}}`;
  if (value instanceof PyText) return JSON.stringify(value.text);
  if (value instanceof PyTuple) return `{"tuple":[${value.items.map(canonical).join(',')}]}`;
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (value instanceof Map) {
    const entries = [...value].map(([key, item]) => `${canonical(key)}:${canonical(item)}`);
    return `{${entries.join(',')}}`;
  }
  return JSON.stringify(value);
}

/** What each release writes on every trace entry but `oom`, beside the frames. */
const ENTRY_KEYS: Readonly<Record<TorchRelease, readonly string[]>> = {
  ...{ '2.0': [], '2.3': [], '2.6': [], '2.8': ['compile_context'] },
  '2.12': ['compile_context', 'pool_id', 'user_metadata'],
};

describe.runIf(hasPython)('pickles, read by CPython', () => {
  const reports = new Map<string, OracleReport>();
  beforeAll(() => {
    const files = built.flatMap(({ directory, truth }) => truth.snapshots.map(({ file }) => join(directory, file)));
    for (const report of oracle(files)) reports.set(report.file, report);
  });

  it('hold the state of the simulated allocators, byte for byte as CPython writes it', () => {
    const snapshots = built.flatMap((one) => one.truth.snapshots.map((truth) => ({ one, truth })));
    expect(snapshots.length).toBeGreaterThan(0);
    for (const { one, truth } of snapshots) {
      const report = reports.get(join(one.directory, truth.file))!;
      const { plan, ranks } = one.run.attempts[truth.attempt]!;
      const rank = rankOf(one, truth);
      const isDump = (other: DumpedSnapshot): boolean =>
        other.attempt === truth.attempt && other.rank === truth.rank && other.trigger === truth.trigger;
      const dump = one.run.snapshots.findLast(isDump)!;
      const deviceCount = Math.min(plan.gpu.perNode, ranks.length);
      const form = { torch: plan.torch, deviceCount, allocConf: allocConf(plan), maxEntries: 100_000 };
      const meant = canonical(snapshotValue(rank.process, form, dump.state));
      expect(report.protocol, truth.file).toBe(4);
      expect(report.same, `${one.name} ${truth.file} written again by CPython`).toBe(true);
      expect(report.digest).toBe(createHash('sha256').update(meant).digest('hex'));
      const { segments, blocks, reserved_bytes: reserved, allocated_bytes: allocated, active_bytes: active } = truth;
      expect(report).toMatchObject({ segments, blocks, reserved, allocated, active });
      const entries = (_: unknown, device: number): number => (device === truth.device ? truth.trace_entries : 0);
      expect(report.traces).toEqual(Array.from({ length: deviceCount }, entries));
      if (truth.trigger === 'oom') expect(report.actions).toEqual(['oom']);
    }
  });

  it('have the fields of their release and the settings in force', () => {
    for (const one of built) {
      const { torch } = planOf(one);
      for (const { file } of one.truth.snapshots) {
        const report = reports.get(join(one.directory, file))!;
        expect(report.top.includes('external_annotations')).toBe(torch !== '2.3');
        const extra = report.entry_keys.filter((key) => /compile_context|pool_id|user_metadata/.test(key));
        expect(extra).toEqual(ENTRY_KEYS[torch]);
        const conf = planOf(one).environment['PYTORCH_CUDA_ALLOC_CONF'] ?? '';
        expect(report.settings['PYTORCH_CUDA_ALLOC_CONF']).toBe(conf);
        expect(report.settings['expandable_segments']).toBe(conf.includes('expandable_segments:True'));
        const split = /max_split_size_mb:(\d+)/.exec(conf);
        expect(report.settings['max_split_size']).toBe(split === null ? -1 : Number(split[1]) * MIB);
      }
    }
  });

  it('keep the last entries of a shorter ring, compressed where asked', () => {
    const first = built.find(({ truth }) => truth.snapshots.length > 0)!;
    const short = put('short-ring', first.run, { maxEntries: 300, gzip: true });
    const file = short.truth.snapshots[0]!;
    expect(file.file).toMatch(/\.pickle\.gz$/);
    expect(file).toMatchObject({ trace_entries: 300, peak_active_bytes: null });
    expect(file.overwritten_entries).toBe(first.truth.snapshots[0]!.trace_entries - 300);
    const files = [join(first.directory, first.truth.snapshots[0]!.file), join(short.directory, file.file)];
    const [whole, cut] = oracle(files) as [OracleReport, OracleReport];
    expect(cut.same).toBe(true);
    expect(Math.max(...cut.traces)).toBe(300);
    expect([cut.reserved, cut.allocated, cut.actions]).toEqual([whole.reserved, whole.allocated, whole.actions]);
    const info = snapshotsOf(short, 'short')[0]!;
    expect(info.invariants_hold).toBe(true);
    const device = info.devices.find((candidate) => candidate.device === file.device)!;
    expect(['late', 'overwritten']).toContain(device.start);
    expect(device).toMatchObject({ reserved_bytes: file.reserved_bytes, walk_violations: 0 });
  });
});

function snapshotsOf(one: Built, store: string): readonly SnapshotInfo[] {
  const db = join(root, `${store}.duckdb`);
  if (!existsSync(db)) cli.expect(0, ['ingest', one.directory, '--db', db, '--quiet']);
  return cli.expect(0, ['snapshot', one.name, '--db', db, '--json=full']).json<SnapshotResult>().snapshots;
}

/** The release a file's features tell: the latest whose change it shows. */
const TORCH_AT_LEAST: Readonly<Record<TorchRelease, string>> = {
  ...{ '2.0': '2.3', '2.3': '2.3', '2.6': '2.5', '2.8': '2.8', '2.12': '2.12' },
};

describe('the command line', () => {
  it('takes every file, and finds the counts, bytes and peaks of the truth', () => {
    const db = join(root, 'all.duckdb');
    const asked = sampled(built, 4);
    const paths = asked.map(({ directory }) => directory);
    const result = cli
      .expect(0, ['ingest', ...paths, '--each', '--db', db, '--quiet', '--json=full'])
      .json<IngestResult>();
    for (const one of asked) {
      const sources = result.sources.filter(({ run }) => run === one.name);
      const taken = sources.filter(({ status }) => status === 'ingested').map(({ path }) => path.split('/').at(-1));
      const files = [...one.truth.logs, ...one.truth.snapshots.map(({ file }) => file)];
      expect(taken.filter((name) => name !== CONFIG_NAME && name !== LAUNCH_NAME).toSorted()).toEqual(files.toSorted());
      expect(taken).toContain(LAUNCH_NAME);
      for (const source of sources) {
        const rest = [TRUTH_NAME, CONFIG_NAME, LAUNCH_NAME];
        if (source.status !== 'ingested') expect(rest).toContain(source.path.split('/').at(-1));
        expect(source.notes.filter(({ severity }) => severity === 'warning')).toEqual([]);
      }
      const infos = one.truth.snapshots.length === 0 ? [] : snapshotsOf(one, 'all');
      expect(infos.length).toBe(one.truth.snapshots.length);
      for (const truth of one.truth.snapshots) {
        const { rank: number, segments, blocks, reserved_bytes, allocated_bytes, active_bytes } = truth;
        const info = infos.find(({ path }) => path.endsWith(truth.file))!;
        const rank = one.truth.ranks.find((candidate) => candidate.rank === number)!;
        const torch_at_least = TORCH_AT_LEAST[planOf(one).torch];
        expect(info, truth.file).toMatchObject({ invariants_hold: true, notes: [], torch_at_least });
        // Without the file of rank 0 beside it, a number above those of one node may be a step or a batch size.
        const named =
          number < 8 || one.truth.snapshots.some(({ rank: other }) => other === 0) || truth.trigger === 'oom';
        expect(info.rank, truth.file).toBe(named ? number : null);
        const device = info.devices.find((candidate) => candidate.device === truth.device)!;
        expect(device).toMatchObject({ segments, blocks, reserved_bytes, allocated_bytes, active_bytes });
        expect(device).toMatchObject({ events: truth.trace_entries, start: 'cold' });
        expect(device).toMatchObject({ walk_violations: 0, uncertain_blocks: 0 });
        for (const peak of ['peak_active_bytes', 'peak_reserved_bytes'] as const)
          if (truth[peak] !== null) expect(device[peak]).toBe(truth[peak]);
        if (truth.trigger === 'oom' && truth.attempt === one.truth.attempts.length - 1) {
          const { rounded_bytes: requested_bytes, device_free_bytes } = rank;
          const seq = truth.trace_entries - 1;
          expect(device.ooms!.at(-1)).toMatchObject({ seq, requested_bytes, device_free_bytes });
        }
      }
    }
  });
});

const ITERATION_LINE =
  / \[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{6})?\] iteration {1,8}(\d+)\/ {1,8}\d+ \| consumed samples: {1,12}\d+ \| elapsed time per iteration \(ms\): \d+\.\d \|(?: throughput per GPU \(TFLOP\/s\/GPU\): \d+\.\d \|)? learning rate: \d\.\d{6}E[+-]\d\d \| global batch size: {1,5}\d+ \| lm loss: \d\.\d{6}E[+-]\d\d \| loss scale: 1\.0 \| grad norm: \d+\.\d{3} \| number of skipped iterations: {3}0 \| number of nan iterations: {3}0 \|$/;
const MEMORY_LINE = /\[Rank (\d+)\] \(after (\d+) iterations\) memory \((MB|GB)\) \| (.*)$/;

describe('logs', () => {
  it('state exactly the out-of-memory errors of the run, with their figures', () => {
    for (const one of built) expect(incidentDifferences(one.run, one.logs), one.name).toEqual([]);
  });

  it('speak of memory running out if and only if it did', () => {
    for (const one of built) {
      const kinds = one.logs.flatMap((text) => incidentsInText(text)).map(({ kind }) => kind);
      expect(kinds.some(isOomKind), `${one.name}: ${kinds.join(', ')}`).toBe(one.truth.is_oom);
    }
  });

  it('show every completed iteration once, in the form of Megatron', () => {
    for (const one of built) {
      const lines = one.logs.flatMap((text) => text.split('\n'));
      const iterations = lines.filter((line) => / iteration +\d+\/ +\d+ \|/.test(line));
      for (const line of iterations) expect(line).toMatch(ITERATION_LINE);
      const expected = one.run.attempts.flatMap((attempt) =>
        Array.from({ length: completedIterations(attempt) }, (_, i) => attempt.firstIteration + i + 1),
      );
      const numbers = iterations.map((line) => Number(ITERATION_LINE.exec(line)![1]));
      expect(numbers.toSorted((a, b) => a - b)).toEqual(expected.toSorted((a, b) => a - b));
      if (planOf(one).framework !== 'megatron-bridge') continue;
      const steps = lines.filter((line) => line.includes('Step Time'));
      expect(steps.length).toBe(expected.length);
      for (const line of steps)
        expect(line).toMatch(/Step Time : \d+\.\d\ds GPU utilization: \d+\.\dMODEL_TFLOP\/s\/GPU$/);
    }
  });

  it('print memory as the allocators had it after the iteration', () => {
    for (const one of built) {
      const { framework } = planOf(one);
      const lines = one.logs.flatMap((text) => text.split('\n')).filter((line) => MEMORY_LINE.test(line));
      const reported = one.run.attempts.flatMap((attempt) => Math.min(2, completedIterations(attempt)));
      if (Math.max(...reported) > 0) expect(lines.length).toBeGreaterThan(0);
      for (const line of lines) {
        const [, rank, after, unit, fields] = MEMORY_LINE.exec(line)!;
        expect(unit).toBe(framework === 'megatron-bridge' ? 'GB' : 'MB');
        const records = one.run.attempts.flatMap((attempt) =>
          attempt.ranks
            .filter((candidate) => candidate.rank === Number(rank))
            .flatMap(({ iterations }) => iterations[Number(after) - attempt.firstIteration - 1] ?? []),
        );
        const printed = new Map(fields!.split(' | ').map((field) => field.split(': ') as [string, string]));
        const agrees = records.some(({ memory }) => {
          const { allocatedBytes, reservedBytes } = memory;
          const bridge = ['allocated-gigabytes', 'max-reserved-gigabytes', 'alloc-retires'];
          const gib = [allocatedBytes.current, reservedBytes.peak].map(gigabytes);
          const figures = [...gib, `${memory.numAllocRetries}`];
          if (framework === 'megatron-bridge')
            return bridge.every((key, i) => printed.get(`mem-${key}`) === figures[i]);
          const near = (key: string, bytes: number): boolean =>
            Math.abs(Number(printed.get(key)) - bytes / MIB) < 0.006;
          return near('allocated', allocatedBytes.current) && near('max reserved', reservedBytes.peak);
        });
        expect(agrees, `${one.name}: ${line}`).toBe(true);
      }
    }
  });

  it('can be laid out in every way without losing a failure', () => {
    const small = built.find(({ run }) => lastAttempt(run).ranks.length >= 4)!;
    const run = onNodes(withRestart(small.run, 40, 3_600_000_000), 2);
    const base = runFacts(run);
    const ways = (['torchrun', 'srun'] as const).flatMap((launcher) =>
      [false, true].flatMap((filePerNode) =>
        [false, true].flatMap((attemptsInOneFile) =>
          [1, 16, Number.POSITIVE_INFINITY].map((linesPerWrite) => ({
            ...{ launcher, filePerNode: filePerNode && launcher === 'torchrun', attemptsInOneFile, linesPerWrite },
          })),
        ),
      ),
    );
    for (const way of ways) {
      const logs = runLogs({ ...base, ...way });
      expect(logs.size).toBe((way.filePerNode ? base.nodes : 1) * (way.attemptsInOneFile ? 1 : run.attempts.length));
      expect(incidentDifferences(run, logs.values()), JSON.stringify(way)).toEqual([]);
      const text = [...logs.values()].join('');
      expect(text.includes('[default0]:')).toBe(way.launcher === 'torchrun');
      expect(text.includes('ChildFailedError')).toBe(way.launcher === 'torchrun');
      expect(text).toMatch(/^srun: error: \S+: tasks? [\d,-]+: Exited with exit code 1$/m);
      expect(text).toContain('at iteration 40');
    }
  });

  it('end with the signal where a process was killed, and without a failure where none failed', () => {
    const run = lastAttemptOf(built[0]!.run);
    const killed = withEndings(run, ({ rank }) =>
      rank === 0 ? { kind: 'signalled', signal: 'SIGKILL' } : { kind: 'stopped' },
    );
    const facts: RunFacts = { ...runFacts(killed), launcher: 'torchrun' };
    const text = textOf(facts);
    expect(text).toMatch(
      /exitcode {2}: -9 \(pid: \d+\)\n {2}error_file: <N\/A>\n {2}traceback : Signal 9 \(SIGKILL\) received by PID \d+/,
    );
    expect(text).not.toMatch(/\[rank\d+\]: Traceback/);
    const exception = 'ValueError: two\nlines, said on {host}';
    const raised = withEndings(run, ({ rank, process }) =>
      rank === 0 ? { kind: 'raised', exception, path: process.trace[0]?.stack?.frames ?? [] } : { kind: 'stopped' },
    );
    const said = textOf(runFacts(raised));
    expect(said).toContain(`[rank0]: ValueError: two`);
    expect(said).toContain(`[rank0]: lines, said on ${runFacts(raised).host(0)}`);
    const healthy = withEndings(run, () => ({ kind: 'completed' }));
    const quiet = textOf(runFacts(healthy));
    expect(quiet).toMatch(/\[exiting program at iteration \d+\] datetime: /);
    expect(incidentsInText(quiet)).toEqual([]);
  });

  it('tell the story in its place, with the names of the run', () => {
    const run = lastAttemptOf(built[0]!.run);
    const attempt = run.attempts[0]!;
    const dying = attempt.ranks.find(({ ending }) => ending.kind === 'oom')!;
    const spoken = '{host}:{pid}:{pid} [0] NCCL INFO job {job}, next to {pid:1}';
    const story = [
      { timeUs: dying.endUs - 1, rank: dying.rank, text: spoken },
      { timeUs: attempt.plan.startUs, rank: null, node: 0, text: 'first of all\non {host}' },
    ];
    const told: GeneratedRun = { ...run, attempts: [{ ...attempt, storyLines: story }] };
    const facts: RunFacts = { ...runFacts(told), launcher: 'torchrun', filePerNode: false };
    const lines = textOf(facts).split('\n');
    expect(lines.slice(0, 2)).toEqual(['first of all', `on ${facts.host(0)}`]);
    const pid = facts.pid(0, dying.rank);
    const said = `${facts.host(dying.node)}:${pid}:${pid} [0] NCCL INFO job ${jobOf(facts, 0)}, next to ${facts.pid(0, 1)}`;
    const at = lines.indexOf(`[default${dying.device}]:${said}`);
    expect(at).toBeGreaterThan(0);
    expect(lines.findIndex((line) => line.includes(`[rank${dying.rank}]: Traceback`))).toBeGreaterThan(at);
  });

  it('know nothing of training where a rank died before', () => {
    for (const one of built.slice(0, 2)) {
      const attempt = lastAttempt(one.run);
      const ranks = attempt.ranks.map((rank) => ({ ...rank, iterations: [], trainingStartUs: null }));
      const early: GeneratedRun = { ...one.run, attempts: [{ ...attempt, ranks, checkpoints: [] }], snapshots: [] };
      const text = textOf(runFacts(early));
      expect(text).toContain('[after megatron is initialized] datetime: ');
      expect(text).not.toMatch(/done with setup|start of training|iteration +\d+\/|number of parameters/);
      expect(incidentDifferences(early, [text])).toEqual([]);
    }
  });

  it('show evaluations and saves, finished or not', () => {
    for (const one of built.slice(0, 2)) {
      const attempt = lastAttempt(one.run);
      const endUs = attempt.endUs - 10_000;
      const checkpoints = [{ iteration: 7, startUs: endUs - 900_000, endUs: endUs - 400_000 }];
      const evaluations = [
        { iteration: 7, evaluationIterations: 3, startUs: endUs - 300_000, endUs: endUs - 200_000 },
        { iteration: 8, evaluationIterations: 3, startUs: endUs - 100_000, endUs: null },
      ];
      const busy: GeneratedRun = { ...one.run, attempts: [{ ...attempt, checkpoints, evaluations }] };
      const text = textOf(runFacts(busy));
      expect(text).toMatch(/saving checkpoint at iteration {7}7 to \S+ in torch_dist format\n/);
      expect(text).toMatch(/ {2}successfully saved checkpoint from iteration {7}7 to \S+/);
      expect(text.match(/Evaluating on \d+ samples/g)).toHaveLength(2);
      expect(text.match(/Evaluating iter \d\/3/g)).toEqual(['1', '2', '3', '1'].map((i) => `Evaluating iter ${i}/3`));
      expect(text).toMatch(
        / validation loss at iteration 7 on validation set \| lm loss value: \d\.\d{6}E\+\d\d \| lm loss PPL: /,
      );
      expect(text).toMatch(/ {4}evaluate \.{39}: \(100\.00, 100\.00\)$/m);
      expect(incidentDifferences(busy, [text])).toEqual([]);
    }
  });

  it('save after the lines of the iteration', () => {
    for (const one of built) {
      for (const text of one.logs) {
        const lines = text.split('\n');
        for (const [at, line] of lines.entries()) {
          const saved = /saving checkpoint at iteration +(\d+) /.exec(line)?.[1];
          if (saved === undefined) continue;
          // A restart in the same file begins anew, and may come to the same iteration again.
          const restart = lines.findIndex((other, i) => i > at && other.includes('[after megatron is initialized]'));
          const attempt = restart < 0 ? lines : lines.slice(0, restart);
          const told = attempt.findLastIndex((other) => other.includes(`(after ${saved} iterations) memory`));
          expect(told, `${one.name}: ${line}`).toBeLessThan(at);
        }
      }
    }
  });

  it('write a dump of an earlier step as it was then', () => {
    const one = built.find(({ run }) => run.snapshots.some(({ trigger }) => trigger === 'oom'))!;
    const dump = one.run.snapshots.find(({ trigger }) => trigger === 'oom')!;
    const { process } = rankOf(one, dump);
    const state = { segments: [], traceEntries: 0, annotations: 0 };
    const early: DumpedSnapshot = { attempt: dump.attempt, rank: dump.rank, trigger: 'step', state };
    const written = put('early-dump', { ...one.run, snapshots: [early, dump] });
    expect(written.truth.snapshots.map(({ file, trigger }) => [trigger, file.includes('oom')])).toEqual([
      ['step', false],
      ['oom', true],
    ]);
    expect(written.truth.snapshots[0]).toMatchObject({ trace_entries: 0, segments: 0, reserved_bytes: 0 });
    expect(written.truth.snapshots[1]!.trace_entries).toBe(process.trace.length);
  });
});

describe('configuration', () => {
  it('is a script the shell accepts, exporting the environment of the plan', () => {
    for (const one of built) {
      const path = join(one.directory, LAUNCH_NAME);
      const checked = spawnSync('bash', ['-n', path], { encoding: 'utf8' });
      expect(checked.stderr, one.name).toBe('');
      const plan = planOf(one);
      // The shell itself says what it would export.
      const exports = read(one, LAUNCH_NAME)
        .split('\n')
        .filter((line) => line.startsWith('export ') && !line.startsWith('export MASTER_'));
      const names = Object.keys(plan.environment);
      const script = `${exports.join('\n')}\n${names.map((name) => `printf '%s\\n' "$${name}"`).join('\n')}\n`;
      const said = spawnSync('bash', ['-c', script], { encoding: 'utf8', env: {} });
      expect(said.stdout.split('\n').slice(0, -1)).toEqual(Object.values(plan.environment));
      expect(exports.length).toBe(names.length);
    }
  });

  it('says what the plan says: as YAML, or as arguments that the flags repeat', () => {
    const yaml = hasPython && spawnSync('python3', ['-c', 'import yaml']).status === 0;
    for (const one of built) {
      const plan = planOf(one);
      const { parallelism, model } = plan;
      if (plan.framework === 'megatron-bridge') {
        const text = read(one, CONFIG_NAME);
        if (yaml) {
          const load = 'import json,sys,yaml; print(json.dumps(yaml.safe_load(sys.stdin)))';
          const loaded = spawnSync('python3', ['-c', load], { encoding: 'utf8', input: text });
          expect(loaded.stderr).toBe('');
          const tree = JSON.parse(loaded.stdout) as Record<string, Record<string, unknown>>;
          expect(tree['_target_']).toBe('megatron.bridge.training.config.ConfigContainer');
          expect(tree['model']).toMatchObject({
            num_layers: model.layers,
            tensor_model_parallel_size: parallelism.tensor,
            pipeline_model_parallel_size: parallelism.pipeline,
            virtual_pipeline_model_parallel_size: parallelism.virtualPipeline,
          });
          expect(typeof tree['optimizer']!['lr']).toBe('number');
          for (const [key, value] of Object.entries(plan.configuration)) {
            const [section, name] = [key.slice(0, key.indexOf('.')), key.slice(key.indexOf('.') + 1)];
            if (typeof value !== 'string') expect(tree[section]![name]).toBe(value);
          }
        }
        for (const line of text.trimEnd().split('\n')) expect(line).toMatch(/^ *(?:- \S.*|[\w.]+:(?: \S.*)?)$/);
      } else {
        const dump = one.logs.join('');
        const argument = (name: string): string | undefined => new RegExp(` ${name} \\.+ (.*)$`, 'm').exec(dump)?.[1];
        expect(argument('num_layers')).toBe(String(model.layers));
        expect(argument('tensor_model_parallel_size')).toBe(String(parallelism.tensor));
        expect(argument('world_size')).toBe(String(lastAttempt(one.run).ranks.length));
        expect(dump).toContain('------------------------ arguments ------------------------');
        for (const line of dump.split('\n').filter((text) => / \.{3,} /.test(text) && !text.includes('): ('))) {
          expect(line).toMatch(/ {2}\w+ \.* \S?/);
        }
        const script = read(one, LAUNCH_NAME);
        expect(script).toContain(`--num-layers ${model.layers} `);
        expect(script).toContain(`--global-batch-size ${plan.globalBatchSize} `);
        expect(script.includes('--sequence-parallel')).toBe(parallelism.sequenceParallel);
      }
    }
  });
});

describe('the truth', () => {
  it('agrees with itself and with the reports', () => {
    for (const one of built) {
      const { truth } = one;
      const last = lastAttempt(one.run);
      for (const rank of truth.ranks) {
        const { ending } = last.ranks.find((candidate) => candidate.rank === rank.rank)!;
        expect(rank.ending).toBe(ending.kind);
        if (ending.kind !== 'oom') continue;
        expect(rank.reserved_bytes).toBe(ending.report.reservedBytes);
        expect(rank.allocated_bytes).toBe(ending.report.allocatedBytes);
        const others = ending.otherProcesses.reduce((sum, { bytes }) => sum + bytes, 0);
        expect(rank.other_process_bytes).toBe(others);
        const held = rank.reserved_bytes + rank.non_torch_bytes + rank.other_process_bytes;
        expect(held + rank.device_free_bytes).toBe(rank.device_total_bytes);
      }
      const first = truth.ranks.find(({ rank }) => rank === truth.first_failing_rank);
      if (truth.is_oom && truth.cause !== 'host_oom') expect(first?.ending).toBeDefined();
      expect(truth.failed_iteration === null || truth.failed_iteration >= 1).toBe(true);
    }
  });

  it('may not read like a failure', () => {
    const { run } = built[0]!;
    const shouting = { ...run, truth: { ...run.truth, because: 'CUDA said out of memory' } };
    expect(() => runDirectory(shouting)).toThrow(/reads like a failure message/);
  });
});

describe('the same cause and seed', () => {
  it('give the same bytes', () => {
    // `causes.nightly.test.ts` shows that the run itself comes out the same.
    for (const one of built)
      for (const [name, bytes] of runDirectory(one.run))
        expect(bytes.equals(readFileSync(join(one.directory, name))), `${one.name}/${name}`).toBe(true);
  });
});
