import type { LineFormat } from '../contract.js';
import { wordFinding } from './findings.js';

const COLLECT_ENV_NAMES: Readonly<Record<string, string>> = {
  'PyTorch version': 'version.torch',
  'CUDA used to build PyTorch': 'version.cuda',
  'ROCM used to build PyTorch': 'version.rocm',
  'CUDA runtime version': 'version.cuda_runtime',
  'Nvidia driver version': 'version.driver',
  'HIP runtime version': 'version.hip',
  'Python version': 'version.python',
  'cuDNN version': 'version.cudnn',
};

/** Labels are read one by one: in a report pasted into an issue, all may be on one line. */
export const TORCH_COLLECT_ENV: LineFormat = {
  form: 'line',
  id: 'torch.collect-env',
  title: 'Environment report of torch (collect_env)',
  producer: 'PyTorch',
  versions: '1.0 and later',
  source: 'torch/utils/collect_env.py, env_info_fmt',
  anchors: Object.keys(COLLECT_ENV_NAMES).map((label) => `${label}: `),
  fields: { label: 'what the version is of', version: 'as printed; where it was not found, nothing is taken' },
  pattern:
    /(?<label>PyTorch version|CUDA used to build PyTorch|ROCM used to build PyTorch|CUDA runtime version|Nvidia driver version|HIP runtime version|Python version|cuDNN version): (?<version>\d[\w.+-]{0,60})/g,
  read({ label = '', version = '' }, emit) {
    emit(wordFinding(COLLECT_ENV_NAMES[label] ?? label, version));
  },
};

/** Distribution name, underscores as hyphens → what it is the version of. */
const PACKAGES: ReadonlyMap<string, string> = new Map([
  ['torch', 'torch'],
  ['triton', 'triton'],
  ['pytorch-triton', 'triton'],
  ['transformer-engine', 'transformer_engine'],
  ['transformer-engine-torch', 'transformer_engine'],
  ['megatron-core', 'megatron_core'],
  ['megatron-bridge', 'megatron_bridge'],
  ['megatron-fsdp', 'megatron_fsdp'],
  ['nemo-toolkit', 'nemo'],
  ['deepspeed', 'deepspeed'],
  ['apex', 'apex'],
  ['flash-attn', 'flash_attn'],
  ['nvidia-cudnn-cu11', 'cudnn'],
  ['nvidia-cudnn-cu12', 'cudnn'],
  ['nvidia-cudnn-cu13', 'cudnn'],
  ['nvidia-nccl-cu11', 'nccl'],
  ['nvidia-nccl-cu12', 'nccl'],
  ['nvidia-nccl-cu13', 'nccl'],
  ['transformers', 'transformers'],
]);

export const PIP_PACKAGES: LineFormat = {
  form: 'line',
  id: 'pip.package',
  title: 'Installed package',
  producer: 'pip, conda',
  versions: 'pip freeze; the package lists of collect_env',
  source: 'torch/utils/collect_env.py, get_pip_packages and get_conda_packages; pip freeze',
  anchors: [
    'pip3] torch==',
    'pip] torch==',
    'pip3] triton==',
    '[conda] torch ',
    '[conda] pytorch ',
    'transformer-engine==',
    'transformer_engine==',
    'transformer_engine_torch==',
    'megatron-core==',
    'megatron_core==',
    'megatron-bridge==',
    'megatron-fsdp==',
    'nemo-toolkit==',
    'nemo_toolkit==',
    'deepspeed==',
    'flash-attn==',
    'flash_attn==',
    'transformers==',
    'nvidia-cudnn-cu1',
    'nvidia-nccl-cu1',
  ],
  fields: {
    package: 'name of the distribution',
    version: 'as installed, which is not always what was loaded',
    conda: 'version of torch in the list of conda',
  },
  pattern:
    /(?:^|\[pip3?\] |\s)(?<package>torch|triton|pytorch-triton|transformer[-_]engine(?:_torch)?|megatron[-_](?:core|bridge|fsdp)|nemo[-_]toolkit|deepspeed|apex|flash[-_]attn|transformers|nvidia-(?:cudnn|nccl)-cu1[1-9])(?:\[[\w,-]{1,40}\])?==(?<version>\d[\w.+-]{0,60})|\[conda\] (?:py)?torch {1,40}(?<conda>\d[\w.+-]{0,60})/g,
  read({ package: name = '', version, conda }, emit) {
    const what = PACKAGES.get(name.replaceAll('_', '-'));
    if (conda !== undefined) emit(wordFinding('version.torch', conda));
    else if (what !== undefined && version !== undefined) emit(wordFinding(`version.${what}`, version));
  },
};

/** Printed name, lower case, separators as spaces → what it is the version of. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ['torch', 'torch'],
  ['pytorch', 'torch'],
  ['transformer engine', 'transformer_engine'],
  ['te', 'transformer_engine'],
  ['megatron core', 'megatron_core'],
  ['mcore', 'megatron_core'],
  ['megatron lm', 'megatron_lm'],
  ['megatron bridge', 'megatron_bridge'],
  ['nemo', 'nemo'],
  ['deepspeed', 'deepspeed'],
  ['torchtitan', 'torchtitan'],
  ['flash attn', 'flash_attn'],
  ['flash attention', 'flash_attn'],
  ['transformers', 'transformers'],
  ['cuda', 'cuda'],
  ['cudnn', 'cudnn'],
]);

export const PRINTED_VERSION: LineFormat = {
  form: 'line',
  id: 'version.printed',
  title: 'A version printed by a script',
  producer: 'launch scripts and trainers',
  versions: 'no fixed wording',
  source: 'torchtitan/train.py; torch.__version__ as scripts print it',
  anchors: [
    'torch version: ',
    'torch Version: ',
    'torch version = ',
    'orch.__version__',
    'ngine version',
    'ngine Version',
    'core version',
    'Core version',
    'Core Version',
    'NeMo version',
    'NeMo Version',
    'torchtitan version',
    'DeepSpeed version',
    'CUDA version: ',
    'attn version',
    'transformers version',
    'idge version',
    '-LM version',
    'titan version',
  ],
  fields: { name: 'of the software', version: 'as printed' },
  // `PyTorch version: ` is the label of collect_env, `torch version ....` DeepSpeed's, `Installed CUDA version` a
  // compiler's.
  pattern:
    /(?<![\w.-]|Installed )(?<name>torch|PyTorch(?! version: )|[Tt]ransformer[ _-][Ee]ngine|TE|[Mm]egatron[ _.-](?:[Cc]ore|LM|[Bb]ridge)|MCore|NeMo|DeepSpeed|torchtitan|flash[_ -]attn|transformers|CUDA|cuDNN(?! version: ))(?:\.__version__|(?: [Pp]ackage)? [Vv]ersion)(?: ?[:=]| is)? ?['"]?v?(?<version>\d[\w.+-]{0,60})/g,
  read({ name = '', version = '' }, emit) {
    const what = NAMES.get(name.toLowerCase().replace(/[_.-]/g, ' '));
    if (what !== undefined) emit(wordFinding(`version.${what}`, version.replace(/[.-]$/, '')));
  },
};

/** What the entry scripts of Megatron-LM print first. */
export const MEGATRON_VERSIONS: LineFormat = {
  form: 'line',
  id: 'megatron.versions',
  title: 'Versions printed by the entry script',
  producer: 'Megatron-LM',
  versions: 'core 0.16 and later [mem]',
  source: 'pretrain_gpt.py and the other entry scripts; megatron/core/utils.py, get_te_version',
  anchors: ['PyTorch version ...', 'Megatron-Core version ...', 'Transformer Engine version ...'],
  fields: { name: 'of the package', version: 'as printed; 0.0.0 of Transformer Engine: its import failed' },
  pattern: /(?<![\w.-])(?<name>PyTorch|Megatron-Core|Transformer Engine) version \.{3,40} (?<version>\d[\w.+-]{0,60})/g,
  read({ name = '', version = '' }, emit) {
    const what = NAMES.get(name.toLowerCase().replace('-', ' '))!;
    const isMissing = what === 'transformer_engine' && /^0\.0\.0(?![\w.])/.test(version);
    emit(wordFinding(`version.${what}`, isMissing ? `${version} (not installed)` : version));
  },
};

export const NGC_BANNER: LineFormat = {
  form: 'line',
  id: 'ngc.banner',
  title: 'Banner of an NGC container',
  producer: 'NVIDIA NGC',
  versions: '19.01 and later',
  source: 'entrypoint of nvcr.io/nvidia/pytorch and nvcr.io/nvidia/nemo',
  anchors: ['NVIDIA Release ', 'PyTorch Version ', 'NeMo Version ', 'Megatron-LM Version '],
  fields: { release: 'of the container', torch: 'version of torch in it', nemo: 'version of NeMo in it' },
  pattern:
    /NVIDIA Release (?<release>\d{2}\.\d{2}(?:\.\d{1,3})?)|PyTorch Version (?<torch>\d[\w.+-]{0,60})|NeMo Version (?<nemo>\d[\w.+-]{0,60})/g,
  read({ release, torch, nemo }, emit) {
    if (release !== undefined) emit(wordFinding('version.ngc', release));
    if (torch !== undefined) emit(wordFinding('version.torch', torch));
    if (nemo !== undefined) emit(wordFinding('version.nemo', nemo));
  },
};

export const OPTIMIZER_FALLBACK: LineFormat = {
  form: 'line',
  id: 'megatron.optimizer-fallback',
  title: 'Optimizers of torch in place of fused ones',
  producer: 'Megatron-Core',
  versions: 'core 0.9 and later',
  source: 'megatron/core/optimizer/__init__.py, the warning of the import; megatron/core/utils.py, get_te_version',
  anchors: ['Falling back to Torch optimizers', 'Transformer Engine version ...'],
  fields: {},
  // Version 0.0.0 means that the import failed.
  pattern: /Falling back to Torch optimizers|Transformer Engine version \.{3,} 0\.0\.0(?![\w.])/g,
  read(_, emit) {
    emit(wordFinding('optimizer.implementation', 'torch'));
  },
};

export const NVCC_VERSION: LineFormat = {
  form: 'line',
  id: 'nvcc.version',
  title: 'Version of the CUDA compiler',
  producer: 'CUDA toolkit',
  versions: 'all',
  source: 'nvcc --version',
  anchors: ['Cuda compilation tools, release '],
  fields: { version: 'of nvcc, V part' },
  pattern: /Cuda compilation tools, release \d{1,3}\.\d{1,3},? V(?<version>\d{1,3}\.\d{1,3}\.\d{1,5})/g,
  read({ version = '' }, emit) {
    emit(wordFinding('version.nvcc', version));
  },
};

export const GIT_COMMIT: LineFormat = {
  form: 'line',
  id: 'git.commit',
  title: 'Commit of a source tree',
  producer: 'Megatron-DeepSpeed, git, launch scripts',
  versions: 'no fixed wording but the one of Megatron-DeepSpeed',
  source: 'pretrain_gpt.py of Megatron-DeepSpeed, git_ds_info; git reset and git checkout',
  anchors: [
    'git_hash=',
    'HEAD is now at ',
    'git hash',
    'git_commit',
    'git commit',
    'Git commit',
    'Git Commit',
    'git_sha=',
    'git_sha: ',
    'Git hash',
    'ommit hash',
    'ommit Hash',
    'commit_hash',
    'commit_sha',
    'ommit SHA',
    'commit_id',
    'ommit id',
    'GIT_COMMIT',
    'GIT_HASH',
  ],
  fields: {
    project: 'owner of the tree',
    named: 'the same, in front of other wordings',
    hash: '7 to 40 hexadecimal digits',
    branch: 'its branch',
  },
  pattern:
    /(?:Git info for (?<project>\w{1,30}): git_hash=|(?:(?<named>[Mm]egatron(?:[ _-](?:LM|lm|[Cc]ore|[Bb]ridge|DeepSpeed))?|NeMo|nemo|TransformerEngine|[Tt]ransformer[ _-][Ee]ngine|torchtitan)['’s]{0,2} )?(?:HEAD is now at|[Gg][Ii][Tt][ _-](?:[Hh]ash|HASH|[Cc]ommit|COMMIT|sha|SHA)(?: [Hh]ash| SHA| id)?|[Cc]ommit[ _](?:[Hh]ash|SHA|sha|id))['"]? ?[:=]? ?['"]?)(?<hash>[\da-f]{7,40})(?![\w-])(?: git_branch=(?<branch>[\w./-]{1,80}))?/g,
  read({ project, named, hash = '', branch }, emit) {
    const whose = (project ?? named ?? 'source').toLowerCase().replace(/[ -]/g, '_');
    emit(wordFinding(`commit.${whose}`, hash));
    if (branch !== undefined && branch !== 'unknown') emit(wordFinding(`branch.${whose}`, branch));
  },
};
