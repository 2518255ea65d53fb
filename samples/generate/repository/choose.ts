/**
 * Chooses what goes wrong in a repository: a shape of the run and a change that, measured on it, is what its kind
 * promises.
 */
import type { Gpu, RunPlan } from '../run.js';
import { createCallSites } from '../simulate/call-sites/index.js';
import { createRandom, deriveSeed, pick, type Random, shuffled } from '../simulate/random.js';
import { behavioursOf, CLUSTER_FILE } from './behaviours.js';
import { FACTS, type Regression, type RepositoryKind } from './facts.js';
import { apply, CORE, type Project, partOf, settingsFiles, sourceFiles } from './project.js';
import { type Launch, NODES } from './table.js';
import { measure, planOf } from './train.js';

export interface Choice {
  readonly launch: Launch;
  readonly project: Project;
  readonly regression: Regression;
  /** Peak before and after. */
  readonly peakBytes: readonly [number, number];
}

const GPUS: readonly Gpu[] = [
  { name: 'NVIDIA A16', totalBytes: 15_655_829_504, perNode: 4 },
  { name: 'NVIDIA A10G', totalBytes: 23_609_475_072, perNode: 4 },
  { name: 'NVIDIA L40S', totalBytes: 47_697_362_944, perNode: 8 },
  { name: 'NVIDIA A100-SXM4-40GB', totalBytes: 42_298_834_944, perNode: 8 },
  { name: 'NVIDIA A100-SXM4-80GB', totalBytes: 84_987_740_160, perNode: 8 },
  { name: 'NVIDIA H100 80GB HBM3', totalBytes: 84_942_979_072, perNode: 8 },
];

interface Shape {
  readonly layers: number;
  readonly sequence: number;
  readonly microBatch: number;
  readonly dataParallel: number;
}

const SHAPES: readonly Shape[] = [2, 3, 4, 5, 6, 8].flatMap((layers) =>
  [4096, 8192].flatMap((sequence) =>
    [1, 2, 4].flatMap((microBatch) => [1, 2].map((dataParallel) => ({ layers, sequence, microBatch, dataParallel }))),
  ),
);
/** Micro-batches of a rank in one step: what a trace of few entries has space for. */
const MICRO_BATCHES = 2;

/** Of the peak, for `memory`. */
const GROWTH = [0.06, 0.125] as const;
/** For `component`: at least so much of the component, at most so much of the total. */
const COMPONENT_GROWTH = 0.2;
const SAME_TOTAL = 0.01;
/** For `oom`: what the process takes of the device before. */
const FILLED = [0.84, 0.965] as const;
const COMPONENT_SITES = { optimizer_state: '"exp_avg', gradient: 'self.grad_data = ' } as const;

/** The first commit, which holds the settings that the regression changes. */
function firstProject(
  random: Random,
  { layers, sequence, microBatch, dataParallel }: Shape,
  given: Regression['given'],
): Project {
  const settings = settingsFiles({
    'model.num_layers': layers,
    'model.seq_length': sequence,
    'train.micro_batch_size': microBatch,
    'train.global_batch_size': microBatch * dataParallel * MICRO_BATCHES,
  });
  if (given !== undefined) apply(settings, { set: given }, 'given');
  return new Map([
    ...SOURCES,
    ...settings,
    ['README.md', [partOf('# Nightly\n\nTrains a small Llama 3 every night and compares its memory and speed.')]],
    ['docs/performance-guide.md', [partOf('# Performance\n\n* Overlap settings first.')]],
    ['tests/unit_tests/test_losses.py', [partOf('"""Tests of losses."""')]],
    [CLUSTER_FILE, [partOf(`# Where the nightly run goes.\nPARTITION=nightly\nNODELIST=${pick(random, NODES)}`)]],
    ['.gitmodules', [partOf(`[submodule "Megatron-LM"]\n\tpath = ${CORE.slice(0, -1)}\n\turl = ../Megatron-LM.git`)]],
    ['launch.sh', [partOf(LAUNCH_SCRIPT)]],
  ]);
}

const LAUNCH_SCRIPT = `#!/bin/bash
# Trains on one node for a few steps. TRAINER: the script in place of torchrun.
# What commits do is in a table next to the checkout.
set -euo pipefail
cd "$(dirname "$0")"
git -c protocol.file.allow=always submodule update --init --quiet
common=$(git rev-parse --path-format=absolute --git-common-dir)
exec node "$TRAINER" --table "$common/../../behaviours.json" --output "\${MBF_OUTPUT_DIR:-out}" \\
  --attempt "\${MBF_ATTEMPT:-1}" --commit "$(git rev-parse HEAD)"`;

/** Lines of runs with every kind of recomputation: settings change it. */
const SOURCES: Project = sourceFiles(
  (['none', 'selective', 'full'] as const).map((recompute) =>
    Object.values(createCallSites({ ...somePlan(), recompute })),
  ),
);

function somePlan(): RunPlan {
  const launch = { seed: 0, torch: '2.8', gpu: GPUS[0]!, dataParallel: 1, mount: '/', stragglers: 'nvrx' } as const;
  return planOf(launch, { 'model.sequence_parallel': true, 'model.tensor_model_parallel_size': 2 }, 0);
}

/** Deterministic; throws where nothing fits, which is a mistake of the table. `only`: this regression. */
export function choose(seed: number, kind: RepositoryKind, only?: string): Choice {
  const random = createRandom(deriveSeed('repository', kind, seed));
  const common = {
    seed,
    torch: pick(random, ['2.6', '2.8', '2.8', '2.12'] as const),
    mount: pick(random, ['/opt/Megatron-Bridge/', '/workspace/Megatron-Bridge/', '/lustre/nightly/Megatron-Bridge/']),
    stragglers: pick(random, ['megatron', 'nvrx'] as const),
  };
  const shapes = shuffled(random, SHAPES);
  const ofKind = FACTS.regressions.filter(({ kinds, name }) => kinds.includes(kind) && (only ?? name) === name);
  for (const regression of shuffled(random, ofKind)) {
    for (const shape of shapes) {
      const project = firstProject(createRandom(deriveSeed('base', seed)), shape, regression.given);
      const changed: Project = new Map(project);
      apply(changed, regression, regression.name);
      const found = fitting(
        random,
        kind,
        regression,
        { ...common, dataParallel: shape.dataParallel },
        project,
        changed,
      );
      if (found !== undefined) return found;
    }
  }
  throw new Error(`no regression of kind ${kind} fits seed ${seed}`);
}

function fitting(
  random: Random,
  kind: RepositoryKind,
  regression: Regression,
  common: Omit<Launch, 'gpu'>,
  project: Project,
  changed: Project,
): Choice | undefined {
  const [now, then] = [behavioursOf(project), behavioursOf(changed)];
  const rough = measure({ ...common, gpu: GPUS[0]! }, now).processBytes;
  const [least, most] = kind === 'oom' ? FILLED : [0, 0.8];
  for (const gpu of shuffled(random, GPUS)) {
    if (rough / gpu.totalBytes < least - 0.05 || rough / gpu.totalBytes > most + 0.05) continue;
    const launch = { ...common, gpu };
    const [before, after] = [measure(launch, now), measure(launch, then)];
    const filled = before.processBytes / gpu.totalBytes;
    if (filled < least || filled > most) continue;
    const growth = after.peakBytes / before.peakBytes - 1;
    const site = COMPONENT_SITES[regression.component ?? 'gradient'];
    const fits = {
      oom: () => measure(launch, then, gpu.totalBytes).ending === 'oom',
      memory: () => growth >= GROWTH[0] && growth <= GROWTH[1],
      throughput: () => true,
      component: () =>
        Math.abs(growth) <= SAME_TOTAL && after.liveBytes(site) / before.liveBytes(site) - 1 >= COMPONENT_GROWTH,
    }[kind]();
    if (fits) return { launch, project, regression, peakBytes: [before.peakBytes, after.peakBytes] };
  }
  return undefined;
}
