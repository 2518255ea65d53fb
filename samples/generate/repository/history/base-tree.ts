/** The first commit of a repository: the template's files, and what each repository has of its own. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pick, type Random } from '../../simulate/random.js';
import { CLUSTER_FILE, NODES } from '../train/cluster.js';
import type { LaunchOptions } from '../train/launch-options.js';
import { CONFIG_FILE, SUBMODULE, type Tree } from './tree.js';

/** Sizes of the run; the model is Llama 3 8B with fewer layers. */
export interface Shape {
  readonly layers: number;
  readonly sequence: number;
  readonly microBatch: number;
  readonly dataParallel: number;
}

/** Micro-batches of a rank in one step: what a trace of few entries has room for. */
const MICRO_BATCHES = 2;
export const TENSOR_PARALLEL = 2;
export const STEPS = 12;

/** Compiled or not, the template lies in the package's sources. */
function templateDirectory(): string {
  const path = join('samples', 'generate', 'repository', 'template');
  for (let directory = dirname(fileURLToPath(import.meta.url)); ; directory = dirname(directory)) {
    const candidate = join(directory, path);
    if (existsSync(join(candidate, 'bridge'))) return candidate;
    if (directory === dirname(directory)) throw new Error('the template of repositories was not found');
  }
}

function readFiles(directory: string, prefix: string, into: Tree): void {
  for (const entry of readdirSync(directory, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) readFiles(path, `${prefix}${entry.name}/`, into);
    else into.set(prefix + entry.name, readFileSync(path, 'utf8'));
  }
}

export function baseTree(random: Random, shape: Shape, launch: LaunchOptions): Tree {
  const tree: Tree = new Map();
  const template = templateDirectory();
  readFiles(join(template, 'bridge'), '', tree);
  readFiles(join(template, 'megatron-lm'), SUBMODULE, tree);
  tree.set(
    '.gitmodules',
    `[submodule "Megatron-LM"]\n\tpath = ${SUBMODULE.slice(0, -1)}\n\turl = ../Megatron-LM.git\n`,
  );
  tree.set(CONFIG_FILE, overrides(random, shape));
  tree.set(CLUSTER_FILE, `# Where the nightly run goes.\nPARTITION=nightly\nNODELIST=${pick(random, NODES)}\n`);
  tree.set('launch.sh', launchScript(launch));
  return tree;
}

function overrides(random: Random, { layers, sequence, microBatch, dataParallel }: Shape): string {
  return `# The nightly performance run: Llama 3 8B, cut to ${layers} layers.
model:
  num_layers: ${layers}
  seq_length: ${sequence}
  tensor_model_parallel_size: ${TENSOR_PARALLEL}
  sequence_parallel: true
  tp_comm_overlap: true
  # Attention is cheap to run again.
  recompute_granularity: selective
  recompute_modules: [core_attn]
train:
  micro_batch_size: ${microBatch}
  global_batch_size: ${microBatch * dataParallel * MICRO_BATCHES}
  train_iters: 1000
  exit_interval: ${STEPS}
optimizer:
  lr: 0.0003
  weight_decay: 0.1
ddp:
  grad_reduce_in_fp32: ${pick(random, [true, false])}
dataset:
  num_workers: 4
scheduler:
  lr_warmup_iters: 50
profiling:
  profile_step_start: 2
  profile_step_end: 3
rng:
  seed: 1234
`;
}

function launchScript(launch: LaunchOptions): string {
  const words = [
    '--repo .',
    `--output "\${MBF_OUTPUT_DIR:-out}"`,
    `--attempt "\${MBF_ATTEMPT:-1}"`,
    '--commit "$(git rev-parse HEAD)"',
    `--seed ${launch.seed}`,
    `--torch ${launch.torch}`,
    `--gpu "${launch.gpu.name}"`,
    `--ranks ${launch.ranks}`,
    `--mount ${launch.mount}`,
    `--memory-lines ${launch.memoryLines}`,
    `--stragglers ${launch.stragglers}`,
  ];
  return `#!/bin/bash
# Trains on one node for a few steps. TRAINER: the script that plays torchrun.
set -euo pipefail
cd "$(dirname "$0")"
git -c protocol.file.allow=always submodule update --init --quiet
exec node "$TRAINER" \\
  ${words.join(' \\\n  ')}
`;
}
