/** The run of a whole job from that of its first rank: the others do the same on their parts of the model. */
import type {
  Attempt,
  DumpedSnapshot,
  GeneratedRun,
  IterationRecord,
  RankEnding,
  RunTruth,
  SimulatedRank,
  StoryLine,
} from '../../run.js';
import { trainingFlops } from '../../simulate/compute-time.js';
import { createRandom, deriveSeed, type Random } from '../../simulate/random.js';
import { type ConfigTree, isTree } from '../../write/config-tree.js';
import { runConfig } from '../../write/run-config.js';
import { runFacts } from '../../write/run-facts.js';
import type { LaunchOptions } from './launch-options.js';
import { planOf, tokensOf } from './plan-of.js';
import type { Configuration, ProgramRun } from './run-program.js';
import { stragglerLines, timeoutUs, watchdogLines } from './story-lines.js';

const NAME = 'repository';

/** `configuration`: what the program printed. */
export function generatedRun(launch: LaunchOptions, run: ProgramRun, configuration: Configuration): GeneratedRun {
  const plain = assemble(launch, run, configuration, null);
  return assemble(launch, run, configuration, flat(runConfig(runFacts(plain))));
}

/** What the writers say by themselves, in dotted keys. */
function flat(tree: ConfigTree, path = ''): Map<string, string | number | boolean | null> {
  const keys = new Map<string, string | number | boolean | null>();
  for (const [key, value] of Object.entries(tree)) {
    if (isTree(value)) for (const [inner, leaf] of flat(value, `${path}${key}.`)) keys.set(inner, leaf);
    else if (value === null || typeof value !== 'object') keys.set(path + key, value);
    else if ('python' in value) keys.set(path + key, Number(value['python']));
    else if (Array.isArray(value)) keys.set(path + key, `[${value.join(', ')}]`);
  }
  return keys;
}

function assemble(
  launch: LaunchOptions,
  run: ProgramRun,
  configuration: Configuration,
  base: Configuration | null,
): GeneratedRun {
  const plan = planOf(launch, configuration, run.startUs, base);
  const random = createRandom(deriveSeed('story', launch.seed, launch.commit, launch.attempt));
  const tokens = tokensOf(plan);
  const flops = (trainingFlops(plan, tokens.microBatch, plan.sequenceLength) * tokens.step) / tokens.microBatch;
  const iterations = run.iterations.map((record): IterationRecord => {
    const teraflopsPerGpu = flops / (record.endUs - record.startUs) / 1e6 / launch.ranks;
    return { ...record, tokens: tokens.step, teraflopsPerGpu };
  });
  const lines: StoryLine[] = stragglerLines(launch, random, iterations, run.node, run.isSlowNode);
  const ranks = Array.from({ length: launch.ranks }, (_, rank): SimulatedRank => {
    const { ending, endUs } = endOf(run, rank, launch.ranks, random, lines);
    const { process } = run;
    const { tensor, data } = plan.parallelism;
    return {
      rank,
      stage: 0,
      tensorRank: rank % tensor,
      dataRank: Math.floor(rank / tensor) % data,
      node: 0,
      device: rank,
      process: rank === 0 ? process : { ...process, rank, device: rank, trace: [], annotations: [] },
      parameterElements: run.parameters.reduce((sum, { elements }) => sum + elements, 0),
      parameters: run.parameters,
      trainingStartUs: run.trainingStartUs,
      iterations,
      ending,
      endUs,
    };
  });
  const attempt: Attempt = {
    plan,
    firstIteration: 0,
    ranks,
    checkpoints: [],
    storyLines: lines.toSorted((a, b) => a.timeUs - b.timeUs),
    endUs: Math.max(...ranks.map(({ endUs }) => endUs)),
  };
  return { causeName: NAME, seed: launch.seed, attempts: [attempt], snapshots: snapshotsOf(run), truth: truthOf(run) };
}

function snapshotsOf({ ending, dump }: ProgramRun): DumpedSnapshot[] {
  const periodic: DumpedSnapshot[] = dump === null ? [] : [{ attempt: 0, rank: 0, trigger: 'step', state: dump }];
  return ending.kind === 'oom' ? [...periodic, { attempt: 0, rank: 0, trigger: 'oom' }] : periodic;
}

/** The others fail as rank 0 does, a moment later; of a hung collective the one it waits for just stops. */
function endOf(
  { ending, process }: ProgramRun,
  rank: number,
  ranks: number,
  random: Random,
  lines: StoryLine[],
): { readonly ending: RankEnding; readonly endUs: number } {
  const nowUs = process.now();
  if (ending.kind !== 'hung') return { ending, endUs: nowUs + (ending.kind === 'completed' ? 0 : rank * 41_300) };
  const endUs = timeoutUs(nowUs) + rank * 700;
  if (rank === ranks - 1) return { ending: { kind: 'stopped' }, endUs: endUs + 4_000_000 };
  lines.push(...watchdogLines(random, rank, endUs - 1_200));
  return { ending: { kind: 'signalled', signal: 'SIGABRT' }, endUs };
}

function truthOf(run: ProgramRun): RunTruth {
  const { ending, process, iterations } = run;
  const durations = iterations.slice(2).map(({ startUs, endUs }) => endUs - startUs);
  const numbers: Record<string, number> = {
    peak_allocated_bytes: process.allocator.statistics.allocatedBytes.peak,
    peak_reserved_bytes: process.allocator.statistics.reservedBytes.peak,
    completed_steps: iterations.length,
    ...(run.nominalStepUs === null ? {} : { nominal_step_us: Math.round(run.nominalStepUs) }),
    ...(durations.length === 0 ? {} : { median_step_us: median(durations) }),
  };
  if (ending.kind === 'oom') {
    return {
      cause: 'capacity',
      detail: null,
      isOom: true,
      firstFailingRank: 0,
      because: 'The program asked for more than the device has.',
      numbers,
    };
  }
  const because = {
    completed: 'All ranks completed all steps.',
    stopped: 'All ranks were stopped.',
    raised: 'The program raised an exception.',
    signalled: 'The ranks were ended from outside.',
    hung: 'A collective was never waited for; the watchdogs ended the ranks after the timeout.',
  }[ending.kind];
  return {
    cause: 'not_oom',
    detail: null,
    isOom: false,
    firstFailingRank: ending.kind === 'completed' ? null : 0,
    because,
    numbers,
  };
}

export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
