/**
 * What the files of one run agree on and the simulation leaves open: names, ids, versions, how the job was launched.
 * All of it follows from the seed.
 */
import type { Attempt, GeneratedRun, RunPlan, SimulatedRank, TorchRelease } from '../run.js';
import { chance, createRandom, deriveSeed, pick, type Random, wholeBetween } from '../simulate/random.js';

/**
 * What the framework of that time prints differently. Megatron-LM dates its changes by commit, Bridge by release; torch
 * dates the run.
 */
export interface FrameworkForm {
  /** Megatron-LM from 2026-01-27: fractions in the iteration line and behind `datetime:`. */
  readonly fractionalSeconds: boolean;
  /** Megatron-LM from 2026-01-21: two decimals in the memory line. */
  readonly roundedMemory: boolean;
  /**
   * Megatron-LM from 2025-08-26: the activation formula without sequence parallelism. Before, only weights were
   * estimated then.
   */
  readonly activationWithoutSp: boolean;
  /** Megatron-LM from 2026-05-14: the norms, which every tensor-parallel rank holds, are estimated whole. */
  readonly wholeNorms: boolean;
  /** 2026: lines on active parameters. */
  readonly activeParameters: boolean;
  /** Megatron-LM from 2026-07-25: three coordinates in the parameter line. */
  readonly threeCoordinates: boolean;
  /**
   * What is in the brackets of a bucket's line: elements; then the padded size too; in 2026 the extra gradients
   * too.
   */
  readonly bucketDetails: 0 | 1 | 2;
  /** Megatron Bridge 0.6: a summary of non-default values instead of the whole configuration; `env_vars` in it. */
  readonly configurationSummary: boolean;
}

export interface RunFacts {
  readonly run: GeneratedRun;
  /** The last attempt's: what was launched last is what the configuration files show. A log has its own attempt's. */
  readonly plan: RunPlan;
  readonly form: FrameworkForm;
  /**
   * `torchrun`: one launcher a node, which prefixes every line. `srun`: one task a rank, numbered by `srun --label`.
   */
  readonly launcher: 'torchrun' | 'srun';
  readonly filePerNode: boolean;
  readonly attemptsInOneFile: boolean;
  readonly nodes: number;
  readonly account: string;
  /** Of the first attempt; see {@link jobOf}. */
  readonly jobId: number;
  readonly scriptPath: string;
  readonly python: string;
  /** Where the run writes memory snapshots, before rank and extension are worked in. */
  readonly snapshotPath: string;
  readonly checkpointDirectory: string;
  /** 1 in a minority of Megatron-LM runs: a timers block after every iteration. */
  readonly timingLogLevel: 0 | 1;
  readonly logThroughput: boolean;
  /** The container has pids of its own, so torch cannot determine which of NVML's processes it is. */
  readonly ownPidHidden: boolean;
  /** How much of a traceback reaches the file in one piece: a line, a pipe's page or all of it. */
  readonly linesPerWrite: number;
  readonly isFinetuning: boolean;
  host(node: number): string;
  pid(attempt: number, rank: number): number;
  /** Of torchrun on a node. */
  launcherPid(attempt: number, node: number): number;
  /** A stream of its own for every purpose, so that one file's choices do not move another's. */
  random(purpose: string): Random;
}

const FORMS: Readonly<Record<TorchRelease, FrameworkForm>> = {
  '2.0': form({}),
  '2.3': form({}),
  '2.6': form({}),
  '2.8': form({ activationWithoutSp: true, bucketDetails: 1 }),
  '2.12': form({
    fractionalSeconds: true,
    roundedMemory: true,
    activationWithoutSp: true,
    wholeNorms: true,
    activeParameters: true,
    bucketDetails: 2,
    configurationSummary: true,
  }),
};

function form(changes: Partial<FrameworkForm>): FrameworkForm {
  return {
    fractionalSeconds: false,
    roundedMemory: false,
    activationWithoutSp: false,
    wholeNorms: false,
    activeParameters: false,
    threeCoordinates: false,
    bucketDetails: 0,
    configurationSummary: false,
    ...changes,
  };
}

export function runFacts(run: GeneratedRun): RunFacts {
  const plan = run.attempts.at(-1)!.plan;
  const stream = (purpose: string): Random => createRandom(deriveSeed(run.causeName, run.seed, 'write', purpose));
  const random = stream('facts');
  const nodes = Math.max(...run.attempts.flatMap(({ ranks }) => ranks.map(({ node }) => node))) + 1;
  const launcher = chance(random, 0.65) ? 'torchrun' : 'srun';
  const perNode = chance(random, 0.4);
  const attemptsInOneFile = chance(random, 0.4);
  const account = pick(random, ['nlp', 'coreai_dlalgo', 'p2051', 'llm-research', 'foundation']);
  const jobId = wholeBetween(random, 41_000, 9_200_000);
  const firstHost = wholeBetween(random, 3, 180);
  const hostStyle = pick(random, ['dgx', 'node', 'gpu']);
  const basePid = wholeBetween(random, 900, 380_000);
  const newestParameterLine = chance(random, 0.4);
  const bridge = plan.framework === 'megatron-bridge';
  const gpu = /\b([A-Z]{1,2}\d{2,3})\b/.exec(plan.gpu.name)?.[1]?.toLowerCase() ?? 'gpu';
  const scriptPath = scriptOf(run.attempts) ?? defaultScript(plan);
  return {
    run,
    plan,
    form: { ...FORMS[plan.torch], threeCoordinates: plan.torch === '2.12' && newestParameterLine },
    launcher,
    filePerNode: launcher === 'torchrun' && nodes > 1 && perNode,
    attemptsInOneFile,
    nodes,
    account,
    jobId,
    scriptPath,
    python: '/opt/venv/bin/python',
    snapshotPath: bridge ? '/nemo_run/snapshots/snapshot.pickle' : 'snapshot.pickle',
    checkpointDirectory: `${bridge ? '/nemo_run' : '/workspace'}/checkpoints/${plan.name}`,
    timingLogLevel: !bridge && chance(random, 0.4) ? 1 : 0,
    logThroughput: chance(random, 0.75),
    ownPidHidden: chance(random, 0.1),
    linesPerWrite: pick(random, [1, 16, 16, Number.POSITIVE_INFINITY]),
    isFinetuning: /finetune|sft/i.test(scriptPath),
    host: (node) => `${gpu}-${hostStyle}-${String(firstHost + node).padStart(3, '0')}`,
    pid: (attempt, rank) => basePid + attempt * 4096 + 17 + rank,
    launcherPid: (attempt, node) => basePid + attempt * 4096 + node,
    random: stream,
  };
}

/** The file that the outermost frame of any recorded or printed stack names. */
function scriptOf(attempts: readonly Attempt[]): string | undefined {
  const outermost = (ranks: readonly SimulatedRank[]): string | undefined => {
    for (const { process, ending } of ranks) {
      const paths = 'path' in ending ? [ending.path] : [];
      for (const entry of process.trace) {
        if (entry.stack !== null) {
          paths.push(entry.stack.frames);
          break;
        }
      }
      for (const path of paths) {
        const frame = path.at(-1);
        if (frame?.name === '<module>') return frame.filename;
      }
    }
    return undefined;
  };
  for (const { ranks } of attempts.toReversed()) {
    const found = outermost(ranks);
    if (found !== undefined) return found;
  }
  return undefined;
}

function defaultScript(plan: RunPlan): string {
  if (plan.framework === 'megatron-lm') return '/workspace/Megatron-LM/pretrain_gpt.py';
  return `/nemo_run/code/pretrain_${plan.model.name.replaceAll(/[-.]/g, '_')}.py`;
}

/**
 * Slurm's job of an attempt: nemo-run and a requeue restart within the job, otherwise a restart is a job of its own.
 */
export function jobOf({ plan, jobId, attemptsInOneFile }: RunFacts, attempt: number): number {
  return jobId + (plan.framework === 'megatron-bridge' || attemptsInOneFile ? 0 : attempt * 12);
}

export function worldSize(plan: RunPlan): number {
  const { tensor, pipeline, data } = plan.parallelism;
  return tensor * pipeline * data;
}

export function microBatches(plan: RunPlan): number {
  return plan.globalBatchSize / (plan.microBatchSize * plan.parallelism.data);
}

/** The largest of Megatron's usual values that leaves the vocabulary as it is, so that nothing is padded. */
export function vocabularyDivisor(plan: RunPlan): number {
  let divisor = 128;
  while (divisor > 1 && plan.model.vocabulary % (divisor * plan.parallelism.tensor) !== 0) divisor /= 2;
  return divisor;
}

/** Iterations that every rank completed: what a log can show, since the timers wait for all ranks. */
export function completedIterations(attempt: Attempt): number {
  return Math.min(...attempt.ranks.map(({ iterations }) => iterations.length));
}

/** 1-based, counting on from the checkpoint: the iteration in which a rank ended. */
export function lastIteration(attempt: Attempt, rank: SimulatedRank): number {
  return attempt.firstIteration + rank.iterations.length + 1;
}
