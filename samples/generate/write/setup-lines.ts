/** What both frameworks print in the same words between launch and training. */
import type { Attempt, NamedParameter, SimulatedRank } from '../run.js';
import { type Bucket, gradientBuckets } from '../simulate/model-parameters.js';
import { learningRate, minimumLearningRate } from './iteration-line.js';
import type { LogBook } from './log-book.js';
import { bare, clock, float, type PyLiteral, repr } from './python-text.js';
import type { FrameworkForm, RunFacts } from './run-facts.js';
import { agentLine } from './torchrun-lines.js';

/** Torchrun's notice on OMP_NUM_THREADS, once a node. */
export function launcherLines(book: LogBook, facts: RunFacts, index: number): void {
  if (facts.launcher !== 'torchrun') return;
  const attempt = facts.run.attempts[index]!;
  const stars = '*'.repeat(41);
  for (let node = 0; node < facts.nodes; node += 1) {
    const timeUs = attempt.plan.startUs + 318_000 + node * 47_300;
    const notice =
      'Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system being ' +
      'overloaded, please further tune the variable for optimal performance in your application as needed. ';
    // One call of the logger: since 2.1 its handler repeats the prefix on every line.
    const lines = ['', stars, notice, stars];
    for (const text of attempt.plan.torch === '2.0' ? [lines.join('\n')] : lines) {
      book.system(timeUs, node, agentLine(facts, { index, node, timeUs, level: 'W', module: 'run', text }));
    }
  }
}

/** `[<label>] datetime: …`, with the space behind it that Megatron prints. */
export function datetimeLine(facts: RunFacts, label: string, timeUs: number): string {
  const fraction = facts.plan.framework === 'megatron-lm' && facts.form.fractionalSeconds;
  return `[${label}] datetime: ${clock(timeUs, fraction)} `;
}

/** Ranks that print for their position: data-parallel rank 0. */
export function positionRanks(attempt: Attempt): readonly SimulatedRank[] {
  return attempt.ranks.filter(({ dataRank }) => dataRank === 0);
}

/** The exact local element count, one line a position. */
export function parameterLines(book: LogBook, facts: RunFacts, attempt: Attempt, timeUs: number): void {
  const { threeCoordinates } = facts.form;
  positionRanks(attempt).forEach(({ rank, tensorRank, stage, parameterElements }, i) => {
    const where =
      threeCoordinates && facts.plan.framework === 'megatron-lm'
        ? `(tensor, gtp_weight_remat, pipeline) model parallel rank (${tensorRank}, 0, ${stage})`
        : `(tensor, pipeline) model parallel rank (${tensorRank}, ${stage})`;
    book.print(timeUs + i * 210, rank, ` > number of parameters on ${where}: ${parameterElements}`);
  });
}

/**
 * `key=value, …` of a configuration object: what these runs have in common, with the keys of `section` that the story
 * sets.
 */
function pythonFields(facts: RunFacts, section: string, common: Readonly<Record<string, PyLiteral>>): string {
  const fields = new Map(Object.entries(common));
  for (const [key, value] of Object.entries(facts.plan.configuration)) {
    if (key.startsWith(`${section}.`)) fields.set(key.slice(section.length + 1), value);
  }
  return [...fields].map(([key, value]) => `${key}=${repr(value)}`).join(', ');
}

/** DistributedDataParallel and its buckets: the first rank of every pipeline stage lists its own. */
export function bucketLines(book: LogBook, facts: RunFacts, attempt: Attempt, timeUs: number): void {
  const { framework, parallelism, configuration } = facts.plan;
  const { data } = parallelism;
  const { bucketDetails } = facts.form;
  const config = pythonFields(facts, 'ddp', {
    grad_reduce_in_fp32: configuration['accumulate_allreduce_grads_in_fp32'] !== false,
    overlap_grad_reduce: true,
    overlap_param_gather: true,
    align_param_gather: false,
    use_distributed_optimizer: true,
    num_distributed_optimizer_instances: 1,
    check_for_nan_in_grad: true,
    bucket_size: Math.max(40_000_000, 1_000_000 * data),
    // Bridge's recipes turn on what Megatron-LM leaves off.
    average_in_collective: framework === 'megatron-bridge',
    fp8_param_gather: false,
  });
  const wrapping =
    'INFO:megatron.core.distributed.distributed_data_parallel:Setting up DistributedDataParallel with config ' +
    `DistributedDataParallelConfig(${config})`;
  const firstOfStage = positionRanks(attempt).filter(({ tensorRank }) => tensorRank === 0);
  firstOfStage.forEach(({ rank, stage, parameters }, i) => {
    for (const [chunk, own] of modelChunks(parameters).entries()) {
      const at = timeUs + i * 3_700 + chunk * 310;
      if (rank === 0) book.print(at, 0, wrapping);
      const buckets = gradientBuckets(own, data, stage === 0 && chunk === 0);
      const lines = [
        'INFO:megatron.core.distributed.param_and_grad_buffer:Number of buckets for gradient all-reduce / reduce-scatter: ' +
          `${buckets.length}`,
      ];
      buckets.forEach((bucket, number) => {
        lines.push(`Params for bucket ${number + 1} (${bucketText(bucket, bucketDetails)}):`);
        for (const { parameter } of bucket.parameters) lines.push(`\t${parameter.name}`);
      });
      book.print(at, rank, lines.join('\n'));
    }
  });
}

/**
 * With virtual pipeline stages a rank holds several chunks, each wrapped by itself and each naming its layers from 0.
 */
function modelChunks(parameters: readonly NamedParameter[]): NamedParameter[][] {
  const chunks: NamedParameter[][] = [];
  let names = new Set<string>();
  for (const parameter of parameters) {
    if (chunks.length === 0 || names.has(parameter.name)) {
      chunks.push([]);
      names = new Set();
    }
    names.add(parameter.name);
    chunks.at(-1)!.push(parameter);
  }
  return chunks;
}

function bucketText(bucket: Bucket, details: FrameworkForm['bucketDetails']): string {
  const elements = bucket.parameters.reduce((sum, { parameter }) => sum + parameter.elements, 0);
  const parts = [`${elements} elements`];
  if (details >= 1) parts.push(`${bucket.elements} padded size`);
  if (details >= 2) parts.push('0 param(s) with extra main_grads');
  return parts.join(', ');
}

export function optimizerLine(facts: RunFacts): string {
  const config = pythonFields(facts, 'optimizer', {
    optimizer: 'adam',
    lr: float(learningRate(facts)),
    min_lr: float(minimumLearningRate(facts)),
    decoupled_lr: null,
    weight_decay: 0.1,
    fp16: false,
    bf16: true,
    params_dtype: bare('torch.bfloat16'),
    adam_beta1: 0.9,
    adam_beta2: 0.95,
    adam_eps: float(1e-8),
    use_distributed_optimizer: true,
    overlap_param_gather_with_optimizer_step: false,
    clip_grad: float(1),
    log_num_zeros_in_grad: false,
    config_logger_dir: '',
  });
  return `INFO:megatron.core.optimizer:Setting up optimizer with config OptimizerConfig(${config})`;
}
