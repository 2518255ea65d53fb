import type { Command } from 'commander';
import { readAdviceBefore } from '../../findings/flows/advice-before.js';
import { peaksToMeasure } from '../../findings/flows/peaks-to-measure.js';
import { readSide } from '../../findings/flows/read-side.js';
import { snapshotsToJudge } from '../../findings/verdict/traced-ooms.js';
import type { AdviceBefore, Side } from '../../findings/verify/side.js';
import { verifyFix } from '../../findings/verify/verify-fix.js';
import type { VerifyVerdict } from '../../model/verify-results.js';
import { verifyFixText } from '../../report/verify-fix-text.js';
import type { Context } from '../context.js';
import { EXIT } from '../exit-codes.js';
import { type TwoTargets, twoTargets } from '../two-targets.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';
import { capacityOption } from './diagnose.js';

interface Options extends CommonOptions {
  readonly fix?: string;
  readonly capacity?: string;
  readonly exitCode?: boolean;
}

const EXIT_OF: Readonly<Record<VerifyVerdict, number>> = {
  fixed: EXIT.done,
  progress: EXIT.finding,
  no_effect: EXIT.finding,
  not_active: EXIT.finding,
  worse: EXIT.finding,
  undecided: EXIT.undecided,
};

export function registerVerifyFix(program: Command, context: Context): void {
  withCommon(
    program
      .command('verify-fix')
      .description(
        'whether a change took effect, what it saved and cost against the advice, and what limits the run now',
      )
      .argument('<before>', 'the run that failed: a path, a run, a commit or a label')
      .argument('<after>', 'the run with the change')
      .option('--fix <id>', 'the fix of `advise` to hold it against; default: the one that the changes are')
      .option('--capacity <size>', 'total memory of the device, e.g. 80GiB, where no message prints it')
      .option('--exit-code', 'exit with 1 if it is not fixed, with 3 if that cannot be told'),
    [
      'verify-fix runs/llama3-70b-sft runs/llama3-70b-sft-expandable',
      'verify-fix night-shift night-shift-pp8 --fix pp-8',
      'verify-fix before after --json --exit-code',
    ],
  ).action(async (before: string, after: string, options: Options) => {
    const capacityBytes = capacityOption(options.capacity) ?? null;
    const targets = twoTargets([before, after], options, context);
    try {
      const a = await readBefore(targets, capacityBytes);
      const b = await readOne(targets, 1, capacityBytes);
      const result = verifyFix({ before: a.side, after: b.side, advice: a.advice, fix: options.fix });
      answer(context, options, result, verifyFixText);
      if (a.failed || b.failed) process.exitCode = EXIT.input;
      else if (options.exitCode === true) process.exitCode = EXIT_OF[result.verdict];
    } finally {
      await targets.close();
    }
  });
}

async function readBefore(
  targets: TwoTargets,
  capacityBytes: number | null,
): Promise<{ readonly side: Side; readonly advice: AdviceBefore; readonly failed: boolean }> {
  const { side, failed } = await readOne(targets, 0, capacityBytes);
  const advice = await targets.use(0, ({ store, runId }) => readAdviceBefore(store, runId, side, capacityBytes));
  return { side, advice, failed };
}

async function readOne(
  targets: TwoTargets,
  which: 0 | 1,
  capacityBytes: number | null,
): Promise<{ readonly side: Side; readonly failed: boolean }> {
  const snapshots = await targets.use(which, async ({ store, runId }) => [
    ...new Set([...(await peaksToMeasure(store, runId)), ...(await snapshotsToJudge(store, runId))]),
  ]);
  await targets.derive(which, snapshots);
  return targets.use(which, async ({ store, runId, run, failed }) => ({
    side: await readSide(store, runId, run, capacityBytes),
    failed: failed.length > 0,
  }));
}
