/** The files that are measured: made once, kept in the scratch directory, and read once before every use. */
import { createReadStream, existsSync } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { oomMessage } from '../samples/generate/write/oom-message.js';
import { GIB, KIB, MIB } from '../src/model/units.js';
import { packageRoot } from '../src/store/load-queries.js';
import { type BenchContext, requirePython, Skip } from './case.js';
import { HOSTILE_LINES } from './hostile-lines.js';
import { nsysExportSql } from './nsys-export.js';

const RECORD_CHILD = join(packageRoot(), 'dist', 'bench', 'record-child.js');

export interface Input {
  readonly file: string;
  readonly bytes: number;
}

/** @throws {Skip} without Python, or if the file is not there and cannot be made. */
export async function snapshotInput(context: BenchContext, events: number): Promise<Input> {
  return generated(context, join(context.directory, `snapshot-${events}.pickle`), ['--entries', String(events)]);
}

/**
 * The same snapshot as `json.dumps` writes it: 32 times the bytes.
 *
 * @throws {Skip} as {@link snapshotInput}.
 */
export async function jsonInput(context: BenchContext, events: number): Promise<Input> {
  const { file: pickle } = await snapshotInput(context, events);
  const { executable } = requirePython(context);
  const convert =
    "import json, pickle, sys\nopen(sys.argv[2], 'w').write(json.dumps(pickle.load(open(sys.argv[1], 'rb'))))";
  return prepared(join(context.directory, `snapshot-${events}.json`), async (partial) => {
    context.progress(`  converting ${pickle}`);
    await context.timer.run(executable, ['-c', convert, pickle, partial]);
  });
}

/** A snapshot whose trace obeys the allocator's rules: see `recorded-training.ts`. */
export async function recordingInput(context: BenchContext, events: number): Promise<Input> {
  return prepared(join(context.directory, `recording-${events}.pickle`), async (partial) => {
    context.progress(`  recording ${events} entries`);
    await context.timer.run(process.execPath, ['--max-old-space-size=8192', RECORD_CHILD, String(events), partial]);
  });
}

/** An export of Nsight Systems with so many kernels: see `nsys-export.ts`. The `sqlite3` program must be there. */
export async function nsysInput(context: BenchContext, kernels: number): Promise<Input> {
  return prepared(join(context.directory, `nsys-${kernels}.sqlite`), async (partial) => {
    context.progress(`  generating an export of ${kernels} kernels`);
    await rm(partial, { force: true });
    await context.timer.run('sqlite3', ['-bail', partial, nsysExportSql(kernels)]);
  });
}

export interface RankInputs {
  /** Holds the files and nothing else. */
  readonly directory: string;
  readonly files: readonly Input[];
}

/**
 * One snapshot for each rank of a run. Each has its own seed and so its own stacks, which real ranks mostly share: the
 * dictionaries get eight times the work they would have.
 *
 * @throws {Skip} as {@link snapshotInput}.
 */
export async function rankInputs(context: BenchContext, events: number, ranks: number): Promise<RankInputs> {
  const directory = join(context.directory, `ranks-${events}`);
  await mkdir(directory, { recursive: true });
  const files: Input[] = [];
  for (let rank = 0; rank < ranks; rank += 1) {
    const file = join(directory, `snapshot_${rank}.pickle`);
    files.push(await generated(context, file, ['--entries', String(events), '--seed', String(rank)]));
  }
  return { directory, files };
}

async function generated(context: BenchContext, file: string, args: readonly string[]): Promise<Input> {
  // Also where the file is there already: every case that reads it compares with Python.
  const { executable } = requirePython(context);
  return prepared(file, async (partial) => {
    if (!existsSync(context.generator))
      throw new Skip(`neither ${file} nor its generator ${context.generator} exists (MBF_BENCH_GENERATOR)`);
    context.progress(`  generating ${file}`);
    await context.timer.run(executable, [context.generator, ...args, partial]);
  });
}

/** One line in so many is the last of a traceback. */
export const LINES_PER_INCIDENT = 1000;

/** A log of 16 ranks of the given size (MB), without failures or with one every {@link LINES_PER_INCIDENT} lines. */
export async function logInput(context: BenchContext, megabytes: number, kind: 'clean' | 'incidents'): Promise<Input> {
  return prepared(join(context.directory, `log-${megabytes}mb-${kind}.out`), async (partial) => {
    const handle = await open(partial, 'w');
    try {
      await writeLog(handle, megabytes * 1e6, kind === 'incidents');
    } finally {
      await handle.close();
    }
  });
}

/** One of {@link HOSTILE_LINES}, repeated. */
export async function hostileLogInput(context: BenchContext, name: string, bytes: number): Promise<Input> {
  const unit = HOSTILE_LINES[name]!;
  const index = Object.keys(HOSTILE_LINES).indexOf(name);
  return prepared(join(context.directory, `hostile-${index}-${bytes}.out`), async (partial) => {
    await writeFile(partial, unit.repeat(Math.ceil(bytes / Buffer.byteLength(unit))));
  });
}

/**
 * Makes the file unless it is there, under another name first: an interrupted run must not leave half a file to be
 * measured.
 */
async function prepared(file: string, make: (partial: string) => Promise<void>): Promise<Input> {
  if (!existsSync(file)) {
    const partial = `${file}.${process.pid}.tmp`;
    await make(partial);
    await rename(partial, file);
  }
  for await (const _ of createReadStream(file, { highWaterMark: 4 * MIB }));
  return { file, bytes: (await stat(file)).size };
}

export const TEXT_RANKS = 1024;

/**
 * A log of {@link TEXT_RANKS} interleaved ranks: srun labels, iteration and memory lines, timers, NCCL's and loggers'
 * chatter, warnings.
 */
export async function textInput(context: BenchContext, megabytes: number): Promise<Input> {
  return prepared(join(context.directory, `text-${megabytes}mb.out`), async (partial) => {
    const handle = await open(partial, 'w');
    try {
      await writeText(handle, megabytes * 1e6);
    } finally {
      await handle.close();
    }
  });
}

const CHATTER = (rank: number, step: number): readonly string[] => [LINES[3]!(rank, step), LINES[3]!(rank + 1, step)];
const WARNING = (rank: number, step: number): readonly string[] => [LINES[7]!(rank, step), '  warnings.warn('];
const LOGGER = (rank: number, step: number): readonly string[] => [
  `[Gloo] Rank ${rank} is connected to ${TEXT_RANKS - 1} peer ranks. Expected number of connected peer ranks is : ${TEXT_RANKS - 1}`,
  `2025-11-18 09:12:04,${100 + (step % 900)} - megatron.core.optimizer - INFO - param group ${step % 7} holds ${rank * 17} tensors of rank ${rank}`,
];
/**
 * What one rank prints in a step of such a run. Mostly noise, as with NCCL_DEBUG=INFO; about one line in ten is read: a
 * memory line of every rank (`--log-memory-interval`), bucket sizes, checkpoints.
 */
const STEP_LINES: readonly ((rank: number, step: number) => readonly string[])[] = [
  ...Array.from({ length: 9 }, () => CHATTER),
  ...Array.from({ length: 4 }, () => WARNING),
  ...Array.from({ length: 3 }, () => LOGGER),
  (rank, step) => [LINES[1]!(rank, step)],
  (rank, step) => [LINES[1]!(rank, step)],
  (rank, step) => [LINES[4]!(rank, step), LINES[5]!(rank, step), LINES[5]!(rank, step + 1)],
  (rank, step) => [LINES[6]!(rank, step)],
];

async function writeText(handle: FileHandle, bytes: number): Promise<void> {
  let text = '';
  let written = 0;
  for (let step = 1; written < bytes; step += 1) {
    for (let at = 0; at < TEXT_RANKS && written < bytes; at += 1) {
      // A stride prime to the number of ranks: they come in no order.
      const rank = (at * 389 + step * 7) % TEXT_RANKS;
      const label = `${String(rank).padStart(4)}: `;
      const lines = [...STEP_LINES[(at + step) % STEP_LINES.length]!(rank, step)];
      if (rank === 0) lines.push(LINES[2]!(rank, step));
      if (rank === TEXT_RANKS - 1) {
        lines.push(LINES[0]!(rank, step), '(min, max) time across ranks (ms):');
        for (const name of ['forward-backward', 'grads-reduce-scatter', 'optimizer']) {
          lines.push(
            `    ${`${name} `.padEnd(48, '.')}: (${(400 + (step % 9)).toFixed(2)}, ${(440 + (step % 7)).toFixed(2)})`,
          );
        }
      }
      for (const line of lines) text += `${label}${line}\n`;
      if (text.length > 4 * MIB) {
        await handle.write(text);
        written += text.length;
        text = '';
      }
    }
  }
  await handle.write(text);
}

const RANKS = 16;

/**
 * What a Megatron run prints all day; the words of memory, CUDA and NCCL occur, as they do in real logs, without being
 * failures.
 */
const LINES: readonly ((rank: number, step: number) => string)[] = [
  (_, step) =>
    ` [2025-11-18 09:12:04] iteration ${String(step).padStart(8)}/  500000 | consumed samples: ${String(step * 512).padStart(12)} | ` +
    `elapsed time per iteration (ms): 4${step % 1000}.1 | throughput per GPU (TFLOP/s/GPU): 612.4 | learning rate: 3.000000E-05 | ` +
    `global batch size:   512 | lm loss: 1.7${step % 97}215E+00 | loss scale: 1.0 | grad norm: 2.1${step % 89} | ` +
    'number of skipped iterations:   0 | number of nan iterations:   0 |',
  (rank, step) =>
    `[Rank ${rank}] (after ${step} iterations) memory (GB) | mem-allocated-gigabytes: 41.${step % 1000} | ` +
    'mem-reserved-gigabytes: 71.303 | mem-max-allocated-gigabytes: 68.719 | mem-max-reserved-gigabytes: 71.303 | mem-alloc-retires: 0',
  (rank, step) => `Step Time : 4.${step % 100}s GPU utilization: 61${rank % 10}.4MODEL_TFLOP/s/GPU`,
  (rank, step) =>
    `gpu-node-017:${1309 + rank}:${2044 + (step % 50)} [${rank % 8}] NCCL INFO Channel 0${step % 8}/0 : ${rank}[${rank % 8}] -> 9[1] via P2P/CUMEM`,
  (rank, step) =>
    `INFO:megatron.core.distributed.param_and_grad_buffer:Params for bucket ${step % 64} (${4194304 + rank} elements)`,
  (_, step) => `\tmodule.decoder.layers.${step % 80}.self_attention.linear_qkv.layer_norm_weight`,
  (rank, step) =>
    `[NeMo I 2025-11-18 09:12:04 nemo_logging:393] rank ${rank}: saving checkpoint at iteration ${step}, 12.4 GB written`,
  (_, step) =>
    `/opt/venv/lib/python3.12/site-packages/torch/autograd/graph.py:${step % 900}: UserWarning: non-writable tensor`,
];

function traceback(rank: number, step: number): string[] {
  const requestedBytes = (100 + (step % 2000)) * MIB;
  const message = oomMessage(
    {
      requestedBytes,
      roundedBytes: requestedBytes,
      segmentBytes: requestedBytes,
      stream: 0,
      deviceTotalBytes: 79.1 * GIB,
      deviceFreeBytes: 61 * MIB,
      processBytes: 79 * GIB,
      allowedBytes: null,
      allocatedBytes: 71.5 * GIB,
      reservedBytes: 77.2 * GIB,
      privatePoolFreeBytes: 0,
    },
    rank % 8,
  );
  return [
    'Traceback (most recent call last):',
    '  File "/opt/megatron/training/training.py", line 812, in train_step',
    '    losses = forward_backward_func(forward_step_func=forward_step_func)',
    `torch.OutOfMemoryError: ${message}`,
  ];
}

async function writeLog(handle: FileHandle, bytes: number, hasIncidents: boolean): Promise<void> {
  let text = '';
  let written = 0;
  for (let line = 0; written < bytes; line += 1) {
    const rank = line % RANKS;
    const step = Math.floor(line / RANKS);
    // A stride prime to the number of ranks, so that every rank prints every kind of line.
    const body = LINES[(line * 5 + step) % LINES.length]!(rank, step);
    text += `[default${rank % 8}]:${body}\n`;
    if (hasIncidents && line % LINES_PER_INCIDENT === LINES_PER_INCIDENT - 1) {
      for (const part of traceback(rank, step)) text += `[rank${rank}]: ${part}\n`;
    }
    if (text.length > 64 * KIB) {
      written += (await handle.write(text)).bytesWritten;
      text = '';
    }
  }
}
