/**
 * The log of all ranks in one file, as nemo-run keeps it: lines of Megatron Bridge, then the tracebacks. Every memory figure comes from
 * the simulated allocators, every duration from the simulated clocks.
 */
import { oomMessage } from '../../../src/allocator/oom-message.js';
import type { Gauge } from '../../../src/allocator/statistics.js';
import { MIB } from '../../../src/model/units.js';
import { type FailedRank, GPUS, type Scenario, START_US } from '../scenario.js';
import { createRandom } from '../simulate/random.js';
import { gradientBuckets, type RankRun, stageParameters } from '../simulate/training-run.js';
import { globalBatchSize, SNAPSHOT_PATH, TRAIN_ITERATIONS } from './run-config.js';

const HOST = 'h100-node-017';
const FIRST_PID = 1309;

/** Where the OOM observer of a rank writes. */
export function oomSnapshotName(rank: number): string {
  return `${SNAPSHOT_PATH.split('/').at(-1)!.replace('.pickle', '')}_oom_rank-${rank}.pickle`;
}

export function runLog(scenario: Scenario): string {
  const lines: string[] = [];
  const say = (rank: number, text: string): void => {
    for (const line of text.split('\n')) lines.push(`[default${rank}]:${line}`);
  };
  setupLines(scenario, lines, say);
  trainingLines(scenario, say);
  failureLines(scenario, lines, say);
  return `${lines.join('\n')}\n`;
}

type Say = (rank: number, text: string) => void;

/** `2025-11-18 09:12:04` in UTC. */
function clock(us: number): string {
  return new Date(us / 1000).toISOString().slice(0, 19).replace('T', ' ');
}

function setupLines(scenario: Scenario, lines: string[], say: Say): void {
  const { plan, ranks } = scenario;
  const { shape, pipelineStages, dataParallel } = plan;
  const trainingStart = ranks[0]!.iterations[0]!.startUs;
  lines.push(`W1118 09:12:04.318000 1204 torch/distributed/run.py:774] `);
  lines.push('W1118 09:12:04.318000 1204 torch/distributed/run.py:774] *****************************************');
  lines.push(
    'W1118 09:12:04.318000 1204 torch/distributed/run.py:774] Setting OMP_NUM_THREADS environment variable for each process to be 1 ' +
      'in default, to avoid your system being overloaded, please further tune the variable for optimal performance in your application ' +
      'as needed. ',
  );
  lines.push('W1118 09:12:04.318000 1204 torch/distributed/run.py:774] *****************************************');
  say(0, `INFO:megatron.bridge.training.initialize:initializing torch distributed ...`);
  say(0, `> initialized tensor model parallel with size 1`);
  say(0, `> initialized pipeline model parallel with size ${pipelineStages}`);
  say(0, `> setting random seeds to 1234 ...`);
  say(0, `time to initialize megatron (seconds): 11.274`);
  say(0, `[after megatron is initialized] datetime: ${clock(START_US + 19_000_000)} `);
  for (const { process } of scenario.failed) {
    say(
      process.rank,
      `Memory history recording enabled (rank ${process.rank}); snapshots will be written to '${SNAPSHOT_PATH}'.`,
    );
  }
  for (let stage = 0; stage < pipelineStages; stage += 1) {
    const parameters = stageParameters(shape, stage, pipelineStages);
    const elements = parameters.reduce((sum, parameter) => sum + parameter.elements, 0);
    const rank = stage * dataParallel;
    say(rank, ` > number of parameters on (tensor, pipeline) model parallel rank (0, ${stage}): ${elements}`);
  }
  const buckets = gradientBuckets(stageParameters(shape, 0, pipelineStages), dataParallel);
  say(
    0,
    'INFO:megatron.core.distributed.distributed_data_parallel:Setting up DistributedDataParallel with config ' +
      'DistributedDataParallelConfig(grad_reduce_in_fp32=True, overlap_grad_reduce=True, overlap_param_gather=True, ' +
      `use_distributed_optimizer=True, bucket_size=${Math.max(40_000_000, 1_000_000 * dataParallel)}, average_in_collective=True)`,
  );
  say(
    0,
    'INFO:megatron.core.distributed.param_and_grad_buffer:Number of buckets for gradient all-reduce / reduce-scatter: ' +
      `${buckets.length}`,
  );
  buckets.forEach((bucket, index) => {
    say(
      0,
      `Params for bucket ${index + 1} (${bucket.elements} elements, ${bucket.elements} padded size, 0 param(s) with extra main_grads):`,
    );
    for (const parameter of bucket.parameters) say(0, `\t${parameter.name}`);
  });
  say(
    0,
    "INFO:megatron.core.optimizer:Setting up optimizer with config OptimizerConfig(optimizer='adam', lr=5e-06, bf16=True, " +
      'adam_beta1=0.9, adam_beta2=0.95, use_distributed_optimizer=True, overlap_param_gather=True, clip_grad=1.0)',
  );
  say(0, ` loading checkpoint from /checkpoints/llama3-8b at iteration 0`);
  say(
    0,
    `[after model, optimizer, and learning rate scheduler are built] datetime: ${clock(trainingStart - 4_000_000)} `,
  );
  say(0, `done with setup ...`);
  say(0, `training ...`);
  say(0, `Starting training loop at iteration 0`);
  say(0, `[before the start of training step] datetime: ${clock(trainingStart)} `);
}

/** Weights and optimizer of the largest shard by Megatron Bridge's estimate; without sequence parallelism it prints nothing else. */
function theoryLines(scenario: Scenario): string[] {
  const { hidden, feedForward, heads, queryGroups, layers, vocabulary } = scenario.plan.shape;
  const attention = 2 * hidden * hidden * (1 + queryGroups / heads);
  const dense = layers * (attention + 3 * hidden * feedForward + 4 * hidden) + 2 * hidden;
  const embedding = hidden * vocabulary;
  const shard = dense / scenario.plan.pipelineStages + embedding;
  const bytes = shard * (6 + 12 / scenario.plan.dataParallel);
  return [
    `Number of dense and embedding parameters in billions: ${((dense + 2 * embedding) / 1e9).toFixed(2)}`,
    `Total number of parameters in billions: ${((dense + 2 * embedding) / 1e9).toFixed(2)}`,
    `Number of dense and embedding parameters in most loaded shard in billions: ${(shard / 1e9).toFixed(4)}`,
    `Theoretical memory footprints: weight and optimizer=${(bytes / MIB).toFixed(2)} MB`,
    '',
  ];
}

/** Decimal gigabytes with five significant digits, as Python prints the float. */
function gigabytes(bytes: number): string {
  const value = Number((bytes / 1e9).toPrecision(5));
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

function memoryLine(run: RankRun, iteration: number): string {
  const { memory } = run.iterations[iteration]!;
  const gauges: readonly (readonly [string, Gauge])[] = [
    ['allocated', memory.allocatedBytes],
    ['active', memory.activeBytes],
    ['inactive', memory.inactiveSplitBytes],
    ['reserved', memory.reservedBytes],
  ];
  const fields = [
    ...gauges.map(([name, gauge]) => `mem-${name}-gigabytes: ${gigabytes(gauge.current)}`),
    ...gauges.map(([name, gauge]) => `mem-max-${name}-gigabytes: ${gigabytes(gauge.peak)}`),
    `mem-alloc-retires: ${memory.numAllocRetries}`,
    `mem-allocated-count: ${memory.allocation.current}`,
  ];
  return `[Rank ${run.process.rank}] (after ${iteration + 1} iterations) memory (GB) | ${fields.join(' | ')}`;
}

/** Floating-point operations of one iteration, forward and backward, attention included. */
function iterationFlops(scenario: Scenario, iteration: number): number {
  const { hidden, feedForward, heads, queryGroups, layers, vocabulary } = scenario.plan.shape;
  const perToken =
    6 * (layers * (2 * hidden * hidden * (1 + queryGroups / heads) + 3 * hidden * feedForward) + hidden * vocabulary);
  return scenario.plan.lengths[iteration]!.flat().reduce(
    (sum, tokens) => sum + tokens * (perToken + 6 * layers * hidden * tokens),
    0,
  );
}

function padded(value: number, width: number): string {
  return String(value).padStart(width);
}

/** `1.234567E+00`: Python's `.6E`. */
function scientific(value: number): string {
  return value
    .toExponential(6)
    .toUpperCase()
    .replace(/E([+-])(\d)$/, 'E$10$2');
}

function trainingLines(scenario: Scenario, say: Say): void {
  const { ranks, plan } = scenario;
  const random = createRandom(scenario.seed ^ 0x5f3759df);
  const first = ranks[0]!;
  const last = ranks.at(-1)!;
  const batch = globalBatchSize(scenario);
  for (let iteration = 0; iteration < scenario.failedIteration; iteration += 1) {
    const { startUs, endUs } = first.iterations[iteration]!;
    const seconds = (endUs - startUs) / 1e6;
    const teraflops = iterationFlops(scenario, iteration) / seconds / GPUS / 1e12;
    say(
      first.process.rank,
      `Step Time : ${seconds.toFixed(2)}s GPU utilization: ${teraflops.toFixed(1)}MODEL_TFLOP/s/GPU`,
    );
    const fields = [
      ` [${clock(endUs)}] iteration ${padded(iteration + 1, 8)}/${padded(TRAIN_ITERATIONS, 8)}`,
      `consumed samples: ${padded(batch * (iteration + 1), 12)}`,
      `elapsed time per iteration (ms): ${(seconds * 1000).toFixed(1)}`,
      `throughput per GPU (TFLOP/s/GPU): ${teraflops.toFixed(1)}`,
      `learning rate: ${scientific(1e-7 * (iteration + 1))}`,
      `global batch size: ${padded(batch, 5)}`,
      `lm loss: ${scientific(1.71 - 0.02 * iteration + 0.1 * random())}`,
      'loss scale: 1.0',
      `grad norm: ${(2.1 + random()).toFixed(3)}`,
      'number of skipped iterations:   0',
      'number of nan iterations:   0 |',
    ];
    say(last.process.rank, fields.join(' | '));
    if (iteration === 0) for (const line of theoryLines(scenario)) say(first.process.rank, line);
    for (const run of ranks) {
      if (run.process.rank % plan.dataParallel === 0) say(run.process.rank, memoryLine(run, iteration));
    }
  }
}

/** Outermost first, with the source lines Python prints. */
function traceback(run: FailedRank): string[] {
  const prefix = `[rank${run.process.rank}]: `;
  return [
    'Traceback (most recent call last):',
    ...run.oom.path
      .toReversed()
      .flatMap((line) => [`  File "${line.filename}", line ${line.line}, in ${line.name}`, `    ${line.source}`]),
    `torch.OutOfMemoryError: ${oomMessage(run.oom.report, run.process.device)}`,
  ].map((line) => prefix + line);
}

function failureLines(scenario: Scenario, lines: string[], say: Say): void {
  const byTime = [...scenario.failed].sort((a, b) => a.process.now() - b.process.now());
  for (const run of byTime) {
    const { rank } = run.process;
    say(
      rank,
      `[OOM] rank ${rank} saved memory snapshot to ${SNAPSHOT_PATH.replace(/[^/]*$/, '')}${oomSnapshotName(rank)}`,
    );
    for (const line of traceback(run)) say(rank, line);
  }
  const diedUs = Math.max(...byTime.map((run) => run.process.now())) + 2_400_000;
  const stamp = `1118 ${clock(diedUs).slice(11)}.402000 1204 torch/distributed/elastic/multiprocessing/api.py`;
  for (const { process, oom } of scenario.ranks) {
    if (oom === null) lines.push(`W${stamp}:900] Sending process ${FIRST_PID + process.rank} closing signal SIGTERM`);
  }
  const root = byTime[0]!.process.rank;
  const entry = (run: FailedRank): string[] => {
    const { rank } = run.process;
    return [
      `  time      : ${clock(diedUs).replace(' ', '_')}`,
      `  host      : ${HOST}`,
      `  rank      : ${rank} (local_rank: ${rank})`,
      `  exitcode  : 1 (pid: ${FIRST_PID + rank})`,
      '  error_file: <N/A>',
      '  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html',
    ];
  };
  lines.push(
    `E${stamp}:874] failed (exitcode: 1) local_rank: ${root} (pid: ${FIRST_PID + root}) of binary: /opt/venv/bin/python`,
    'Traceback (most recent call last):',
    '  File "/opt/venv/bin/torchrun", line 10, in <module>',
    '    sys.exit(main())',
    'torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ',
    '============================================================',
    `finetune_llama3_8b.py FAILED`,
    '------------------------------------------------------------',
    'Failures:',
    ...byTime.slice(1).flatMap((run, index) => [`[${index + 1}]:`, ...entry(run)]),
    '------------------------------------------------------------',
    'Root Cause (first observed failure):',
    '[0]:',
    ...entry(byTime[0]!),
    '============================================================',
    `srun: error: ${HOST}: task 0: Exited with exit code 1`,
  );
}
