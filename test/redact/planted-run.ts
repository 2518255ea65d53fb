/** A run directory of every format that `redact` rewrites, with names and secrets of each kind planted in it. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { PyTuple, pickled } from '../../samples/generate/write/pickle-writer.js';
import { changed, smallExport, sqliteBytes } from '../support/nsys-export.js';
import { entry, frame, segment, snapshot } from '../support/small-snapshot.js';

/** By kind: none of them may be left anywhere. */
export const PLANTED = {
  user: ['zorblatt', 'quuxgroup'],
  host: ['vexnode-h100-037', 'vexnode-h100-038', 'zanthor.internal', 'blorpnode17'],
  address: ['10.213.7.94', 'fd12:3456:789a:1::42', 'a4:5d:36:9f:12:c8'],
  id: ['GPU-8a7b6c5d-1234-5678-9abc-def012345678', '9f8e7d6c5b4a39281706f5e4d3c2b1a098765432', 'x7k2m9qa'],
  job: ['88123456'],
  email: ['zorblatt@zanthor-labs.com', 'zanthor-labs'],
  image: ['registry.zanthor.io', 'blimpwerk'],
  bucket: ['wibble-bucket'],
  project: ['snarfworks', 'plugh-moe', 'gruntle-moe', 'snorkack'],
  dataset: ['fizzbin_corpus_text_document', 'wibblefs'],
  code: ['crumhorn_router', 'CrumhornRouter', 'crumhorn_dispatch', 'crumhorn_pass', 'fluxbottle'],
  environment: ['velcrotron'],
  secret: [
    'hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345678',
    'ghp_abcdefghijklmnopqrstuvwxyz0123456789',
    'AKIAIOSFODNN7EXAMPLQ',
    'hunter2swordfish99',
  ],
} as const;

const HOME = '/home/zorblatt/src/gruntle-moe';
const PRIVATE = [
  frame('crumhorn_dispatch', `${HOME}/gruntle/models/crumhorn_router.py`, 88),
  frame('CrumhornRouter.forward', `${HOME}/gruntle/models/crumhorn_router.py`, 41),
  frame('forward', '/opt/venv/lib/python3.12/site-packages/torch/nn/modules/module.py', 1773),
  frame('crumhorn_pass', `${HOME}/train_fluxbottle.py`, 12),
];

export const LOG = `[2026-03-04 05:06:07] vexnode-h100-037 launching as zorblatt@vexnode-h100-037 in ${HOME}
+ srun --container-image=registry.zanthor.io/blimpwerk/trainer:25.04 -A quuxgroup python ${HOME}/train_fluxbottle.py
SLURM_JOB_ID=88123456 SLURM_JOB_ACCOUNT=quuxgroup SLURM_JOB_USER=zorblatt SLURM_JOB_NODELIST=vexnode-h100-[037-038]
MASTER_ADDR=vexnode-h100-037.zanthor.internal MASTER_PORT=29500 node_ip=10.213.7.94 inet6 fd12:3456:789a:1::42 ether a4:5d:36:9f:12:c8
vexnode-h100-037:8100:8200 [0] NCCL INFO Bootstrap : Using eth0:10.213.7.94<0>
[W socket.cpp:464] The client socket cannot be initialized to connect to [vexnode-h100-038.zanthor.internal]:29500
wandb: Currently logged in as: zorblatt (snarfworks). Use \`wandb login --relogin\` to force relogin
wandb: View run at https://wandb.ai/snarfworks/plugh-moe/runs/x7k2m9qa
export HF_TOKEN=hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345678
origin https://zorblatt:hunter2swordfish99@git.zanthor.io/snarfworks/gruntle-moe.git (branch snorkack)
HEAD is now at 9f8e7d6c5b4a39281706f5e4d3c2b1a098765432 by Zorblatt <zorblatt@zanthor-labs.com>
 > building train, validation, and test datasets for gruntle-moe from s3://wibble-bucket/fizzbin_corpus_text_document
loading /wibblefs/data/fizzbin_corpus_text_document.bin on GPU-8a7b6c5d-1234-5678-9abc-def012345678
\u001b[32mzorblatt\u001b[0m: "path\\nzorblatt" %2Fhome%2Fzorblatt ${Buffer.from('user zorblatt at vexnode-h100-037').toString('base64')}
 [2026-03-04 05:06:12.123456] iteration       12/     400 | consumed samples:         3072 | elapsed time per iteration (ms): 2345.6 | learning rate: 1.500000E-04 | global batch size:   256 | lm loss: 7.654321E+00 | loss scale: 1.0 | grad norm: 1.234 | number of skipped iterations:   0 | number of nan iterations:   0 |
[Rank 0] (after 12 iterations) memory (MB) | allocated: 18321.5009765625 | max allocated: 40960.0 | reserved: 45056.0 | max reserved: 47104.0
[rank0]: Traceback (most recent call last):
[rank0]:   File "${HOME}/train_fluxbottle.py", line 12, in crumhorn_pass
[rank0]:     loss = crumhorn_dispatch(model, fluxbottle=batch)
[rank0]:   File "/opt/venv/lib/python3.12/site-packages/torch/nn/modules/module.py", line 1773, in _wrapped_call_impl
[rank0]:     return self._call_impl(*args, **kwargs)
[rank0]:   File "${HOME}/gruntle/models/crumhorn_router.py", line 88, in crumhorn_dispatch
[rank0]:     return torch.empty(n, device="cuda")
[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.31 GiB is free. Including non-PyTorch memory, this process has 77.78 GiB memory in use. Of the allocated memory 55.40 GiB is allocated by PyTorch, and 20.20 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)
srun: error: vexnode-h100-037: task 0: Exited with exit code 1
srun: error: blorpnode17: task 1: Killed
`;

const SBATCH = `#!/bin/bash
#SBATCH --account=quuxgroup
#SBATCH --job-name=gruntle-moe
#SBATCH --mail-user=zorblatt@zanthor-labs.com
#SBATCH --container-image=registry.zanthor.io/blimpwerk/trainer:25.04
export CUDA_DEVICE_MAX_CONNECTIONS=1
export AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLQ
export GITHUB_TOKEN=ghp_abcdefghijklmnopqrstuvwxyz0123456789
srun torchrun --nproc-per-node=8 ${HOME}/train_fluxbottle.py --tensor-model-parallel-size 4 \\
  --wandb-project plugh-moe --wandb-entity snarfworks --data-path /wibblefs/data/fizzbin_corpus_text_document
`;

const YAML_CONFIG = `model:
  _target_: gruntle.models.crumhorn_router.CrumhornRouter
  tensor_model_parallel_size: 4
  num_layers: 32
  hidden_size: 4096
logger:
  wandb_project: plugh-moe
  wandb_entity: snarfworks
  tensorboard_dir: ${HOME}/tb
train:
  micro_batch_size: 1
  global_batch_size: 256
hub_token: hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345678
`;

const JSON_CONFIG = JSON.stringify(
  {
    tensor_model_parallel_size: 4,
    pipeline_model_parallel_size: 2,
    micro_batch_size: 1,
    global_batch_size: 256,
    seq_length: 4096,
    num_layers: 32,
    num_attention_heads: 32,
    hidden_size: 4096,
    save: `${HOME}/checkpoints`,
    data_path: ['s3://wibble-bucket/fizzbin_corpus_text_document'],
    wandb_project: 'plugh-moe',
    username: 'zorblatt',
    hostname: 'vexnode-h100-037.zanthor.internal',
    password: 'hunter2swordfish99',
  },
  null,
  2,
);

const ENV = `HOME=/home/zorblatt
USER=zorblatt
PATH=/home/zorblatt/.local/bin:/usr/local/bin:/usr/bin:/bin
HOSTNAME=vexnode-h100-037
PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512
NCCL_DEBUG=INFO
CRUMHORN_MODE=velcrotron
WORLD_SIZE=16
RANK=0
SLURM_JOB_ID=88123456
HF_TOKEN=hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345678
`;

const SACCT = `JobID|JobIDRaw|JobName|Partition|Account|User|State|ExitCode|Elapsed|NodeList|MaxRSS|ReqMem|Submit|Start|End
88123456|88123456|gruntle-moe|snorkack|quuxgroup|zorblatt|OUT_OF_MEMORY|0:125|00:10:00|vexnode-h100-[037-038]||512G|2026-03-04T05:00:00|2026-03-04T05:01:00|2026-03-04T05:11:00
88123456.batch|88123456.batch|batch||quuxgroup||OUT_OF_MEMORY|0:125|00:10:00|vexnode-h100-037|498G|||2026-03-04T05:01:00|2026-03-04T05:11:00
`;

const EVENTS = `apiVersion: v1
items:
- apiVersion: v1
  kind: Event
  involvedObject:
    kind: Pod
    name: gruntle-moe-worker-0
    namespace: snarfworks
  reason: OOMKilling
  message: "Memory cgroup out of memory: Killed process 4711 (python)"
  type: Warning
  lastTimestamp: "2026-03-04T05:11:00Z"
  source:
    component: kubelet
    host: vexnode-h100-037
kind: List
`;

const SMI = `timestamp, index, uuid, memory.used [MiB], memory.total [MiB]
2026/03/04 05:06:10.000, 0, GPU-8a7b6c5d-1234-5678-9abc-def012345678, 71000 MiB, 81559 MiB
2026/03/04 05:06:11.000, 0, GPU-8a7b6c5d-1234-5678-9abc-def012345678, 72000 MiB, 81559 MiB
`;

const WANDB_METADATA = JSON.stringify(
  {
    os: 'Linux-5.15',
    python: 'CPython 3.12.3',
    program: `${HOME}/train_fluxbottle.py`,
    codePath: 'train_fluxbottle.py',
    git: {
      remote: 'git@git.zanthor.io:snarfworks/gruntle-moe.git',
      commit: '9f8e7d6c5b4a39281706f5e4d3c2b1a098765432',
    },
    email: 'zorblatt@zanthor-labs.com',
    root: HOME,
    host: 'vexnode-h100-037',
    username: 'zorblatt',
    executable: '/home/zorblatt/venv/bin/python3',
    gpu: 'NVIDIA H100 80GB HBM3',
    gpu_count: 8,
    args: ['--tensor-model-parallel-size', '4', '--hub-token', 'hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345678'],
    startedAt: '2026-03-04T05:01:00.000000Z',
  },
  null,
  2,
);

/** Long texts spill into overflow pages of a database, names included. */
const LONG = Array.from({ length: 400 }, (_, i) => `/home/zorblatt/data/part-${i}/fizzbin_corpus_text_document`).join(
  ':',
);

function snapshotValue() {
  return snapshot({
    segments: [segment({ frames: PRIVATE })],
    device_traces: [
      Array.from({ length: 60 }, (_, i) =>
        entry(i % 3 === 0 ? 'alloc' : i % 3 === 1 ? 'free_requested' : 'free_completed', Math.floor(i / 3), {
          frames: PRIVATE,
          user_metadata: 'run by zorblatt on vexnode-h100-037',
        }),
      ),
    ],
  });
}

/** JSON as `json.dump` writes it. */
const asJson = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) => (each instanceof PyTuple ? each.items : each));

export function writePlantedRun(directory: string): void {
  const put = (path: string, content: string | Uint8Array): void => {
    mkdirSync(join(directory, path, '..'), { recursive: true });
    writeFileSync(join(directory, path), content);
  };
  put('slurm-88123456.out', LOG);
  put(
    'logs/zorblatt_vexnode-h100-038.log.gz',
    gzipSync(LOG.replaceAll('[rank0]', '[rank1]').replaceAll('[Rank 0]', '[Rank 1]')),
  );
  put('launch.sbatch', SBATCH);
  put('gruntle.yaml', YAML_CONFIG);
  put('args.json', JSON_CONFIG);
  put('env.txt', ENV);
  put('sacct.txt', SACCT);
  put('events.yaml', EVENTS);
  put('nvidia-smi.csv', SMI);
  put('wandb/run-20260304_050100-x7k2m9qa/files/wandb-metadata.json', WANDB_METADATA);
  put('snapshot_rank0.pickle', pickled(snapshotValue()));
  put('snapshot_rank1.pickle.gz', gzipSync(pickled(snapshotValue())));
  put('snapshot_rank2.json', asJson(snapshotValue()));
  const tables = smallExport({
    host: 'vexnode-h100-037',
    environment: ['RANK=3', 'WORLD_SIZE=8', 'USER=zorblatt', 'CRUMHORN_MODE=velcrotron', `DATA=${LONG}`],
  });
  put('profile.sqlite', sqliteBytes(changed(tables, {}), 1024));
}
