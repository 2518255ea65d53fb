/** The sentence of each step. */
import type { Step, StepKind } from '../../model/verdict.js';
import { otherSegmentsText, replayedText } from './evidence-words.js';
import { endedProcessWords, listed, processWords, viewOf, type Words } from './words.js';

export function stepText({ kind, status, because, ...figures }: Step): string {
  if (status === 'forbidden') return `expandable_segments:True would help, but ${because!.text} (${because!.source})`;
  const words = STEPS[kind];
  const view = viewOf(figures);
  const text = typeof words === 'string' ? words : words(view);
  if (status === 'proven') return `${text}; replayed: ${replayedText(view)}`;
  return view.has('or') ? `${text}; expandable_segments:True makes it unnecessary` : text;
}

const ON = 'PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True';

const STEPS: Readonly<Record<StepKind, string | Words>> = {
  expandable_segments: `${ON} on every rank, at no throughput cost (not with NCCL user buffers; with CUDA graphs also NCCL_GRAPH_REGISTER=0)`,
  expandable_first: `${ON} on every rank costs no throughput: try it first`,
  expandable_replayed: (v) => `${ON}: replayed with it, this OOM does not occur (${replayedText(v)})`,
  expandable_on_already: 'expandable segments are already on: setting them again changes nothing',
  check_expandable: 'check that expandable segments are not on already: no snapshot records the setting',
  find_pinning: (v) => `${otherSegmentsText(v)}: look at what pins the segments first`,
  free_pinning:
    'see what pins the segments with `mbforensics peak`; free or move those buffers, or make the request smaller',
  same_stream: 'allocate on the stream that frees: memory of another stream is never reused',
  lower_oversize_rounding: 'lower max_non_split_rounding_mb, or drop max_split_size_mb',
  raise_max_split: 'raise or drop max_split_size_mb',
  check_shape: 'suspect a shape, not memory: look at the tensor this call makes',
  lower_live_or_request: 'no allocator setting can help here; lower what is live, or ask for less at once',
  lower_live: 'no allocator setting can help here; see what is live with `mbforensics peak`, then lower that',
  raise_fraction:
    'raise the memory fraction (set_per_process_memory_fraction), or find who needs the rest of the device',
  less_rounding: 'use more divisions, or drop roundup_power2_divisions: then blocks are rounded to 512 bytes only',
  shard_optimizer:
    'shard the optimizer (use_distributed_optimizer), keep its states in lower precision, or offload them: they stay from then on',
  sharded_checkpoint:
    'save without gathering on one device: a sharded format (torch_dist) with fully parallel saving, or gather over Gloo on the host',
  training_fits: 'training itself fits: only the copies made for the checkpoint do not',
  load_to_host:
    'load to the host first (map_location="cpu"), or into the tensors that exist; a second copy of weights or optimizer states must not stay on the device',
  smaller_logits:
    'make logits and loss smaller for a moment: a fused or chunked cross entropy, shorter sequences or smaller micro-batches, more tensor parallelism',
  split_tensor:
    'look at the shape of the tensor this call makes; compute it in parts, or shorten the sequence or the micro-batch',
  move_layers:
    'move work off that stage: fewer layers on it (account_for_embedding_in_pipeline_split, account_for_loss_in_pipeline_split, or a pipeline layout of your own)',
  fewer_in_flight: 'the first stages hold the most micro-batches in flight: recompute there, or more pipeline stages',
  set_device:
    'let each rank choose its own device before its first CUDA call (torch.cuda.set_device(local_rank), or CUDA_VISIBLE_DEVICES for each process)',
  check_fraction:
    'print torch.cuda.get_per_process_memory_fraction() and torch.cuda.mem_get_info() in the process: a memory fraction is not in every message',
  check_visibility:
    'check which device the process sees: CUDA_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES set twice, a MIG slice, a framework that numbers devices anew',
  check_host_limit:
    'check the limits of the container and the host: cgroup memory.max, ulimit -l and ulimit -v (pinned memory and address space are refused with the same error)',
  check_driver: 'look for errors of the driver (dmesg, Xid lines): it reports some of them as out of memory',
  find_holder:
    'find out with nvidia-smi on that host who holds it: this job’s NCCL, libraries or inference engine, or another process (a leftover of a killed one)',
  find_process: 'find the process with nvidia-smi on that host and end it, or move this rank to a free device',
  end_processes: (v) => `end ${listed(v.items, processWords)} on that host, or move this rank to a free device`,
  try_engine: (v) =>
    `${v.items.length === 0 ? 'the other process' : listed(v.items, processWords)} may be this job’s own inference engine: put it to sleep, or lower its memory share (gpu_memory_utilization; SGLang: mem_fraction_static), before training; end it only if nvidia-smi and ps on that host show that it is foreign`,
  lower_engine_share: (v) =>
    `give ${listed(v.items, processWords)} of this job less of the device: a smaller memory share (gpu_memory_utilization; SGLang: mem_fraction_static), a deeper sleep level, or free its weights before training; else give training less`,
  move_job_process: (v) =>
    `${listed(v.items, processWords)} belongs to this job: keep it off this device (CUDA_VISIBLE_DEVICES, tensors on the CPU), or limit its memory`,
  raise_xla_share:
    'raise XLA_PYTHON_CLIENT_MEM_FRACTION (0.75 by default), or set XLA_PYTHON_CLIENT_PREALLOCATE=false where other processes share the device',
  free_for_engine:
    'free the trainer’s memory before the engine wakes up (offload its weights and optimizer, torch.cuda.empty_cache()), wake weights and KV cache one after the other (wake_up(tags=…)), or lower the engine’s memory share (gpu_memory_utilization; SGLang: mem_fraction_static)',
  fewer_communicators:
    'use fewer communicators or smaller NCCL buffers (NCCL_BUFFSIZE, NCCL_MAX_NCHANNELS); `mbforensics nsys` names the calls that took them',
  see_nsys: '`mbforensics nsys` names the calls that took it',
  undo_nccl_settings:
    'undo the NCCL settings named, or use fewer communicators; NCCL_DEBUG_SUBSYS=INIT,ALLOC shows what each buffer takes',
  count_communicators:
    'count communicators and NCCL channels (NCCL_DEBUG=INFO); an Nsight Systems capture names the allocations',
  smaller_graphs: 'capture fewer or smaller graphs, or share one pool between them',
  record_stream:
    'look at record_stream() on the large buffers of the communication stream; wait for it before the big allocation',
  look_at_site: (v) =>
    `look at ${v.name('site')}: what it makes in every step is never freed (a list that is appended to, an output without .detach())`,
  compare_snapshots:
    'compare two memory snapshots of different iterations: the leak is what is live in the later one only',
  find_kept_tensors:
    'look for tensors kept across iterations: losses or metrics appended without .item(), hooks, growing caches',
  confirm_growth:
    'confirm it: print the memory of every iteration (Megatron-LM: --log-memory-interval 1), or dump a snapshot at the OOM',
  look_for_message:
    'look for an earlier OOM message of any rank on that host; check for other processes with nvidia-smi',
  nccl_headroom: 'leave NCCL headroom: fewer communicators or channels, or a memory fraction below 1 for PyTorch',
  raise_utilization: 'raise the engine’s memory utilization setting, or shorten the context',
  graph_headroom: 'capture fewer or smaller graphs, or leave them more headroom',
  enlarge_shm: 'enlarge /dev/shm (docker --shm-size, an emptyDir of medium Memory), or lower data-loader workers',
  fewer_workers:
    'lower num_workers and prefetch_factor, or keep less of the data set in each worker; else raise the job’s memory request',
  raise_host_limit:
    'raise the job’s memory request; or lower what it keeps on the host: offloaded optimizer states, checkpoint staging, pinned buffers, workers',
  raise_host_memory:
    'raise the job’s memory request, or lower data-loader workers, pinned buffers and checkpoint staging',
  change_setting: 'change the setting that the message names',
  find_last_rank: 'look for the rank that printed last, and for what it printed',
  find_ended_rank: 'look for the rank that ended first',
  take_node_out: 'take the node out and run its diagnostics (nvidia-smi -q, dcgmi diag)',
  resume: 'resume from the last checkpoint',
  ingest_message: 'ingest the whole message, or a snapshot dumped at the OOM: the figures decide it',
  capture: 'capture what is listed as not tested, and ingest it into the same run',
  name_whole_log:
    'paste or name the whole log; failures are often printed by another rank than the one that is looked at',
  name_all_logs: 'name the logs of all ranks and of the launcher: failures are often printed elsewhere',
  name_its_log: (v) => `name the output of ${endedProcessWords(v)}: its error is printed there`,
  see_retries: `see \`mbforensics nsys\` for what the retries cost; ${ON} often ends them`,
  ingest_rank: 'ingest the log of this rank and a memory snapshot into the same run; `mbforensics nsys` has the calls',
};
