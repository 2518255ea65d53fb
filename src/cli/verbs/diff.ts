import type { Command } from 'commander';
import { earliestTorch } from '../../../parsers/index.js';
import { chooseDevices, choosePairs, commonStep, type SnapshotPair } from '../../findings/diff/choose-pair.js';
import { type DiffLimits, describeDiff, noSnapshotDiff, totalsOf } from '../../findings/diff/describe-diff.js';
import { grownSites } from '../../findings/diff/grown-sites.js';
import {
  type Candidate,
  listCandidates,
  readSide,
  readTotals,
  type Side,
  wholeSteps,
} from '../../findings/diff/side.js';
import { MOMENT_FORMS, type Moment, parseMoment } from '../../findings/trace/moment.js';
import type { DiffTotals, SnapshotDiff } from '../../model/diff-results.js';
import { MbfError } from '../../model/errors.js';
import { parseSize } from '../../model/units.js';
import { diffText } from '../../report/diff-text.js';
import type { Context } from '../context.js';
import { countOption } from '../count-option.js';
import { EXIT } from '../exit-codes.js';
import { revisionsIn, runDiff } from '../run-diff.js';
import type { Grown } from '../suspects-of.js';
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
  readonly repo?: string;
}

export function registerDiff(program: Command, context: Context): void {
  withCommon(
    program
      .command('diff')
      .description(
        'what changed between two runs, commits or snapshots: memory by call site and component, settings, versions, time',
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
      .option(
        '--repo <dir>',
        'the repository of both commits: names the hunks and settings that may be why; a and b may be revisions',
      )
      .option('--exit-code', 'exit with 1 if b has more active bytes than a, or than --max-growth allows'),
    [
      'diff before.pickle after.pickle',
      'diff golden night-shift --rank 3 --at step:7',
      'diff 1f3c9aa 77d0e1b --all-ranks --json',
      'diff main~12 main --repo ~/src/Megatron-Bridge',
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
    const operands = await revisionsIn([a, b], options, context);
    const targets = twoTargets(operands, options, context);
    try {
      const candidates = [await candidatesOf(targets, 0), await candidatesOf(targets, 1)] as const;
      const without = candidates
        .filter(({ found }) => found.length === 0)
        .map(({ run }) => `run ${run} has no memory snapshot`);
      const { snapshots, grown } =
        without.length > 0
          ? { snapshots: noSnapshotDiff(candidates[0].run, candidates[1].run, without), grown: NOTHING_GROWN }
          : await snapshotDiff(targets, [a, b], candidates, { limits, moments, rank, device }, options);
      const died = snapshots.a_info !== null && snapshots.a_info.ooms + snapshots.b_info.ooms > 0;
      const atPeaks = options.matchStep !== true && moments.every(({ kind }) => kind === 'peak');
      const runs = await runDiff(targets, died && atPeaks ? undefined : grown, options);
      if (without.length === 2 && runs.checks.every(({ status }) => status === 'skipped'))
        throw new MbfError('MBF1002', `${without.join(', ')}, and nothing else that could be compared`);
      answer(context, options, { schema: 'mbforensics/diff@1', ...snapshots, ...runs }, diffText);
      if (candidates.some((side) => side.failed)) process.exitCode = EXIT.input;
      else if (options.exitCode === true && snapshots.gate?.exceeded === true) process.exitCode = EXIT.finding;
    } finally {
      await targets.close();
    }
  });
}

interface Wanted {
  readonly limits: DiffLimits;
  readonly moments: readonly [Moment, Moment];
  readonly rank: number | undefined;
  readonly device: number | undefined;
}

async function snapshotDiff(
  targets: TwoTargets,
  operands: readonly [string, string],
  candidates: readonly [{ readonly found: readonly Candidate[] }, { readonly found: readonly Candidate[] }],
  { limits, moments, rank, device }: Wanted,
  options: Options,
): Promise<{ readonly snapshots: SnapshotDiff; readonly grown: Grown }> {
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
  const sides: Side[] = [];
  for (const side of [0, 1] as const) {
    const key = side === 0 ? 'a' : 'b';
    sides.push(
      await targets.use(side, ({ store }) =>
        readSide(store, operands[side], pair[key], chosen![key], at[side], earliestTorch),
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
  const [a, b] = sides as [Side, Side];
  const snapshots = describeDiff(a, b, limits, { devices, ranks, ranksWithoutMoment: missing });
  return {
    snapshots,
    grown: {
      components: snapshots.components,
      sites: grownSites(a.groups, b.groups, () => null),
      totalDeltaBytes: snapshots.total_delta_bytes,
    },
  };
}

const NOTHING_GROWN: Grown = { components: [], sites: [], totalDeltaBytes: null };

async function candidatesOf(
  targets: TwoTargets,
  side: 0 | 1,
): Promise<{ readonly run: string; readonly found: readonly Candidate[]; readonly failed: boolean }> {
  return targets.use(side, async (target) => {
    const found = await listCandidates(target.store, target.runId, target.handle);
    return { run: target.run, found, failed: target.failed.length > 0 };
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
