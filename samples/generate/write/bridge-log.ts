/**
 * One attempt of a Megatron Bridge run as its ranks and launchers print it. Formats: Megatron Bridge `training/`,
 * Megatron Core.
 */
import { checkpointLines, loadLines } from './checkpoint-lines.js';
import { yaml } from './config-tree.js';
import { configurationSummary } from './configuration-summary.js';
import { evaluationLines } from './evaluation-lines.js';
import { exitLines } from './exit-lines.js';
import { failureLines } from './failure-lines.js';
import { iterationLine, lastRank, stepTimeLine } from './iteration-line.js';
import { createLogBook, type LogLine } from './log-book.js';
import { bridgeMemoryLine } from './memory-lines.js';
import { between, milestones } from './milestones.js';
import { fixed } from './python-text.js';
import { runConfig } from './run-config.js';
import { completedIterations, type RunFacts } from './run-facts.js';
import {
  bucketLines,
  datetimeLine,
  launcherLines,
  optimizerLine,
  parameterLines,
  positionRanks,
} from './setup-lines.js';
import { dumpIteration, snapshotPath } from './snapshot-names.js';
import { bridgeTheoryLines } from './theory-lines.js';
import { setupTimings, timersBlock } from './timers.js';

export function bridgeLog(facts: RunFacts, index: number): LogLine[] {
  const attempt = facts.run.attempts[index]!;
  const { plan } = attempt;
  const nodes = new Map(attempt.ranks.map(({ rank, node }) => [rank, node]));
  const book = createLogBook((rank) => nodes.get(rank) ?? 0);
  const { launchUs, buildUs, trainingUs } = milestones(attempt);

  launcherLines(book, facts, index);
  const startedUs = between(launchUs, buildUs, 0.45);
  const tree = runConfig(facts);
  const printed = facts.form.configurationSummary
    ? configurationSummary(tree, plan.configuration)
    : yaml(tree).trimEnd();
  book.print(startedUs, 0, printed);
  const initialisedUs = between(launchUs, buildUs, 0.96);
  const groupsUs = between(startedUs, initialisedUs, 0.7);
  book.print(groupsUs, 0, `> initialized tensor model parallel with size ${plan.parallelism.tensor}`);
  book.print(groupsUs, 0, `> initialized pipeline model parallel with size ${plan.parallelism.pipeline}`);
  book.print(groupsUs + 900, 0, '> setting random seeds to 1234 ...');
  const seconds = fixed((initialisedUs - startedUs) / 1e6, 3);
  book.print(initialisedUs, 0, `time to initialize megatron (seconds): ${seconds}`);
  book.print(initialisedUs, 0, datetimeLine(facts, 'after megatron is initialized', initialisedUs));
  // Every profiled rank records; only rank 0 prints it.
  if (plan.profiledRanks.includes(0)) {
    book.print(
      initialisedUs + 400,
      0,
      `Memory history recording enabled (rank 0); snapshots will be written to '${facts.snapshotPath}'.`,
    );
  }
  if (trainingUs !== null) {
    const at = (share: number): number => between(buildUs, trainingUs, share);
    parameterLines(book, facts, attempt, at(0.35));
    bucketLines(book, facts, attempt, at(0.45));
    book.print(at(0.55), 0, optimizerLine(facts));
    if (attempt.firstIteration > 0) book.print(at(0.75), 0, loadLines(facts, attempt));
    const builtUs = at(0.9);
    book.print(
      builtUs,
      0,
      datetimeLine(facts, 'after model, optimizer, and learning rate scheduler are built', builtUs),
    );
    const loadersUs = at(0.99);
    book.print(loadersUs, 0, datetimeLine(facts, 'after dataloaders are built', loadersUs));
    book.print(loadersUs + 500, 0, 'done with setup ...');
    book.print(loadersUs + 600, lastRank(facts), timersBlock(setupTimings(attempt.ranks, buildUs, builtUs, loadersUs)));
    book.print(trainingUs - 900, 0, 'training ...');
    book.print(trainingUs - 800, 0, `Starting training loop at iteration ${attempt.firstIteration}`);
    book.print(trainingUs, 0, datetimeLine(facts, 'before the start of training step', trainingUs));
  }

  const first = attempt.ranks[0]!;
  const last = attempt.ranks.find(({ rank }) => rank === lastRank(facts)) ?? attempt.ranks.at(-1)!;
  // All at the same moment: a save or an evaluation may begin at once, and is printed after them.
  for (let i = 0; i < completedIterations(attempt); i += 1) {
    const iteration = attempt.firstIteration + i + 1;
    const { endUs } = first.iterations[i]!;
    book.print(endUs, first.rank, stepTimeLine(first.iterations[i]!));
    book.print(endUs, last.rank, iterationLine(facts, iteration, last.iterations[i]!));
    // Reported until the second iteration after the load, which is the first with the optimizer's state.
    if (i < 2) {
      book.print(endUs, first.rank, bridgeTheoryLines(plan).join('\n'));
      for (const { rank, iterations } of positionRanks(attempt)) {
        book.print(endUs, rank, bridgeMemoryLine(rank, iteration, iterations[i]!.memory));
      }
    }
    for (const snapshot of facts.run.snapshots) {
      // print_rank_0 again: other ranks write their file without a word.
      if (snapshot.attempt !== index || snapshot.trigger !== 'step' || snapshot.rank !== 0) continue;
      if (dumpIteration(facts, snapshot) !== iteration) continue;
      book.print(endUs - 200, 0, `Saved memory snapshot to ${snapshotPath(facts, snapshot)}`);
    }
  }
  checkpointLines(book, facts, attempt);
  evaluationLines(book, facts, attempt);
  exitLines(book, facts, attempt);
  failureLines(book, facts, index);
  return book.lines();
}
