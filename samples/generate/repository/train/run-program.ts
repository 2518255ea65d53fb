/** Runs the program of a checked-out tree on one simulated rank: what it allocates, how long it takes, how it ends. */
import { ALLOCATOR_VARIANTS, type AllocatorVariant } from '../../../../src/allocator/variants.js';
import { MIB } from '../../../../src/model/units.js';
import type { DumpedState, IterationRecord, NamedParameter, RankEnding, TorchRelease } from '../../run.js';
import { createRandom, deriveSeed, type Random } from '../../simulate/random.js';
import { createRankProcess, RankOutOfMemory, type RankProcess } from '../../simulate/rank-process.js';
import { PythonSyntaxError } from '../language/syntax-error.js';
import { CallStack } from '../machine/call-stack.js';
import { costsOf } from '../machine/costs.js';
import { Interpreter } from '../machine/interpreter.js';
import { LIBRARY } from '../machine/library/index.js';
import { namedParameters } from '../machine/library/modules.js';
import { Machine, type Observer } from '../machine/machine.js';
import { PythonException } from '../machine/python-exception.js';
import { nodeOf, SLOW_NODE } from './cluster.js';
import type { LaunchOptions } from './launch-options.js';

export const SCRIPT = 'scripts/pretrain.py';
export const CORE = '3rdparty/Megatron-LM/';
const PACKAGE_ROOTS = ['src/', CORE];

/** From the launcher's start to the first allocation: imports, rendezvous, CUDA context. */
const LAUNCH_US = 21_000_000;
/** How long the device's memory takes to write to a file. */
const DUMP_US = 350_000;

/** Standard deviations of the time of a step, relative: between launches of one commit, and between steps of one launch. */
const NOISE = { launch: 0.003, step: 0.004 } as const;
/** How much slower a node is that is too hot. */
const THROTTLED = 1.12;
/** What the first step compiles and connects, µs. */
const FIRST_STEP_US = [2_100_000, 3_600_000] as const;
/** A barrier that nobody waits for hangs always; any other collective often. */
const HANG_PROBABILITY = 0.75;

export type Configuration = ReadonlyMap<string, string | number | boolean | null>;

/** A collective that was never waited for has hung. */
class Hang extends Error {}

export interface ProgramRun {
  readonly process: RankProcess;
  readonly startUs: number;
  /** Null: it failed before it had read its configuration. */
  readonly configuration: Configuration | null;
  readonly trainingStartUs: number | null;
  /** Without the operations per second, which follow from the plan. */
  readonly iterations: readonly Omit<IterationRecord, 'tokens' | 'teraflopsPerGpu'>[];
  readonly parameters: readonly NamedParameter[];
  readonly dump: DumpedState | null;
  readonly ending: RankEnding | { readonly kind: 'hung' };
  readonly isSlowNode: boolean;
  readonly node: string;
  /** Of the last step, on a device without noise and a node in good health. */
  readonly nominalStepUs: number | null;
}

export interface ProgramOptions {
  /** Default: as the options say. A device without limit shows what a program needs. */
  readonly totalBytes?: number;
  /** Default: the program's own. */
  readonly mostSteps?: number;
  /** Default: yes. */
  readonly records?: boolean;
}

/** Enough was seen. */
class Enough extends Error {}

export function runProgram(
  files: ReadonlyMap<string, string>,
  launch: LaunchOptions,
  options: ProgramOptions = {},
): ProgramRun {
  const stream = (purpose: string): Random =>
    createRandom(deriveSeed(purpose, launch.seed, launch.commit, launch.attempt));
  const timing = stream('timing');
  const startUs = launchTime(launch);
  const outside = outsideBytes(launch);
  const rank = createRankProcess({
    rank: 0,
    device: 0,
    totalBytes: options.totalBytes ?? launch.gpu.totalBytes,
    contextBytes: outside.contextBytes,
    startUs: startUs + LAUNCH_US,
    seed: deriveSeed('process', launch.seed, launch.commit, launch.attempt),
    variant: variantOf(launch.torch),
    records: options.records ?? true,
  });
  const stack = new CallStack(launch.mount);
  const node = nodeOf(files);
  const launchPace = (1 + NOISE.launch * gaussian(timing)) * (node === SLOW_NODE ? THROTTLED : 1);
  const hangStep = 3 + Math.floor(3 * stream('hang')());
  const hangs = stream('hangs')() < HANG_PROBABILITY;

  let configuration: Configuration | null = null;
  let trainingStartUs: number | null = null;
  let step: { readonly startUs: number; readonly nominalUs: number } | null = null;
  let dump: DumpedState | null = null;
  let nominalStepUs: number | null = null;
  const iterations: Omit<IterationRecord, 'tokens' | 'teraflopsPerGpu'>[] = [];
  let machine: Machine;
  const observer: Observer = {
    configured: (values) => {
      configuration = values;
    },
    worldSize: () => launch.ranks,
    processGroups: () => {
      rank.driver.setNonTorchBytes(outside.trainingBytes);
    },
    stepBegins: () => {
      trainingStartUs ??= rank.now();
      step = { startUs: rank.now(), nominalUs: machine.nominalUs };
      machine.pace = launchPace * (1 + NOISE.step * gaussian(timing));
      if (iterations.length === 0) {
        rank.pass(FIRST_STEP_US[0] + (FIRST_STEP_US[1] - FIRST_STEP_US[0]) * timing());
      }
    },
    stepEnds: () => {
      if (machine.collectsGarbage) machine.spend(machine.costs.collectGarbageUs);
      if (machine.abandoned.size > 0 && iterations.length + 1 >= hangStep) {
        const certain = [...machine.abandoned].some((key) => key.startsWith('barrier'));
        if (certain || hangs) throw new Hang();
      }
      machine.abandoned.clear();
      nominalStepUs = machine.nominalUs - step!.nominalUs;
      const memory = structuredClone(rank.allocator.statistics);
      iterations.push({ startUs: step!.startUs, endUs: rank.now(), memory });
      if (iterations.length === options.mostSteps) throw new Enough();
    },
    dump: () => {
      const { allocator, trace, annotations } = rank;
      dump = { segments: allocator.snapshot(), traceEntries: trace.length, annotations: annotations.length };
      rank.pass(DUMP_US);
    },
  };
  machine = new Machine(rank, stack, costsOf(launch.gpu), observer, files);
  const ending = guarded(stack, () => new Interpreter(machine, LIBRARY, PACKAGE_ROOTS).runScript(SCRIPT));
  return {
    process: rank,
    startUs,
    configuration,
    trainingStartUs,
    iterations,
    // As the data-parallel wrapper names them: without the name it has for what it wraps.
    parameters: namedParameters(machine.model).map(({ name, tensor }) => ({
      name: name.replace(/^module\./, ''),
      elements: tensor.elements,
    })),
    dump,
    ending,
    isSlowNode: node === SLOW_NODE,
    node,
    nominalStepUs,
  };
}

function guarded(stack: CallStack, body: () => void): ProgramRun['ending'] {
  try {
    body();
    return { kind: 'completed' };
  } catch (error) {
    if (error instanceof Enough) return { kind: 'completed' };
    if (error instanceof Hang) return { kind: 'hung' };
    if (error instanceof RankOutOfMemory) {
      return { kind: 'oom', report: error.report, path: stack.traceback(), otherProcesses: [] };
    }
    if (error instanceof PythonException) return { kind: 'raised', exception: error.exception, path: error.path };
    if (error instanceof PythonSyntaxError) {
      return { kind: 'raised', exception: error.describe(stack.pathOf('')), path: stack.traceback() };
    }
    throw error;
  }
}

function variantOf(torch: TorchRelease): AllocatorVariant {
  if (torch === '2.12') return ALLOCATOR_VARIANTS['2.12'];
  return ALLOCATOR_VARIANTS[torch === '2.8' ? '2.7' : '2.1'];
}

/** When a torch release had become common, Unix seconds. */
const EPOCH: Readonly<Record<TorchRelease, number>> = {
  '2.0': 1_684_000_000,
  '2.3': 1_716_000_000,
  '2.6': 1_739_600_000,
  '2.8': 1_756_800_000,
  '2.12': 1_779_000_000,
};

/** Launches lie in the weeks after a release, in no order. */
function launchTime({ torch, seed, commit, attempt }: LaunchOptions): number {
  const random = createRandom(deriveSeed('launch', seed, commit, attempt));
  return (EPOCH[torch] + Math.floor(random() * 4_000_000)) * 1_000_000;
}

/** CUDA context, then NCCL's buffers: properties of the machine, the same in every launch. */
function outsideBytes({ seed, gpu }: LaunchOptions): { readonly contextBytes: number; readonly trainingBytes: number } {
  const random = createRandom(deriveSeed('outside', seed));
  const contextBytes = Math.round(440 + 160 * random()) * MIB;
  return {
    contextBytes,
    trainingBytes: contextBytes + Math.round((gpu.totalBytes * (0.006 + 0.006 * random())) / MIB) * MIB,
  };
}

/** Standard normal (Box and Muller). */
function gaussian(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
