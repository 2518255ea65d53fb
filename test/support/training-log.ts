/** Logs of small trainings, as Megatron-LM prints them: what two runs are compared by without a snapshot. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface TrainingLog {
  readonly iterations?: number;
  readonly target?: number;
  /** Step time of iteration i, from 1. */
  readonly stepMs?: (iteration: number) => number;
  readonly tflops?: (iteration: number) => number;
  readonly loss?: (iteration: number) => number | 'nan';
  /** MiB by rank: at the first memory line, and at the later one. */
  readonly peaks?: readonly { readonly rank: number; readonly first: number; readonly later: number }[];
  /** As launchers and frameworks print them. */
  readonly arguments?: Readonly<Record<string, string | number>>;
  /** Lines before and after the iterations. */
  readonly before?: readonly string[];
  readonly after?: readonly string[];
  /** Whether the log reports that training is done. */
  readonly finished?: boolean;
}

const time = (second: number): string =>
  new Date(Date.UTC(2026, 1, 3, 4, 5, second)).toISOString().slice(0, 19).replace('T', ' ');

export function trainingLog(log: TrainingLog = {}): string {
  const { iterations = 10, stepMs = () => 1000, tflops = () => 700, loss = (i) => 10 - 0.1 * i, finished = true } = log;
  const target = log.target ?? iterations;
  const lines: string[] = [];
  const settings = Object.entries(log.arguments ?? {});
  if (settings.length > 0) {
    lines.push('------------------------ arguments ------------------------');
    for (const [key, value] of settings) lines.push(`  ${key} ${'.'.repeat(Math.max(2, 48 - key.length))} ${value}`);
    lines.push('-------------------- end of arguments ---------------------');
  }
  lines.push(...(log.before ?? []), `[before the start of training step] datetime: ${time(0)} `);
  const memory = (iteration: number, later: boolean): void => {
    for (const { rank, first, later: last } of log.peaks ?? []) {
      const peak = later ? last : first;
      lines.push(
        `[Rank ${rank}] (after ${iteration} iterations) memory (MB) | allocated: ${(peak * 0.6).toFixed(4)} | max allocated: ${peak.toFixed(4)} | reserved: ${(peak * 1.1).toFixed(1)} | max reserved: ${(peak * 1.12).toFixed(1)}`,
      );
    }
  };
  for (let i = 1; i <= iterations; i += 1) {
    const value = loss(i);
    lines.push(
      ` [${time(i)}.123456] iteration ${String(i).padStart(8)}/${String(target).padStart(8)} | consumed samples: ${String(32 * i).padStart(12)} | elapsed time per iteration (ms): ${stepMs(i).toFixed(1)} | throughput per GPU (TFLOP/s/GPU): ${tflops(i).toFixed(1)} | learning rate: 1.500000E-04 | global batch size:    32 | lm loss: ${value === 'nan' ? 'nan' : value.toExponential(6).toUpperCase()} | loss scale: 1.0 | grad norm: 1.234 | num zeros: 0 | number of skipped iterations:   0 | number of nan iterations:   0 |`,
    );
    if (i === 1) memory(1, false);
    if (i === 2) memory(2, true);
  }
  lines.push(...(log.after ?? []));
  if (finished) lines.push(`[after training is done] datetime: ${time(iterations + 1)} `);
  return `${lines.join('\n')}\n`;
}

/** A run directory with one log; returns its path. */
export function writeTraining(parent: string, name: string, log: TrainingLog = {}): string {
  const directory = join(parent, name);
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'train.log'), trainingLog(log));
  return directory;
}

/** The message of PyTorch 2.6 when memory runs out: `asked` and the other figures in GiB. */
export function oomLines(rank: number, asked = 2, allocated = 70, reservedFree = 0.5): string[] {
  return [
    `[rank${rank}]: Traceback (most recent call last):`,
    `[rank${rank}]:   File "/opt/megatron/core/transformer/mlp.py", line 150, in forward`,
    `[rank${rank}]:     intermediate = self.linear_fc1(hidden)`,
    `[rank${rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate ${asked.toFixed(2)} GiB. GPU ${rank} has a total capacity of 79.11 GiB of which 0.80 GiB is free. Including non-PyTorch memory, this process has 78.30 GiB memory in use. Of the allocated memory ${allocated.toFixed(2)} GiB is allocated by PyTorch, and ${reservedFree.toFixed(2)} GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)`,
  ];
}

export const NCCL_TIMEOUT = [
  '[rank3]:[E203 04:35:06.000000000 ProcessGroupNCCL.cpp:629] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1234, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600029 milliseconds before timing out.',
  '[rank3]:[E203 04:35:06.000000001 ProcessGroupNCCL.cpp:681] [Rank 3] To avoid data inconsistency, we are taking the entire process down.',
];
