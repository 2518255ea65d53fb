/**
 * Training logs composed of real ones: launches of one file, one after another, each ended in a known way, with lines
 * of ranks interleaved. The expected reading follows from the composition, not from the reader.
 */
import { type ComposedEnding, type Draw, drawFrom, type FirstFailing, type LaunchEndLines } from './end-lines.js';
import { ENDINGS } from './launch-ends.js';

/** One launch of a real log without its end. */
export interface LaunchBody {
  readonly name: string;
  readonly lines: readonly string[];
  /** Whether ranks may print it all, which needs a text without their marks. */
  readonly repeatable: boolean;
}

export interface ComposedLaunch {
  readonly ending: ComposedEnding;
  /** As the last progress line of its text prints; null without one. */
  readonly lastIteration: number | null;
  readonly body: string;
  /** Undefined: its end was not made to show one. */
  readonly first: FirstFailing | undefined;
  /** Of a trial: what differs from the other trials. */
  readonly setting: { readonly key: string; readonly value: string } | undefined;
}

export interface ComposedLog {
  readonly name: string;
  readonly text: string;
  readonly launches: readonly ComposedLaunch[];
}

const PROGRESS = /(?:\biteration\s+(\d+)\/\s*\d+ \||\bstep:\s+(\d+)\s+loss:)/;
const END =
  /Killing subprocess|CANCELLED AT|slurmstepd|Job step aborted|received SIG|Traceback|ENDING TIMING|^\s*\d*:?\s*RESULT,|run_stop|Training completed|train_runtime|after training is done|saving checkpoint|UCC {2}WARN|\*\*\*\*\* train metrics|Saving model checkpoint/;

/**
 * The launch that a log of one launch holds, without its end; null if it is shorter than a launch.
 *
 * @param mostLines NCCL's own lines are thinned out beyond that.
 */
export function bodyOf(name: string, text: string, mostLines: number): LaunchBody | null {
  const all = text.replaceAll('\r', '').split('\n');
  const end = all.findIndex((line) => END.test(line));
  const body = end < 0 ? all : all.slice(0, end);
  let spare = body.length - mostLines;
  const lines = body.filter((line) => {
    if (spare <= 0 || !line.includes('NCCL INFO')) return true;
    spare -= 1;
    return false;
  });
  if (lines.length < 4) return null;
  const marked = lines.some((line) => /^\s*(?:\[default\d+\]|\[rank\d+\]|\d+):/i.test(line));
  return { name, lines, repeatable: !marked };
}

export const lastIterationOf = (lines: readonly string[]): number | null => {
  const line = lines.findLast((text) => PROGRESS.test(text));
  const match = line === undefined ? null : PROGRESS.exec(line);
  return match === null ? null : Number(match[1] ?? match[2]);
};

/** Lines that mention memory in a log without a failure. */
const DISTRACTIONS: readonly string[] = [
  '[2026-03-02 10:59:01,311] [WARNING] [stage3.py:1949:step] 1 pytorch allocator cache flushes since last step. this happens when there is high memory pressure and is detrimental to performance.',
  '  exit_on_oom ..................................... False',
  'hint: set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True if you run out of memory',
  'WARNING: evaluation reads 4 batches; reduce eval_batch_size to save memory',
];

/** Shorter bodies are excerpts that begin behind the banners of their launch. */
const EXCERPT_LINES = 40;

const ENDING_ORDER = Object.keys(ENDINGS) as ComposedEnding[];

/** Cut behind a progress line, never the first if there are several: a launch whose iterations are its own. */
function cutBody({ lines }: LaunchBody, draw: Draw): readonly string[] {
  const progress = lines.flatMap((line, i) => (PROGRESS.test(line) ? [i] : []));
  if (progress.length < 3) return lines;
  return lines.slice(0, progress[1 + draw(progress.length - 1)]! + 1);
}

/** First line of a training process, behind those of job scripts and launchers. */
const PROCESS = /using world size|:::MLLOG|\[titan\]|Initializing distributed|\[INFO\|/;

/**
 * Every writer prints the lines of its process, marked or not; their order differs from line to line.
 *
 * @param mostAhead lines that one writer is before another
 */
function interleave(
  lines: readonly string[],
  marks: readonly string[],
  mostAhead: number,
  from: number,
  draw: Draw,
): string[] {
  const next = marks.map(() => from);
  const merged = lines.slice(0, from);
  while (merged.length < from + marks.length * (lines.length - from)) {
    const behind = Math.min(...next);
    const writer = draw(marks.length);
    if (next[writer]! >= lines.length || next[writer]! > behind + mostAhead) continue;
    merged.push(marks[writer]! + lines[next[writer]!]!);
    next[writer]! += 1;
  }
  return merged;
}

/** Ranks of one program stay within a few lines of each other: collectives keep them together. */
const RANKS_AHEAD = 6;
/** Two nodes whose output is collected at intervals. */
const NODES_AHEAD = 30;

function byRanks(lines: readonly string[], ranks: number, style: number, draw: Draw): string[] {
  const from = lines.findIndex((line) => PROCESS.test(line));
  if (from < 0) return [...lines];
  const marks = Array.from({ length: ranks }, (_, rank) => {
    const padded = String(rank).padStart(String(ranks - 1).length);
    return [`[rank${rank}]: `, `${padded}: `, `[default${rank}]:`][style]!;
  });
  if (draw(3) > 0) return interleave(lines, marks, RANKS_AHEAD, from, draw);
  // The output of one rank is buffered, and comes when it ends.
  const late = marks.pop()!;
  return [...interleave(lines, marks, RANKS_AHEAD, from, draw), ...lines.slice(from).map((line) => late + line)];
}

/** What is printed on standard error, which is not buffered. */
const STANDARD_ERROR = /warn|OMP_NUM_THREADS|^\s*\*{10,}\s*$|^\+|^[WE]\d{4} |error:/i;

/** How the two streams of a launch came into one file. */
const STREAMS = ['in order', 'in order', 'in order', 'buffered output', 'blocks', 'error first'] as const;

/** The lines of a launch in the order of the file. */
function joinStreams(lines: readonly string[], end: LaunchEndLines, isOnly: boolean, draw: Draw): string[] {
  const { err = [], out = [], launcher = [] } = end;
  const how = STREAMS[draw(STREAMS.length)]!;
  const inOrder = [...lines, ...out, ...err, ...launcher];
  if (how === 'in order') return inOrder;
  const isError = (line: string): boolean => STANDARD_ERROR.test(line);
  // A file is one launch after the other: what is printed first must show that a launch has begun.
  if (!isOnly && !LAUNCHER_START.test(lines[0] ?? '')) return inOrder;
  const errors = [...lines.filter(isError), ...err];
  const output = [...lines.filter((line) => !isError(line)), ...out];
  if (how === 'buffered output') return [...errors, ...output, ...launcher];
  if (how === 'error first') return isOnly ? [...errors, ...launcher, ...output] : [...errors, ...output, ...launcher];
  // Output comes in blocks of a buffer each, after the errors printed meanwhile; the last block when the process ends.
  const merged: string[] = [];
  let block: string[] = [];
  let size = 20 + draw(100);
  for (const line of lines) {
    if (isError(line)) merged.push(line);
    else block.push(line);
    if (block.length < size) continue;
    merged.push(...block);
    block = [];
    size = 20 + draw(100);
  }
  return [...merged, ...err, ...block, ...out, ...launcher];
}

const LAUNCHER_START = /^\+ (?:torchrun|srun)|OMP_NUM_THREADS|launcher\.launch/;

/** `count` logs of `bodies`, equal for equal seeds. */
export function composeLogs(bodies: readonly LaunchBody[], count: number, seed: number): ComposedLog[] {
  return Array.from({ length: count }, (_, i) => {
    const draw = drawFrom(seed * 65_537 + i * 7919 + 1);
    for (let skip = 0; skip < 8; skip += 1) draw(2);
    return i % 5 === 4 ? composeSweep(bodies, i, draw) : composeLog(bodies, i, draw);
  });
}

/** A launcher that `srun` starts, one on each node: a task is a node. */
const STARTS_RANKS = /torchrun|torch\.distributed|OMP_NUM_THREADS|deepspeed\.launcher|launch\.py|\[default\d/i;
/** Ranks that print themselves: tasks may be ranks or nodes. */
const PRINTS_RANKS = /\brank[ :]{0,2}\d|\[rank|GLOBAL_RANK/i;

/** What shows that tasks are nodes may be anywhere in the file. */
function checkTasks(launches: readonly ComposedLaunch[], lines: readonly string[]): readonly ComposedLaunch[] {
  const areNodes = lines.some((line) => STARTS_RANKS.test(line));
  if (!areNodes && !lines.some((line) => PRINTS_RANKS.test(line))) return launches;
  return launches.map((launch) => {
    if (launch.first?.isTask !== true) return launch;
    return { ...launch, first: areNodes ? { ...launch.first, rank: null } : undefined };
  });
}

const nameOf = (index: number): string => `composed-${String(index).padStart(3, '0')}`;
const endOf = (ending: ComposedEnding, draw: Draw, last: number | null): LaunchEndLines => {
  const variants = ENDINGS[ending];
  const end = variants[draw(variants.length)]!(draw, last);
  return 'length' in end ? { launcher: end } : end;
};

function composeLog(bodies: readonly LaunchBody[], index: number, draw: Draw): ComposedLog {
  // A third have one launch, so that false launches show as well as missed ones.
  const launchCount = [1, 1, 2, 2, 3, 1, 4, 2][index % 8]!;
  const isAlike = draw(3) > 0;
  const first = bodies[draw(bodies.length)]!;
  const parts: string[] = [];
  const launches: ComposedLaunch[] = [];
  // Nothing shows where an excerpt of another program begins.
  const launched = bodies.filter(({ lines }) => lines.length >= EXCERPT_LINES);
  const chosen = Array.from({ length: launchCount }, (_, n) =>
    isAlike || n === 0 ? first : launched[draw(launched.length)]!,
  );
  for (const [n, body] of chosen.entries()) {
    const isLast = n === launchCount - 1;
    let ending = ENDING_ORDER[(index * 3 + n * 7 + draw(3)) % ENDING_ORDER.length]!;
    // Between an excerpt without a banner and text that breaks off before it, nothing shows a launch.
    if (ending === 'stopped' && !isLast && chosen[n + 1]!.lines.length < EXCERPT_LINES) ending = 'cancelled';
    let lines = [...cutBody(body, draw)];
    const last = lastIterationOf(lines);
    if (draw(4) === 0) lines.splice(Math.floor(lines.length / 2), 0, DISTRACTIONS[draw(DISTRACTIONS.length)]!);
    // Labels of `srun` are on all lines of a file or on none.
    const style = launchCount > 1 ? 2 * draw(2) : draw(3);
    const isRepeated = body.repeatable && lines.length >= EXCERPT_LINES && lines.length < 4000 ? draw(8) : -1;
    if (isRepeated === 0 || isRepeated === 1) lines = byRanks(lines, 2 + draw(7), style, draw);
    else if (isRepeated === 2) {
      const from = Math.max(
        0,
        lines.findIndex((line) => PROCESS.test(line)),
      );
      const marks = launchCount === 1 && draw(2) === 0 ? ['node01: ', 'node02: '] : ['', ''];
      lines = interleave(lines, marks, NODES_AHEAD, from, draw);
    }
    const end = endOf(ending, draw, last);
    parts.push(...joinStreams(lines, end, launchCount === 1, draw));
    launches.push({ ending, lastIteration: last, body: body.name, first: end.first, setting: undefined });
    if (!isLast && draw(3) === 0) parts.push('', '');
  }
  return { name: nameOf(index), text: `${parts.join('\n')}\n`, launches: checkTasks(launches, parts) };
}

/** Settings that sweeps vary: as a flag of a command line. */
const SWEPT: readonly (readonly [key: string, values: readonly string[]])[] = [
  ['micro_batch_size', ['1', '2', '4', '8', '16', '32']],
  ['seq_length', ['2048', '4096', '8192', '16384', '32768', '65536']],
  ['per_device_train_batch_size', ['1', '2', '3', '4', '6', '8']],
  ['recompute_num_layers', ['1', '2', '4', '8', '12', '16']],
];
const SWEEP_ENDS: readonly ComposedEnding[] = ['oom', 'finished', 'failed', 'killed', 'finished', 'oom'];

/** How a sweep announces a trial, and reports its end. */
const SWEEPS: readonly {
  readonly before: (n: number, key: string, value: string, draw: Draw) => readonly string[];
  readonly after?: (n: number, key: string, value: string, end: ComposedEnding) => readonly string[];
}[] = [
  {
    before: (_, key, value) => [
      `+ for value in 1 2 4 8`,
      `+ torchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py --${key.replaceAll('_', '-')} ${value} --train-iters 200 --bf16`,
    ],
  },
  {
    before: (_, key, value) => [`+ srun --label=0 python -u train.py --num-layers 32 --${key}=${value} --bf16`],
  },
  {
    before: (n, key, value) => [
      'wandb: Sweep Agent: Waiting for job.',
      'wandb: Job received.',
      `wandb: Agent Starting Run: mu8l3q8${n} with config:`,
      `wandb: \t${key}: ${value}`,
      'wandb: \tlearning_rate: 0.0003',
    ],
    after: (n, _, __, end) => [
      `wandb: Find logs at: ./wandb/run-20260302_110741-mu8l3q8${n}/logs`,
      ...(end === 'finished' ? [] : [`wandb: ERROR Run mu8l3q8${n} errored: RuntimeError('')`]),
    ],
  },
  {
    before: (n, key, value) => [
      '2026-03-02 11:07:41,351 - wandb.wandb_agent - INFO - Agent received command: run',
      '2026-03-02 11:07:41,352 - wandb.wandb_agent - INFO - Agent starting run with config:',
      `\t${key}: ${value}`,
      '\tlearning_rate: 0.0003',
      `2026-03-02 11:07:41,353 - wandb.wandb_agent - INFO - About to run command: /usr/bin/env python train.py --${key}=${value} --learning_rate=0.0003`,
      `2026-03-02 11:07:46,353 - wandb.wandb_agent - INFO - Running runs: ['wu661ic${n}']`,
    ],
    after: (n) => [`2026-03-02 11:07:49,353 - wandb.wandb_agent - INFO - Cleaning up finished run: wu661ic${n}`],
  },
];

/** Trials of one program with a setting that differs, one after another. */
function composeSweep(bodies: readonly LaunchBody[], index: number, draw: Draw): ComposedLog {
  const long = bodies.filter(({ lines, repeatable }) => lines.length >= EXCERPT_LINES && repeatable);
  const body = long[draw(long.length)]!;
  const [key, values] = SWEPT[draw(SWEPT.length)]!;
  const sweep = SWEEPS[draw(SWEEPS.length)]!;
  const parts: string[] = [];
  const launches: ComposedLaunch[] = [];
  const printed = new RegExp(`^(.*\\b${key}\\s?\\.{3,80}\\s)\\d+`);
  for (const [n, value] of values.slice(0, 3 + draw(4)).entries()) {
    const ending = SWEEP_ENDS[draw(SWEEP_ENDS.length)]!;
    const lines = cutBody(body, draw).map((line) => line.replace(printed, `$1${value}`));
    const last = lastIterationOf(lines);
    const end = endOf(ending, draw, last);
    const start = sweep.before(n, key, value, draw);
    parts.push(...start, ...joinStreams(lines, end, false, draw), ...(sweep.after?.(n, key, value, ending) ?? []));
    launches.push({
      ending,
      lastIteration: last,
      body: body.name,
      first: end.first,
      setting: { key, value },
    });
  }
  return { name: nameOf(index), text: `${parts.join('\n')}\n`, launches: checkTasks(launches, parts) };
}
