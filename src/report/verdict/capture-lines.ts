/** What to record next time, as lines to paste. Each test that cannot run names one of these. */
import type { CaptureLines } from '../../model/results/common.js';
import type { CaptureId } from '../../model/verdict.js';

interface Capture {
  /** What it records, in one line. */
  readonly title: string;
  readonly lines: CaptureLines;
}

/** Before training. The observer runs at the OOM itself, before the exception frees anything. */
const OBSERVER: readonly string[] = [
  'torch.cuda.memory._record_memory_history(max_entries=1_000_000, stacks="python")',
  'torch._C._cuda_attach_out_of_memory_observer(',
  '    lambda *args: torch.cuda.memory._dump_snapshot(f"snapshot_oom_rank-{rank}.pickle"))',
];

/** After each step, in the wording of Megatron-LM's own memory line, which is read back as such. */
const MEMORY_LINE: readonly string[] = [
  'mib = lambda n: f"{n / 2**20:.2f}"',
  'print(f"[Rank {rank}] (after {iteration} iterations) memory (MB) | allocated: {mib(torch.cuda.memory_allocated())}"',
  '      f" | max allocated: {mib(torch.cuda.max_memory_allocated())} | reserved: {mib(torch.cuda.memory_reserved())}"',
  '      f" | max reserved: {mib(torch.cuda.max_memory_reserved())}", flush=True)',
];

const ALL_RANKS: readonly string[] = ['srun --label --output=log-%x-%j-%n.out …'];
const TORCHRUN_RANKS: readonly string[] = ['torchrun --log-dir logs --redirects 3 --tee 3 …'];

const NVIDIA_SMI: readonly string[] = [
  'nvidia-smi --query-gpu=timestamp,index,memory.total,memory.used --format=csv -l 10 > gpus.csv &',
  'nvidia-smi --query-compute-apps=timestamp,gpu_uuid,pid,used_memory --format=csv -l 10 > processes.csv &',
];

const NCCL: readonly string[] = ['export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ALLOC'];

const HOST: readonly string[] = [
  'dmesg -T | grep -iE "out of memory|killed process"',
  'cat /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory.peak',
  'df -h /dev/shm',
];

function everywhere(lines: readonly string[]): CaptureLines {
  return { megatron_bridge: lines, nemo: lines, megatron_lm: lines, pytorch: lines };
}

/**
 * Flags and fields are those of the frameworks' source; `RANK` is a placeholder for a failed rank, or for one rank of
 * each pipeline stage.
 */
export const CAPTURES: Readonly<Record<CaptureId, Capture>> = {
  snapshot_at_oom: {
    title: 'a memory snapshot of a rank that fails, dumped at the OOM',
    lines: {
      // Writes <base>_oom_rank-<rank>.pickle on the profiled ranks only; an empty list would record none.
      megatron_bridge: [
        'cfg.profiling = ProfilingConfig(record_memory_history=True, memory_snapshot_path="/results/snapshot.pickle", profile_ranks=[RANK])',
      ],
      // The plugin dumps only at the end of training, which a failing run never reaches.
      nemo: ['plugins=[MemoryProfilePlugin(dir="/results", ranks=[RANK])]', ...OBSERVER],
      // Rewritten at every log interval; without --profile-ranks on all ranks. The observer adds the dump at the OOM.
      megatron_lm: ['--record-memory-history --memory-snapshot-path /results/snapshot.pickle', ...OBSERVER.slice(1)],
      pytorch: OBSERVER,
    },
  },
  memory_each_iteration: {
    title: "the rank's allocated and reserved memory after every iteration",
    lines: {
      megatron_bridge: MEMORY_LINE,
      nemo: MEMORY_LINE,
      megatron_lm: ['--log-interval 1 --log-memory-interval 1'],
      pytorch: MEMORY_LINE,
    },
  },
  whole_oom_message: {
    title: 'the whole OOM message of the rank that failed: its own log, uncut',
    lines: { megatron_bridge: ALL_RANKS, nemo: ALL_RANKS, megatron_lm: TORCHRUN_RANKS, pytorch: TORCHRUN_RANKS },
  },
  device_total: {
    title:
      "the device's total and who holds it: the OOM message of this rank, --capacity, or nvidia-smi while the job runs",
    lines: {
      ...everywhere(NVIDIA_SMI),
      megatron_lm: ['--log-device-memory-used', ...NVIDIA_SMI],
    },
  },
  refusing_limit: {
    title: 'the limits of the process, printed in it before the allocation that fails',
    lines: everywhere([
      'print(torch.cuda.get_per_process_memory_fraction(), torch.cuda.mem_get_info(), torch.cuda.device_count())',
      'cat /sys/fs/cgroup/memory.max; ulimit -l; ulimit -v; nvidia-smi -L; env | grep VISIBLE_DEVICES',
    ]),
  },
  nccl_memory: { title: 'what NCCL allocates, buffer by buffer', lines: everywhere(NCCL) },
  host_memory: { title: 'the process that the kernel killed on the host, and the limit', lines: everywhere(HOST) },
  output_of_rank: {
    title: 'the output of the process that ended first',
    lines: { megatron_bridge: ALL_RANKS, nemo: ALL_RANKS, megatron_lm: TORCHRUN_RANKS, pytorch: TORCHRUN_RANKS },
  },
  logs_of_all_ranks: {
    title: 'the logs of all ranks, not of rank 0 alone',
    lines: { megatron_bridge: ALL_RANKS, nemo: ALL_RANKS, megatron_lm: TORCHRUN_RANKS, pytorch: TORCHRUN_RANKS },
  },
};
