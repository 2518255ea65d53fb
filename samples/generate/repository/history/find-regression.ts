/** Chooses what goes wrong in a repository: a shape of the run and a change that, measured on it, is what its kind promises. */
import type { RunPlan } from '../../run.js';
import { createRandom, deriveSeed, pick, type Random, shuffled } from '../../simulate/random.js';
import { GPUS, type LaunchOptions } from '../train/launch-options.js';
import { baseTree, type Shape, TENSOR_PARALLEL } from './base-tree.js';
import { endingOf, measure, type Needs } from './measure.js';
import { REGRESSIONS, type Regression, type RepositoryKind } from './regressions.js';
import { applyEdit, CONFIG_FILE, SUBMODULE, type Tree } from './tree.js';

export interface Choice {
  readonly launch: LaunchOptions;
  readonly tree: Tree;
  readonly regression: Regression;
  readonly before: Needs;
  readonly after: Needs;
}

const SHAPES: readonly Shape[] = [3, 4, 5].flatMap((layers) =>
  [
    [4096, 1],
    [8192, 1],
    [4096, 2],
    [8192, 2],
    [8192, 4],
  ].flatMap(([sequence, microBatch]) =>
    [1, 2].map((dataParallel) => ({ layers, sequence: sequence!, microBatch: microBatch!, dataParallel })),
  ),
);

/** Of the peak, for `memory`; of the step, for `throughput`. */
const GROWTH = { memory: [0.06, 0.125], throughput: [0.078, 0.125] } as const;
/** For `component`: at least so much of the component, at most so much of the total. */
const COMPONENT_GROWTH = 0.2;
const SAME_TOTAL = 0.01;
/** For `oom`: what the process takes of the device before. */
const FILLED = [0.84, 0.955] as const;

const TORCH = ['2.6', '2.8', '2.8', '2.12'] as const satisfies readonly RunPlan['torch'][];
const MOUNTS = ['/opt/Megatron-Bridge/', '/workspace/Megatron-Bridge/', '/lustre/users/nightly/Megatron-Bridge/'];

/** Where a change is made: repositories of successive seeds take turns. */
const PLACES = ['submodule', 'knob', 'superproject', 'deletion'] as const;
type Place = (typeof PLACES)[number];

/** Deterministic; throws where nothing fits, which is a mistake of the lists. */
export function findRegression(seed: number, kind: RepositoryKind): Choice {
  const random = createRandom(deriveSeed('repository', kind, seed));
  const common = {
    seed,
    torch: pick(random, TORCH),
    mount: pick(random, MOUNTS),
    memoryLines: pick(random, ['bridge', 'bridge', 'megatron'] as const),
    stragglers: pick(random, ['megatron', 'nvrx'] as const),
    commit: 'measured',
    attempt: 1,
  };
  const shapes = shuffled(random, SHAPES);
  const wanted = PLACES[((seed % PLACES.length) + PLACES.length) % PLACES.length]!;
  const ofKind = shuffled(
    random,
    REGRESSIONS.filter(({ kinds }) => kinds.includes(kind)),
  );
  const inTurn = [...ofKind].sort((a, b) => Number(placeOf(b) === wanted) - Number(placeOf(a) === wanted));
  for (const regression of inTurn) {
    for (const shape of shapes) {
      const choice = tryOut(random, kind, regression, shape, common);
      if (choice !== undefined) return choice;
    }
  }
  throw new Error(`no regression of kind ${kind} fits seed ${seed}`);
}

function placeOf(regression: Regression): Place {
  if (regression.form !== 'hunk') return regression.form;
  const tree = baseTree(createRandom(0), SHAPES[0]!, SOME_LAUNCH);
  return applyEdit(tree, regression.edits[0]).startsWith(SUBMODULE) ? 'submodule' : 'superproject';
}

const SOME_LAUNCH: LaunchOptions = {
  seed: 0,
  torch: '2.8',
  gpu: GPUS[0]!,
  ranks: TENSOR_PARALLEL,
  mount: '/',
  commit: '',
  attempt: 1,
  memoryLines: 'bridge',
  stragglers: 'megatron',
};

function tryOut(
  random: Random,
  kind: RepositoryKind,
  regression: Regression,
  shape: Shape,
  common: Omit<LaunchOptions, 'gpu' | 'ranks'>,
): Choice | undefined {
  const ranks = TENSOR_PARALLEL * shape.dataParallel;
  const drawn = pick(random, GPUS);
  const make = (gpu: LaunchOptions['gpu']): { launch: LaunchOptions; tree: Tree } => {
    const launch = { ...common, gpu, ranks };
    const tree = baseTree(createRandom(deriveSeed('base', common.seed)), shape, launch);
    for (const edit of regression.before ?? []) applyEdit(tree, edit);
    return { launch, tree };
  };
  const { launch, tree } = make(drawn);
  const before = measureOnce(tree, launch);
  const gpu = chooseGpu(random, kind, before.reservedBytes, drawn);
  if (gpu === undefined) return undefined;
  const changed = new Map(tree);
  for (const edit of regression.edits) applyEdit(changed, edit);
  if (changed.get(CONFIG_FILE) === tree.get(CONFIG_FILE) && regression.form === 'knob') return undefined;
  const own = make(gpu);
  const [first, second] =
    gpu === drawn
      ? [before, measure(changed, launch)]
      : [measureOnce(own.tree, own.launch), measure(changed, own.launch)];
  const fits = isAsPromised(kind, regression, first, second, () => endingOf(changed, own.launch));
  return fits ? { launch: own.launch, tree: own.tree, regression, before: first, after: second } : undefined;
}

/** Regressions that are tried out on the same program have the same figures before. */
const measured = new Map<string, Needs>();

function measureOnce(tree: Tree, launch: LaunchOptions): Needs {
  const key = `${launch.gpu.name} ${launch.ranks} ${tree.get(CONFIG_FILE)}`;
  let needs = measured.get(key);
  if (needs === undefined) {
    needs = measure(tree, launch);
    measured.set(key, needs);
  }
  return needs;
}

/** One that has room; for `oom` one that is nearly full. */
function chooseGpu(
  random: Random,
  kind: RepositoryKind,
  bytes: number,
  drawn: LaunchOptions['gpu'],
): LaunchOptions['gpu'] | undefined {
  const share = ({ totalBytes }: LaunchOptions['gpu']): number => bytes / totalBytes;
  if (kind === 'oom') {
    const full = GPUS.filter((gpu) => share(gpu) >= FILLED[0] && share(gpu) <= FILLED[1]);
    return full.length === 0 ? undefined : pick(random, full);
  }
  const roomy = GPUS.filter((gpu) => share(gpu) < 0.8);
  return share(drawn) < 0.8 ? drawn : roomy[0];
}

function isAsPromised(
  kind: RepositoryKind,
  { component }: Regression,
  before: Needs,
  after: Needs,
  ending: () => string,
): boolean {
  const memory = after.peakBytes / before.peakBytes - 1;
  const time = after.stepUs / before.stepUs - 1;
  switch (kind) {
    case 'oom':
      return ending() === 'oom';
    case 'memory':
      return memory >= GROWTH.memory[0] && memory <= GROWTH.memory[1];
    case 'throughput':
      return time >= GROWTH.throughput[0] && time <= GROWTH.throughput[1];
    case 'component': {
      const [from, to] = [before, after].map((needs) => needs.residentBytes.get(component!) ?? 0) as [number, number];
      return Math.abs(memory) <= SAME_TOTAL && to / from - 1 >= COMPONENT_GROWTH;
    }
  }
}
