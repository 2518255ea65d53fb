/** What keeps a lake in order: `lake check`, `lake compact`, `lake expire`. */
import { realpathSync } from 'node:fs';
import { runsOfLake, sweepLake, verifyLake } from '../../../lake/check-lake.js';
import { compactRun } from '../../../lake/compact-run.js';
import { expiredRuns, expireRun } from '../../../lake/expire-runs.js';
import { LAKE_VERSION } from '../../../lake/lake-files.js';
import { MbfError } from '../../../model/errors.js';
import type {
  CheckedRun,
  CompactedRun,
  LakeCheckResult,
  LakeCompactResult,
  LakeExpireResult,
} from '../../../model/results/lake.js';
import { CAUSES } from '../../../model/vocabulary.js';
import {
  lakeCheckDocument,
  lakeCompactDocument,
  lakeExpireDocument,
} from '../../../report/store/lake-keep-document.js';
import { asStoreError } from '../../../store/store-errors.js';
import { defineVerb } from '../../define-verb.js';
import { EXIT } from '../../exit-codes.js';
import { didYouMean } from '../../nearest.js';
import { flag, misuse, oneOf, operand, repeated, type Spec, wrong } from '../../options.js';
import { asOutputError, withWorkDirectory } from '../../output-file.js';
import { partsOf } from '../../progress.js';

const LAKE = operand('<lake>', 'the directory of the lake');
const RUNS = repeated('--run <name>', 'only this run, as lake check names it; may be repeated');
const needed = <Value>(flags: string, help: string, parse: (text: string, name: string) => Value): Spec<Value> => ({
  ...{ flags, help, isRequired: true },
  read: (given, name) => parse(String(given), name),
});
/** A statement that names no table: files are read by their paths, damaged ones not at all. */
const NO_TABLE = 'SELECT';
const QUIET = flag('-q, --quiet', 'no progress');

/** With a hidden directory in the lake; what cannot be written is MBF3006 and names the lake as the user does. */
export async function withLakeDirectory<Result>(
  lake: string,
  shown: string,
  work: (directory: string) => Promise<Result>,
): Promise<Result> {
  let hidden = lake;
  try {
    return await withWorkDirectory(lake, shown, (directory) => {
      hidden = directory;
      return work(directory);
    });
  } catch (error) {
    const known = asStoreError(shown, error, 'use');
    if (!(known instanceof MbfError) || known.code !== 'MBF3005') throw asOutputError(shown, known);
    throw new MbfError('MBF3006', known.message.replaceAll(hidden, shown), { file: shown }, error);
  }
}

export const check = defineVerb({
  name: 'lake check',
  operands: { lake: LAKE },
  options: { quiet: QUIET },
  async ask({ lake, quiet }, session): Promise<LakeCheckResult> {
    const { store } = await session.lake(lake, NO_TABLE);
    const state = await verifyLake(store, realpathSync(lake), partsOf(session.context, quiet, 'reading file'));
    return { schema: 'mbforensics/lake-check@1', lake, version: LAKE_VERSION, ...state };
  },
  document: lakeCheckDocument,
  exitCode: ({ problems }) => (problems.length === 0 ? EXIT.done : EXIT.finding),
});

export const compact = defineVerb({
  name: 'lake compact',
  operands: { lake: LAKE },
  options: { run: RUNS, quiet: QUIET },
  async ask({ lake: given, run: names, quiet }, session): Promise<LakeCompactResult> {
    const { store } = await session.lake(given, NO_TABLE);
    const lake = realpathSync(given);
    const runs = chosen(await runsOfLake(store, lake), names, given);
    sweepLake(lake);
    const progress = partsOf(session.context, quiet, 'compacting run');
    const done: CompactedRun[] = [];
    for (const [i, { run, missing, files, bytes }] of runs.entries()) {
      progress?.(i, runs.length);
      const as_before = { files_before: files, files, before_bytes: bytes, bytes };
      if (missing.length > 0) {
        done.push({ run, outcome: 'not whole', ...as_before });
        continue;
      }
      const result = await withLakeDirectory(lake, given, (work) => compactRun(store, lake, work, run));
      const outcome =
        result === undefined ? 'changed' : result.files < result.files_before ? 'compacted' : 'nothing to do';
      done.push({ run, outcome, ...(result ?? as_before) });
    }
    progress?.(runs.length, runs.length);
    return { schema: 'mbforensics/lake-compact@1', lake: given, runs: done };
  },
  document: lakeCompactDocument,
});

export const expire = defineVerb({
  name: 'lake expire',
  operands: { lake: LAKE },
  options: {
    level: needed('--level <level>', 'events; or state, and events with it', oneOf(['events', 'state'])),
    olderThan: needed('--older-than <age>', 'runs that started before this: 12h, 30d, 52w', ageUs),
    run: RUNS,
    cause: repeated('--cause <cause>', `only runs with a failure of this cause: ${CAUSES.join(', ')}`, oneOf(CAUSES)),
    passed: flag('--passed', 'only runs without a failure'),
    failed: flag('--failed', 'only runs with a failure'),
    remove: flag('--remove', 'remove the files; without it they are only listed'),
  },
  async ask({ lake: given, level, olderThan, run, cause, passed, failed, remove }, session): Promise<LakeExpireResult> {
    if (passed && failed) throw misuse('--passed and --failed cannot be combined');
    const { store } = await session.lake(given, 'lake.verdict');
    const lake = realpathSync(given);
    chosen(await runsOfLake(store, lake), run, given);
    const runs = await expiredRuns(store, lake, {
      ...{ level, beforeUs: Date.now() * 1000 - olderThan, runs: run, causes: cause },
      hasFailed: passed || failed ? failed : undefined,
    });
    if (remove)
      await withLakeDirectory(lake, given, async (work) => {
        for (const { run } of runs) await expireRun(lake, work, run, level);
      });
    return { schema: 'mbforensics/lake-expire@1', lake: given, level, is_removed: remove, runs };
  },
  document: lakeExpireDocument,
});

/** All, or those that were named. */
function chosen(runs: readonly CheckedRun[], names: readonly string[], lake: string): readonly CheckedRun[] {
  const known = runs.map(({ run }) => run);
  const missing = names.find((name) => !known.includes(name));
  if (missing === undefined) return names.length === 0 ? runs : runs.filter(({ run }) => names.includes(run));
  const near = didYouMean(missing, known);
  const there =
    near !== ''
      ? near
      : `; it has ${known.length === 0 ? 'none' : `${known.slice(0, 10).join(', ')}${known.length > 10 ? ', …' : ''}`}`;
  throw new MbfError('MBF1002', `the lake ${lake} has no run ${JSON.stringify(missing)}${there}`);
}

const HOUR_US = 3_600_000_000;
const HOURS: Readonly<Record<string, number>> = { h: 1, d: 24, w: 168 };

/** `30d` in microseconds. */
function ageUs(given: string, name: string): number {
  const [, number, unit] = /^(\d{1,6})([hdw])$/.exec(given) ?? [];
  if (number === undefined || unit === undefined) throw wrong(name, given, 'an age such as 12h, 30d or 52w');
  return Number(number) * HOURS[unit]! * HOUR_US;
}
