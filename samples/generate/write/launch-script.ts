/** The sbatch script that launched the run, with the environment it exports and every flag. */
import type { RunPlan } from '../run.js';
import { launchFlags } from './megatron-lm-arguments.js';
import { monitorCommands } from './monitor/nvidia-smi.js';
import { PROFILE_OPTIONS } from './nsys/nsys-export.js';
import { planOverrides } from './run-config.js';
import { type RunFacts, worldSize } from './run-facts.js';

export function launchScript(facts: RunFacts): string {
  const { plan, account, nodes, launcher } = facts;
  const gpus = Math.min(plan.gpu.perNode, worldSize(plan));
  const torchrun = launcher === 'torchrun';
  const name = plan.framework === 'megatron-bridge' ? `${account}-${account}.${plan.name}` : plan.name;
  const output = plan.framework === 'megatron-bridge' ? bridgeOutput(facts, name) : outputName(facts);
  const exports = Object.entries(plan.environment).map(([key, value]) => `export ${key}=${shellWord(value)}`);
  const srun = ['srun', ...(torchrun ? [] : ['--label']), '--kill-on-bad-exit=1', ...outputOption(facts, output)];
  const command = torchrun
    ? [
        'torchrun',
        `--nnodes=${nodes}`,
        `--nproc-per-node=${gpus}`,
        '--rdzv-backend=c10d',
        '--rdzv-endpoint="$head_node:29500"',
        '--rdzv-id="$SLURM_JOB_ID"',
        '--redirects=0',
        '--tee=3',
      ]
    : [facts.python];
  const profiles = facts.run.profiles !== undefined;
  const profiler = ['nsys profile', ...PROFILE_OPTIONS, '--output=/nemo_run/nsys_rank%q{SLURM_PROCID}'];
  const words = [
    srun.join(' '),
    ...(profiles ? [profiler.join(' ')] : []),
    command.join(' '),
    shellWord(facts.scriptPath),
    ...(plan.framework === 'megatron-lm' ? launchFlags(facts).map(flagWords) : planOverrides(plan).map(shellWord)),
    ...(facts.run.monitors?.stampsLines ? ["2>&1 | ts '%F %T'"] : []),
  ];
  return `${[
    '#!/bin/bash',
    `#SBATCH --account=${account}`,
    `#SBATCH --job-name=${name}`,
    `#SBATCH --nodes=${nodes}`,
    `#SBATCH --ntasks-per-node=${torchrun ? 1 : gpus}`,
    `#SBATCH --gpus-per-node=${gpus}`,
    '#SBATCH --time=04:00:00',
    '#SBATCH --exclusive',
    '#SBATCH --mem=0',
    ...(plan.framework === 'megatron-bridge' ? [] : [`#SBATCH --output=${output}`]),
    ...(facts.attemptsInOneFile ? ['#SBATCH --requeue', '#SBATCH --open-mode=append'] : []),
    '',
    'set -euo pipefail',
    '',
    ...exports,
    ...(exports.length > 0 ? [''] : []),
    'nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))',
    'head_node=$nodes',
    ...(torchrun ? [] : ['export MASTER_ADDR=$head_node', 'export MASTER_PORT=29500']),
    '',
    ...(facts.run.monitors === undefined ? [] : [...monitorCommands(), '']),
    words.join(' \\\n  '),
  ].join('\n')}\n`;
}

/** nemo-run names the file on srun's line, with the number of restarts in it. */
function bridgeOutput({ filePerNode, attemptsInOneFile }: RunFacts, job: string): string {
  const restart = attemptsInOneFile ? '0' : `\${SLURM_RESTART_COUNT:-0}`;
  return `log-${job}_%j${filePerNode ? '_%N' : ''}_${restart}.out`;
}

/** `%N` splits the output by node. */
function outputName({ plan, filePerNode }: RunFacts): string {
  return filePerNode ? `${plan.name}_%j_%N.log` : 'slurm-%j.out';
}

function outputOption(facts: RunFacts, output: string): string[] {
  if (facts.plan.framework === 'megatron-bridge' || facts.filePerNode) return [`--output="${output}"`];
  return [];
}

/** `--name a b`: words of a flag, each quoted where the shell would split it. */
function flagWords(flag: string): string {
  return flag.split(' ').map(shellWord).join(' ');
}

/** Quoted only where the shell would read it as more than a word. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * The settings text of the caching allocator that a process of this plan gets; the unified name is known from torch 2.9
 * on.
 */
export function allocConf({ environment, torch }: RunPlan): string {
  return (
    environment['PYTORCH_CUDA_ALLOC_CONF'] ?? (torch === '2.12' ? environment['PYTORCH_ALLOC_CONF'] : undefined) ?? ''
  );
}
