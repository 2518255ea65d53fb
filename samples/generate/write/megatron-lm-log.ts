/**
 * One attempt of a Megatron-LM run as its ranks and launchers print it. Formats: Megatron-LM `megatron/training/`,
 * Megatron Core.
 */
import { checkpointLines, loadLines } from './checkpoint-lines.js';
import { evaluationLines } from './evaluation-lines.js';
import { exitLines } from './exit-lines.js';
import { failureLines } from './failure-lines.js';
import { iterationLine, lastRank } from './iteration-line.js';
import { createLogBook, type LogBook, type LogLine } from './log-book.js';
import { argumentDump } from './megatron-lm-arguments.js';
import { megatronLmMemoryLine } from './memory-lines.js';
import { between, milestones } from './milestones.js';
import { fixed } from './python-text.js';
import { completedIterations, microBatches, type RunFacts, worldSize } from './run-facts.js';
import {
  bucketLines,
  datetimeLine,
  launcherLines,
  optimizerLine,
  parameterLines,
  positionRanks,
} from './setup-lines.js';
import { megatronLmTheoryLines } from './theory-lines.js';
import { iterationTimings, setupTimings, timersBlock } from './timers.js';

export function megatronLmLog(facts: RunFacts, index: number): LogLine[] {
  const attempt = facts.run.attempts[index]!;
  const nodes = new Map(attempt.ranks.map(({ rank, node }) => [rank, node]));
  const book = createLogBook((rank) => nodes.get(rank) ?? 0);
  launcherLines(book, facts, index);
  setupLines(book, facts, index);
  for (let i = 0; i < completedIterations(attempt); i += 1) iterationLines(book, facts, index, i);
  checkpointLines(book, facts, attempt);
  evaluationLines(book, facts, attempt);
  for (const { endUs, startUs } of attempt.checkpoints) {
    if (endUs === null) continue;
    const duration = endUs - startUs;
    const saved = timersBlock([{ name: 'save-checkpoint', minUs: duration, maxUs: duration }]);
    book.print(endUs + 700, lastRank(facts), saved);
  }
  exitLines(book, facts, attempt);
  failureLines(book, facts, index);
  return book.lines();
}

function setupLines(book: LogBook, facts: RunFacts, index: number): void {
  const attempt = facts.run.attempts[index]!;
  const { plan } = attempt;
  const { tensor, pipeline } = plan.parallelism;
  const { launchUs, buildUs, trainingUs } = milestones(attempt);
  const startedUs = between(launchUs, buildUs, 0.45);
  const initialisedUs = between(launchUs, buildUs, 0.96);
  const print = (timeUs: number, text: string): void => book.print(timeUs, 0, text);
  print(startedUs, sizesLine(facts));
  print(startedUs, 'using torch.bfloat16 for parameters ...');
  print(startedUs, argumentDump(facts));
  const setting = `setting number of microbatches to constant ${microBatches(plan)}`;
  const isOldest = plan.torch === '2.0' || plan.torch === '2.3';
  print(startedUs, isOldest ? setting : `INFO:megatron.core.num_microbatches_calculator:${setting}`);
  print(between(startedUs, initialisedUs, 0.2), '> building HuggingFaceTokenizer tokenizer ...');
  // By the rank that writes it.
  if (typeof plan.configuration['tensorboard_dir'] === 'string')
    book.print(between(startedUs, initialisedUs, 0.27), lastRank(facts), '> setting tensorboard ...');
  const { vocabulary } = plan.model;
  print(
    between(startedUs, initialisedUs, 0.25),
    ` > padded vocab (size: ${vocabulary}) with 0 dummy tokens (new size: ${vocabulary})`,
  );
  print(between(startedUs, initialisedUs, 0.3), '> initializing torch distributed ...');
  const groupsUs = between(startedUs, initialisedUs, 0.7);
  print(groupsUs, `> initialized tensor model parallel with size ${tensor}`);
  print(groupsUs, `> initialized pipeline model parallel with size ${pipeline}`);
  print(groupsUs + 900, '> setting random seeds to 1234 ...');
  print(initialisedUs, `time to initialize megatron (seconds): ${fixed((initialisedUs - startedUs) / 1e6, 3)}`);
  print(initialisedUs, datetimeLine(facts, 'after megatron is initialized', initialisedUs));
  print(initialisedUs + 300, 'building GPT model ...');
  if (trainingUs === null) return;
  const at = (share: number): number => between(buildUs, trainingUs, share);
  parameterLines(book, facts, attempt, at(0.35));
  bucketLines(book, facts, attempt, at(0.45));
  print(at(0.55), optimizerLine(facts));
  print(at(0.56), 'INFO:megatron.core.optimizer_param_scheduler:> learning rate decay style: cosine');
  if (attempt.firstIteration > 0) print(at(0.75), loadLines(facts, attempt));
  else if (plan.saveInterval !== null) print(at(0.75), noCheckpointLines(facts));
  const builtUs = at(0.9);
  print(builtUs, datetimeLine(facts, 'after model, optimizer, and learning rate scheduler are built', builtUs));
  print(builtUs + 400, '> building train, validation, and test datasets ...');
  print(at(0.98), '> finished creating GPT datasets ...');
  const loadersUs = at(0.99);
  print(loadersUs, datetimeLine(facts, 'after dataloaders are built', loadersUs));
  print(loadersUs + 500, 'done with setup ...');
  book.print(loadersUs + 600, lastRank(facts), timersBlock(setupTimings(attempt.ranks, buildUs, builtUs, loadersUs)));
  print(trainingUs - 900, 'training ...');
  print(trainingUs, datetimeLine(facts, 'before the start of training step', trainingUs));
}

/** Older releases print less, and those in between glue two clauses together. */
function sizesLine({ plan, form }: RunFacts): string {
  const { tensor, pipeline, data } = plan.parallelism;
  const start = `using world size: ${worldSize(plan)}, data-parallel size: ${data}, context-parallel size: 1`;
  const model = `tensor-model-parallel size: ${tensor}, `;
  if (plan.torch === '2.0' || plan.torch === '2.3')
    return `${start} ${model}pipeline-model-parallel size: ${pipeline} `;
  if (form.fractionalSeconds) {
    return `${start}, hierarchical context-parallel sizes: None, ${model}pipeline-model-parallel size: ${pipeline}`;
  }
  return (
    `${start}, hierarchical context-parallel sizes: None${model}encoder-tensor-model-parallel size: 0, ` +
    `pipeline-model-parallel size: ${pipeline}, encoder-pipeline-model-parallel size: 0`
  );
}

function noCheckpointLines(facts: RunFacts): string {
  return [
    `WARNING: could not find the metadata file ${facts.checkpointDirectory}/latest_checkpointed_iteration.txt`,
    '    will not load any checkpoints and will start from random',
  ].join('\n');
}

/** All at the same moment: a save or an evaluation may begin at once, and is printed after them. */
function iterationLines(book: LogBook, facts: RunFacts, index: number, i: number): void {
  const attempt = facts.run.attempts[index]!;
  const iteration = attempt.firstIteration + i + 1;
  const last = attempt.ranks.find(({ rank }) => rank === lastRank(facts)) ?? attempt.ranks.at(-1)!;
  const first = attempt.ranks[0]!;
  const { endUs } = last.iterations[i]!;
  book.print(endUs, last.rank, iterationLine(facts, iteration, last.iterations[i]!));
  // Until the second iteration after the load, which is the first with the optimizer's state; after that only where it
  // is asked for.
  const interval = memoryInterval(facts);
  const atStart = i < 2;
  if (atStart) book.print(endUs, first.rank, megatronLmTheoryLines(attempt.plan, facts.form).join('\n'));
  if (atStart || (interval !== null && iteration % interval === 0)) {
    for (const { rank, iterations } of positionRanks(attempt)) {
      book.print(endUs, rank, megatronLmMemoryLine(rank, iteration, iterations[i]!.memory, facts.form.roundedMemory));
    }
  }
  if (facts.timingLogLevel === 0) return;
  const timings = iterationTimings(attempt.ranks, i);
  if (timings.length > 0) book.print(endUs, last.rank, timersBlock(timings));
}

/** `--log-memory-interval`, which the configuration of the story may set. */
function memoryInterval({ plan }: RunFacts): number | null {
  const entry = Object.entries(plan.configuration).find(([key]) => key.split('.').at(-1) === 'log_memory_interval');
  return typeof entry?.[1] === 'number' ? entry[1] : null;
}
