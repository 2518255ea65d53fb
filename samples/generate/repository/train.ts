/**
 * Runs what a table of behaviours says: the simulated training with requests changed on their way, and the files that
 * one launch leaves.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MIB } from '../../../src/model/units.js';
import { StepDumps } from '../causes/healthy.js';
import { hungCollective } from '../causes/not-an-oom.js';
import { fixedPattern, tokensOf } from '../causes/workload.js';
import type { Attempt, DumpedSnapshot, GeneratedRun, RunPlan } from '../run.js';
import type { CallPath, CodeLine } from '../simulate/code-line.js';
import type { IterationPoint } from '../simulate/hooks.js';
import { createRandom, deriveSeed, type Random } from '../simulate/random.js';
import { type RankContext, type RankHooks, worldSize } from '../simulate/rank-context.js';
import { type RankProcess, RankRaised, type Tensor } from '../simulate/rank-process.js';
import { simulateAttempt } from '../simulate/simulate-attempt.js';
import { clock } from '../write/python-text.js';
import { LAUNCH_NAME, runDirectory } from '../write/run-directory.js';
import { runFacts } from '../write/run-facts.js';
import type { Setting } from './facts.js';
import { type Behaviours, idOf, type Launch, SLOW_NODE, type Table } from './table.js';

const STEPS = 12;
/** More than any run needs. */
const UNLIMITED_BYTES = 2 ** 43;
/** The snapshot is dumped after the third step. */
const DUMP_STEP = 2;
/**
 * Standard deviations of the time of a step, relative: between launches of one commit, and between steps of one launch.
 */
const NOISE = { launch: 0.003, step: 0.004 } as const;
const THROTTLED = 1.12;
/** The end of a step that the simulation adds by itself, µs. */
const STEP_END_US = 200_000;
/** When a torch release had become common, Unix seconds. */
const EPOCH = { '2.6': 1_739_600_000, '2.8': 1_756_800_000, '2.12': 1_779_000_000 } as const;

export function planOf(launch: Launch, settings: Readonly<Record<string, Setting>>, startUs: number): RunPlan {
  const { num_layers, seq_length, tensor_model_parallel_size, recompute_granularity, ...model } = sectionOf(
    settings,
    'model',
  );
  const { micro_batch_size, global_batch_size, train_iters, exit_interval: _, ...train } = sectionOf(settings, 'train');
  const rest = Object.entries(settings).filter(([key]) => !/^(?:model|train|profiling)\./.test(key));
  const under = (section: string, keys: Readonly<Record<string, Setting>>) =>
    Object.entries(keys).map(([key, value]) => [`${section}.${key}`, value] as const);
  return {
    name: `llama3-8b-nightly-tp${tensor_model_parallel_size}`,
    seed: launch.seed,
    framework: 'megatron-bridge',
    torch: launch.torch,
    model: {
      name: 'llama3-8b',
      layers: Number(num_layers),
      hidden: 4096,
      feedForward: 14_336,
      heads: 32,
      queryGroups: 8,
      vocabulary: Number(model['vocab_size']),
    },
    parallelism: {
      tensor: Number(tensor_model_parallel_size),
      pipeline: 1,
      virtualPipeline: null,
      data: launch.dataParallel,
      sequenceParallel: model['sequence_parallel'] === true,
    },
    recompute:
      recompute_granularity === 'full' || recompute_granularity === 'selective' ? recompute_granularity : 'none',
    gpu: launch.gpu,
    sequenceLength: Number(seq_length),
    microBatchSize: Number(micro_batch_size),
    globalBatchSize: Number(global_batch_size),
    trainIterations: Number(train_iters),
    saveInterval: null,
    environment: {},
    memoryFraction: null,
    profiledRanks: [0],
    configuration: Object.fromEntries([...under('model', model), ...under('train', train), ...rest]),
    startUs,
  };
}

function sectionOf(settings: Readonly<Record<string, Setting>>, section: string): Record<string, Setting> {
  const own = Object.entries(settings).filter(([key]) => key.startsWith(`${section}.`));
  return Object.fromEntries(own.map(([key, value]) => [key.slice(section.length + 1), value]));
}

/** Changes the requests of a process, and the lines they come from, to those of the commit. */
class Requests {
  private readonly lines = new Map<string, CodeLine>();
  private readonly beside = new Map<Tensor, Tensor[]>();
  private readonly behaviours: Behaviours;
  private readonly mount: string;

  constructor(behaviours: Behaviours, mount: string) {
    this.behaviours = behaviours;
    this.mount = mount;
  }

  around(process: RankProcess): RankProcess {
    return {
      ...process,
      malloc: (bytes, path, stream) => this.malloc(process, bytes, path, stream),
      free: (tensor) => {
        const { effects } = this.behaviours;
        if (effects.some(({ kept, site }) => kept === true && isAt(tensor.stack?.frames[0], site!))) return;
        for (const other of [tensor, ...(this.beside.get(tensor) ?? [])]) process.free(other);
        this.beside.delete(tensor);
      },
    };
  }

  private malloc(process: RankProcess, bytes: number, path: CallPath, stream: number | undefined): Tensor {
    const { effects, trouble } = this.behaviours;
    if (trouble?.raises !== undefined) {
      const at = path.findIndex((line) => line.source.includes(trouble.above!));
      throw new RankRaised(trouble.raises, this.pathOf([this.lineOf(trouble.subject), ...path.slice(at + 1)]));
    }
    const own = effects.filter(({ site }) => site !== undefined && isAt(path[0], site, path));
    const size = own.reduce((product, { scale = 1 }) => product * scale, bytes);
    const tensor = process.malloc(Math.ceil(size), this.pathOf(path), stream);
    for (const { site, in: inside = site!, grow, stays, line } of own) {
      if (grow === undefined) continue;
      const at = path.findIndex(({ source }) => source.includes(inside));
      if (at < 0) continue;
      const from = line === undefined ? path.slice(at) : [this.lineOf(line), ...path.slice(at + 1)];
      const other = process.malloc(Math.ceil(bytes * grow), this.pathOf(from), stream);
      if (stays !== true) this.beside.set(tensor, [...(this.beside.get(tensor) ?? []), other]);
    }
    return tensor;
  }

  pathOf(path: CallPath): CallPath {
    return path.map((line) => {
      const id = idOf(line);
      return id in this.behaviours.places ? this.lineOf(id) : line;
    });
  }

  private lineOf(id: string): CodeLine {
    let found = this.lines.get(id);
    if (found === undefined) {
      const { path, line, name, text } = this.behaviours.places[id]!;
      found = { name, filename: this.mount + path, line, source: text };
      this.lines.set(id, found);
    }
    return found;
  }
}

/**
 * Whether a tensor is made there: its own line, or, of those that a framework's function makes, the first of the
 * repository.
 */
function isAt(line: CodeLine | undefined, site: string, path: CallPath = []): boolean {
  return line?.source.includes(site) === true || path.slice(1, 4).some(({ source }) => source.includes(site));
}

export interface Trained {
  readonly ending: 'completed' | 'oom' | 'failed';
  /** Of rank 0. */
  readonly peakBytes: number;
  /** What its process takes of the device. */
  readonly processBytes: number;
  readonly steps: number;
  /** Of the steps after the second; null with fewer. */
  readonly medianStepUs: number | null;
  /** Live bytes after the last step, by the line that made them. */
  liveBytes(site: string): number;
}

interface Simulated {
  readonly attempt: Attempt;
  readonly snapshots: readonly DumpedSnapshot[];
}

/** `measuredOn`: one rank on a device of so many bytes, and nothing recorded. */
function simulate(
  launch: Launch,
  behaviours: Behaviours,
  commit: string,
  attempt: number,
  measuredOn: number | null,
): Simulated {
  const stream = (purpose: string): Random => createRandom(deriveSeed(purpose, launch.seed, commit, attempt));
  const startUs = (EPOCH[launch.torch] + Math.floor(stream('launch')() * 4_000_000)) * 1_000_000;
  const plan = planOf(launch, behaviours.settings, startUs);
  const outside = createRandom(deriveSeed('outside', launch.seed));
  const contextBytes = Math.round(440 + 160 * outside()) * MIB;
  const trainingBytes = contextBytes + Math.round((launch.gpu.totalBytes * (0.006 + 0.006 * outside())) / MIB) * MIB;
  const dumps = new StepDumps(DUMP_STEP);
  const { hangs = 0 } = behaviours.trouble ?? {};
  const hung =
    stream('hangs')() < hangs ? hungCollective(stream('hang'), plan, 3 + Math.floor(3 * stream('step')())) : {};
  const timing = timingHooks(launch, behaviours, stream);
  const made = simulateAttempt({
    plan,
    firstIteration: 0,
    workload: tokensOf(plan, fixedPattern(plan, measuredOn === UNLIMITED_BYTES ? 2 : STEPS)),
    conditions: () => ({ outside: { contextBytes, builtBytes: contextBytes, trainingBytes }, otherProcesses: [] }),
    around: (process) => new Requests(behaviours, launch.mount).around(process),
    hooks: {
      ...timing,
      beforeOptimizer: (rank, at) => {
        hung.beforeOptimizer?.(rank, at);
        timing.beforeOptimizer(rank, at);
      },
      afterIteration: (rank, at) => {
        timing.afterIteration(rank, at);
        dumps.hook(rank, at);
      },
    },
    ...(measuredOn === null ? {} : { ranks: [0], deviceBytes: measuredOn, records: () => false }),
  });
  const requests = new Requests(behaviours, launch.mount);
  const ranks = made.ranks.map((rank) =>
    'path' in rank.ending ? { ...rank, ending: { ...rank.ending, path: requests.pathOf(rank.ending.path) } } : rank,
  );
  const first = ranks.find(({ ending }) => ending.kind === 'oom');
  const onFailure: DumpedSnapshot[] = first?.rank === 0 ? [{ attempt: 0, rank: 0, trigger: 'oom' }] : [];
  const simulated = { ...made, ranks };
  return { attempt: simulated, snapshots: [...dumps.snapshots([simulated]), ...onFailure] };
}

/** The time of a step as the code, the device and chance make it; and what the detector says of it. */
function timingHooks(launch: Launch, { effects, node }: Behaviours, stream: (purpose: string) => Random) {
  const slower = effects.reduce((sum, effect) => sum + (effect.slower ?? 0), 0);
  const isSlow = node === SLOW_NODE;
  const pace = (1 + slower) * (1 + NOISE.launch * gaussian(stream('timing'))) * (isSlow ? THROTTLED : 1);
  const began = new Map<RankContext, number>();
  const lines = createRandom(deriveSeed('lines', launch.seed, node, pace));
  return {
    beforeIteration: (rank) => {
      began.set(rank, rank.process.now());
    },
    beforeOptimizer: (rank: RankContext, { step }: IterationPoint) => {
      const step_ = pace * (1 + NOISE.step * gaussian(stream(`step ${step}`)));
      const usual = rank.process.now() - began.get(rank)! + STEP_END_US;
      rank.process.pass(Math.max(0, usual * step_ - (usual - STEP_END_US)));
    },
    afterIteration: (rank: RankContext, { step }: IterationPoint) => {
      const slowest = worldSize(rank.plan) - 1;
      const teller = launch.stragglers === 'megatron' ? slowest : 0;
      if (rank.position.rank !== teller || step === 0) return;
      const us = rank.process.now() - began.get(rank)!;
      if (launch.stragglers === 'megatron') rank.addLine(coreLine(rank.process.now(), us, slowest, isSlow, lines));
      else if (step === STEPS - 1) for (const line of extensionLines(slowest, node, isSlow, lines)) rank.addLine(line);
    },
  } satisfies RankHooks;
}

/** How much longer than the others a rank takes that is healthy. */
const USUAL_SPREAD = 0.012;
const THROTTLED_SPREAD = 0.13;

function coreLine(nowUs: number, us: number, slowest: number, isSlow: boolean, random: Random): string {
  const most = us / 1000;
  const least = most / (1 + (isSlow ? THROTTLED_SPREAD : USUAL_SPREAD) * (0.8 + 0.4 * random()));
  return [
    `[${clock(nowUs)}] | MnRtt/Rnk: ${least.toFixed(2)}ms/0`,
    `MxRtt/Rnk: ${most.toFixed(2)}ms/${slowest}`,
    `MnPwr/Rnk: ${isSlow ? 388 : 671}000W/${slowest}`,
    'MxPwr/Rnk: 688000W/0',
    'MnTmp/Rnk: 51C/0',
    `MxTmp/Rnk: ${isSlow ? 91 : 58}C/${slowest}`,
    `MnClk/Rnk: ${isSlow ? 1395 : 1965}MHz/${slowest}`,
    'MxClk/Rnk: 1980MHz/0',
    `MnEtpt/Rnk: ${(4e5 / most).toFixed(2)}TF/${slowest}`,
    `MxEtpt/Rnk: ${(4e5 / least).toFixed(2)}TF/0`,
  ].join(' | ');
}

function extensionLines(slowest: number, node: string, isSlow: boolean, random: Random): string[] {
  const worst = isSlow ? 1 / (1 + THROTTLED_SPREAD) : 1 - USUAL_SPREAD * random();
  return [
    'GPU relative performance:',
    ` Worst performing 1/${slowest + 1} ranks:`,
    `  Rank=${slowest} Node=${node} Score=${worst.toFixed(2)}`,
    ` Best performing 1/${slowest + 1} ranks:`,
    `  Rank=0 Node=${node} Score=1.00`,
    ...(isSlow
      ? [`STRAGGLER DETECTION WARNING: Some GPUs have worse relative performance. Affected ranks: {${slowest}}`]
      : []),
  ];
}

/** Standard normal (Box and Muller). */
function gaussian(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** What one rank needs in two steps, or how all steps end on a device of so many bytes. */
export function measure(launch: Launch, behaviours: Behaviours, bytes = UNLIMITED_BYTES): Trained {
  return trained(simulate(launch, behaviours, 'measured', 1, bytes).attempt);
}

/** The files of one launch by name, and what is true of it whatever they say. */
function train(launch: Launch, behaviours: Behaviours, commit: string, attempt: number) {
  const simulated = simulate(launch, behaviours, commit, attempt, null);
  const { ranks } = simulated.attempt;
  const made = trained(simulated.attempt);
  const run: GeneratedRun = {
    causeName: 'repository',
    seed: launch.seed,
    attempts: [simulated.attempt],
    snapshots: simulated.snapshots,
    truth: {
      cause: made.ending === 'oom' ? 'capacity' : 'not_oom',
      detail: null,
      isOom: made.ending === 'oom',
      firstFailingRank:
        made.ending === 'completed' ? null : (ranks.find(({ ending }) => ending.kind !== 'stopped')?.rank ?? 0),
      because: `As the table of its commit says: ${made.ending === 'oom' ? 'the device is too small' : made.ending}.`,
      numbers: { peak_allocated_bytes: made.peakBytes, completed_steps: made.steps },
    },
  };
  // Every launch is a job of its own on the node it got; the writers know one job a seed.
  const { jobId, host } = runFacts(run);
  const job = 2_000_000 + Math.floor(createRandom(deriveSeed('job', launch.seed, commit, attempt))() * 6_000_000);
  const jobNumber = new RegExp(`(?<=[-_=]|STEP )${jobId}(?=[_.])`, 'g');
  const rewrite = (text: string): string => text.replace(jobNumber, String(job)).replaceAll(host(0), behaviours.node);
  const isBroken = behaviours.trouble?.raises !== undefined;
  const files = new Map<string, Buffer>();
  for (const [name, bytes] of runDirectory(run)) {
    // The repository has a launch script of its own, and what does not start leaves nothing but its log.
    if (name === LAUNCH_NAME || (isBroken && !/\.(?:out|log)$/.test(name))) continue;
    files.set(rewrite(name), /\.(?:out|log|json)$/.test(name) ? Buffer.from(rewrite(bytes.toString())) : bytes);
  }
  return { files, trained: made };
}

export function writeRun({ launch, commits }: Table, sha: string, attempt: number, output: string): Trained {
  const { files, trained } = train(launch, commits[sha]!, sha, attempt);
  mkdirSync(output, { recursive: true });
  for (const [name, bytes] of files) writeFileSync(join(output, name), bytes);
  return trained;
}

function trained({ ranks }: Attempt): Trained {
  const [{ process, iterations }] = ranks as [Attempt['ranks'][number]];
  const kinds = ranks.map(({ ending }) => ending.kind);
  const times = iterations
    .slice(2)
    .map(({ startUs, endUs }) => endUs - startUs)
    .sort((a, b) => a - b);
  return {
    ending: kinds.includes('oom') ? 'oom' : kinds.every((kind) => kind === 'completed') ? 'completed' : 'failed',
    peakBytes: process.allocator.statistics.allocatedBytes.peak,
    processBytes: process.driver.memory().processBytes,
    steps: iterations.length,
    medianStepUs: times[times.length >> 1] ?? null,
    liveBytes: (site) => {
      const blocks = process.allocator.snapshot().flatMap((segment) => segment.blocks);
      const own = blocks.filter(
        ({ state, stack }) => state !== 'inactive' && stack?.frames.some(({ source }) => source.includes(site)),
      );
      return own.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    },
  };
}
