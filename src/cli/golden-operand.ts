/** The operands of `compare` and its kin: golden values by name, a golden file, or a run. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { readGolden } from '../../parsers/index.js';
import { type GoldenRow, readGoldenRows, readMeasurement } from '../findings/compare/golden/golden-store.js';
import { measurementOfValues } from '../findings/compare/measurement-of-values.js';
import { measureRun } from '../findings/flows/measure-run.js';
import { MbfError } from '../model/errors.js';
import type { GoldenFile, UpstreamValues } from '../model/golden-values.js';
import type { Measurement } from '../model/measurement.js';
import type { ComparedRun } from '../model/results/compare.js';
import { summaryText } from '../report/verdict/cause-words.js';
import { isGoldenFile, MOST_GOLDEN_BYTES } from './golden-file.js';
import type { Session } from './session.js';
import { openTarget } from './target.js';

/** Runs of one configuration: golden values, or the runs compared with them. */
export interface MeasuredRuns {
  readonly name: string;
  readonly origin: ComparedRun['origin'];
  readonly runs: readonly Measurement[];
  /** The upstream values themselves, where they came from such a file. */
  readonly upstream: UpstreamValues | null;
  /** And the text of that file. */
  readonly upstreamText: string | null;
  /** Files of the run that could not be read, each with the reason. */
  readonly failed: readonly string[];
}

const NOT_UPSTREAM = { upstream: null, upstreamText: null };

/**
 * `golden:NAME`, `run:NAME`, `path:FILE` force one of them; else a name of the golden store, then a golden file, then
 * whatever `openTarget` resolves.
 */
export async function resolveGolden(operand: string, session: Session): Promise<MeasuredRuns> {
  const named = /^golden:(.+)$/s.exec(operand)?.[1];
  const rows =
    operand.startsWith('run:') || operand.startsWith('path:') ? [] : await storedGolden(named ?? operand, session);
  if (rows.length > 0) return ofGoldenRows(named ?? operand, rows);
  if (named !== undefined) throw new MbfError('MBF1009', `${session.db} has no golden values ${JSON.stringify(named)}`);
  try {
    return await resolveMeasured(operand, session);
  } catch (error) {
    if (!(error instanceof MbfError) || (error.code !== 'MBF1002' && error.code !== 'MBF1003')) throw error;
    throw new MbfError(
      'MBF1009',
      `${JSON.stringify(operand)} is neither golden values of ${session.db}, nor a golden file, nor a run`,
    );
  }
}

/** A golden file, or a run as `openTarget` resolves it. Throws MBF2801 for a damaged golden file. */
export async function resolveMeasured(
  operand: string | undefined,
  { common, context }: Session,
): Promise<MeasuredRuns> {
  const file = operand?.replace(/^path:/, '');
  if (file !== undefined && isGoldenFile(file)) return ofFile(file, readFileSync(file, 'utf8'));
  const target = await openTarget(operand, common, context);
  try {
    const measurement = await measureRun(target.store, target.runId, target.run, { summaryOf: summaryText });
    return {
      name: target.run,
      origin: 'run',
      runs: [measurement],
      ...NOT_UPSTREAM,
      failed: target.failed.map(({ error }) => error.text),
    };
  } finally {
    await target.close();
  }
}

/** The golden file at a path that has to be one. */
export async function goldenDocumentFile(path: string): Promise<MeasuredRuns> {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw new MbfError('MBF1003', 'no such file', { file: path });
  if (!stat.isFile() || stat.size > MOST_GOLDEN_BYTES) throw new MbfError('MBF2801', 'no golden file', { file: path });
  return ofFile(path, readFileSync(path, 'utf8'));
}

async function ofFile(path: string, text: string): Promise<MeasuredRuns> {
  const golden: GoldenFile = readGolden(text, path);
  const name = basename(path).replace(/\.json$/i, '');
  if (golden.kind === 'document') {
    const { name: own, runs } = golden.document;
    return { name: own, origin: 'file', runs, ...NOT_UPSTREAM, failed: [] };
  }
  const { values } = golden;
  if (values.kind === 'empty') throw new MbfError('MBF1009', 'the golden file holds no values', { file: path });
  const runs = [await measurementOfValues(name, values)];
  return { name, origin: 'file', runs, upstream: values, upstreamText: text, failed: [] };
}

export async function ofGoldenRows(name: string, rows: readonly GoldenRow[]): Promise<MeasuredRuns> {
  const runs: Measurement[] = [];
  for (const row of rows)
    runs.push(row.form === 'upstream' ? await measurementOfValues(name, upstreamOf(row)) : readMeasurement(row));
  const upstream = rows.find((row) => row.form === 'upstream');
  return {
    name,
    origin: 'golden',
    runs,
    upstream: upstream === undefined ? null : upstreamOf(upstream),
    upstreamText: upstream?.document ?? null,
    failed: [],
  };
}

function upstreamOf(row: GoldenRow): UpstreamValues {
  const golden = readGolden(row.document, row.source);
  if (golden.kind !== 'upstream')
    throw new MbfError('MBF2801', `golden values ${row.name}, run ${row.position}: of another kind than noted`);
  return golden.values;
}

async function storedGolden(name: string, session: Session): Promise<GoldenRow[]> {
  return existsSync(session.db) ? session.inStore('read', (store) => readGoldenRows(store, name)) : [];
}
