import type { Command } from 'commander';
import { earliestTorch } from '../../../parsers/index.js';
import { chooseDevices, choosePairs, commonStep, type SnapshotPair } from '../../forensics/diff/choose-pair.js';
import { type DiffLimits, describeDiff, totalsOf } from '../../forensics/diff/describe-diff.js';
import { type Candidate, listCandidates, readSide, readTotals, wholeSteps } from '../../forensics/diff/side.js';
import { MOMENT_FORMS, type Moment, parseMoment } from '../../forensics/history/moment.js';
import type { DiffTotals } from '../../model/diff-results.js';
import { MbfError } from '../../model/errors.js';
import { parseSize } from '../../model/units.js';
import { diffText } from '../../report/diff-text.js';
import type { Context } from '../context.js';
import { countOption } from '../count-option.js';
import { EXIT } from '../exit-codes.js';
import { type TwoTargets, twoTargets } from '../two-targets.js';
import { answer, type CommonOptions, withCommon } from '../verb.js';

interface Options extends CommonOptions {
  readonly at: string;
  readonly atA?: string;
  readonly atB?: string;
  readonly matchStep?: boolean;
  readonly rank?: string;
  readonly allRanks?: boolean;
  readonly device?: string;
  readonly limit: string;
  readonly min?: string;
  readonly maxGrowth?: string;
  readonly exitCode?: boolean;
}

export function registerDiff(program: Command, context: Context): void {
  withCommon(
    program
      .command('diff')
      .description(
        'what changed between two snapshots, by call site: found again though lines, files and names changed',
      )
      .argument('<a>', 'before: a handle, a run, a commit, or a path')
      .argument('<b>', 'after')
      .option('--at <moment>', `the moment to compare: ${MOMENT_FORMS}`, 'peak')
      .option('--at-a <moment>', 'another moment of a')
      .option('--at-b <moment>', 'another moment of b')
      .option('--match-step', 'compare the last profiler step that both have whole')
      .option('--rank <n>', 'the rank to compare; default: the first that both have')
      .option('--all-ranks', 'totals of every rank that both have, too')
      .option(
        '--device <n>',
        'the device to compare; default: one that ran out of memory, else the one with a trace and the most',
      )
      .option('--limit <n>', 'call sites to show; 0 = all', '12')
      .option('--min <bytes>', 'leave out sites that changed by less, such as 1MiB')
      .option('--max-growth <bytes or %>', 'growth that is allowed, such as 512MiB or 5%')
      .option('--exit-code', 'exit with 1 if b has more active bytes than a, or than --max-growth allows'),
    [
      'diff before.pickle after.pickle',
      'diff golden night-shift --rank 3 --at step:7',
      'diff 1f3c9aa 77d0e1b --all-ranks --json',
      'diff snapshot_0.pickle snapshot_0.pickle --at-a step:2 --at-b step:9',
      'diff golden night-shift --max-growth 2% --exit-code',
    ],
  ).action(async (a: string, b: string, options: Options) => {
    const limits = limitsOf(options);
    if (options.matchStep === true && (options.atA ?? options.atB) !== undefined)
      throw new MbfError(
        'MBF1001',
        '--match-step finds the moment of both sides; it goes with neither --at-a nor --at-b',
      );
    const moments = [parseMoment(options.atA ?? options.at), parseMoment(options.atB ?? options.at)] as const;
    const rank = wholeNumber('--rank', options.rank);
    const device = wholeNumber('--device', options.device);
    const targets = twoTargets([a, b], options, context);
    try {
      const candidates = [await candidatesOf(targets, 0), await candidatesOf(targets, 1)] as const;
      const pairs = choosePairs(candidates[0].found, candidates[1].found, rank);
      const pair = pairs[0]!;
      const asked = options.allRanks === true ? pairs : [pair];
      await targets.derive(
        0,
        asked.map((one) => one.a.snapshotId),
      );
      await targets.derive(
        1,
        asked.map((one) => one.b.snapshotId),
      );
      const at = options.matchStep === true ? await sameStep(targets, pair) : moments;
      const [chosen, ...otherDevices] = chooseDevices(pair, device);
      const sides = [];
      for (const side of [0, 1] as const) {
        const key = side === 0 ? 'a' : 'b';
        sides.push(
          await targets.use(side, ({ store }) =>
            readSide(store, side === 0 ? a : b, pair[key], chosen![key], at[side], earliestTorch),
          ),
        );
      }
      const devices: DiffTotals[] = [];
      for (const entry of otherDevices) {
        const found = await totals(targets, pair, entry, at);
        if (found !== undefined) devices.push(found);
      }
      const ranks: DiffTotals[] = [];
      const missing: number[] = [];
      for (const entry of options.allRanks === true ? pairs : []) {
        const found = await totals(targets, entry, chooseDevices(entry, device)[0]!, at);
        if (found !== undefined) ranks.push(found);
        else if (entry.a.rank !== null) missing.push(entry.a.rank);
      }
      const result = describeDiff(sides[0]!, sides[1]!, limits, { devices, ranks, ranksWithoutMoment: missing });
      answer(context, options, result, diffText);
      if (candidates.some((side) => side.failed)) process.exitCode = EXIT.input;
      else if (options.exitCode === true && result.gate?.exceeded === true) process.exitCode = EXIT.finding;
    } finally {
      await targets.close();
    }
  });
}

async function candidatesOf(
  targets: TwoTargets,
  side: 0 | 1,
): Promise<{ readonly found: readonly Candidate[]; readonly failed: boolean }> {
  return targets.use(side, async (target) => {
    const found = await listCandidates(target.store, target.runId, target.handle);
    if (found.length === 0) throw new MbfError('MBF1002', `run ${target.run} has no memory snapshot`);
    return { found, failed: target.failed.length > 0 };
  });
}

async function sameStep(targets: TwoTargets, pair: SnapshotPair): Promise<readonly [Moment, Moment]> {
  const a = await targets.use(0, ({ store }) => wholeSteps(store, pair.a.snapshotId));
  const b = await targets.use(1, ({ store }) => wholeSteps(store, pair.b.snapshotId));
  const step = commonStep(a, b);
  return [step, step];
}

/** Undefined where a trace has no such moment: another device or rank need not have run out of memory, or have come to that step. */
async function totals(
  targets: TwoTargets,
  pair: SnapshotPair,
  devices: { readonly a: number; readonly b: number },
  at: readonly [Moment, Moment],
): Promise<DiffTotals | undefined> {
  try {
    const a = await targets.use(0, ({ store }) => readTotals(store, pair.a, devices.a, at[0]));
    const b = await targets.use(1, ({ store }) => readTotals(store, pair.b, devices.b, at[1]));
    return totalsOf(a, b);
  } catch (error) {
    if (error instanceof MbfError && error.code === 'MBF1002') return undefined;
    throw error;
  }
}

function limitsOf(options: Options): DiffLimits {
  return {
    sites: countOption('--limit', options.limit),
    minBytes: options.min === undefined ? 0 : sizeOption('--min', options.min),
    maxGrowth: growthOption(options),
  };
}

function growthOption({ maxGrowth, exitCode }: Options): DiffLimits['maxGrowth'] {
  if (maxGrowth === undefined) return exitCode === true ? { bytes: 0 } : undefined;
  const percent = /^\s*(\d+(?:\.\d+)?)\s*%\s*$/.exec(maxGrowth);
  if (percent !== null) return { share: Number(percent[1]) / 100 };
  return { bytes: sizeOption('--max-growth', maxGrowth) };
}

function sizeOption(name: string, text: string): number {
  const bytes = parseSize(text);
  if (bytes === undefined || !Number.isSafeInteger(bytes))
    throw new MbfError('MBF1001', `${name} ${JSON.stringify(text)} is no size`);
  return bytes;
}

function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) throw new MbfError('MBF1001', `${name} ${JSON.stringify(text)} is no number`);
  return Number(text);
}
