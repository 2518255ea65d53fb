/**
 * What a bisection leaves behind, below the git directory, where no checkout touches it: a folder for each bisection,
 * in it one for each commit judged, with what its runs wrote and the judgement; and a store of all runs.
 *
 *     <git dir>/mbforensics/bisect/<session>/session.json
 *     <git dir>/mbforensics/bisect/<session>/BISECT_LOG
 *     <git dir>/mbforensics/bisect/<session>/<commit>/judgement.json
 *     <git dir>/mbforensics/bisect/<session>/<commit>/run-1/launch.log …
 *     <git dir>/mbforensics/bisect/bisect.duckdb
 *
 * `mbforensics` itself may be a symbolic link, for example to a larger disk. Below it links are refused: a repository
 * of unknown origin could lead reads and writes anywhere.
 */
import { createHash } from 'node:crypto';
import { lstatSync, type Stats } from 'node:fs';
import { mkdir, opendir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Repository } from '../../../git/repository.js';
import { WHOLE_ID } from '../../../git/resolve-revision.js';
import { MbfError } from '../../../model/errors.js';
import {
  type JudgementRecord,
  type RecordBudget,
  readJudgementRecord,
  readLog,
  readSessionRecord,
  recordBudget,
  type SessionRecord,
} from './records.js';

export interface Session {
  readonly id: string;
  readonly directory: string;
}

export function bisectDirectory({ gitDir }: Repository): string {
  return join(gitDir, 'mbforensics', 'bisect');
}

const STORE_NAME = 'bisect.duckdb';

/** Path of the store of all bisections. Throws MBF2962 where something else has its name. */
export function bisectStoreFile(repository: Repository): { readonly db: string; readonly exists: boolean } {
  const db = join(bisectDirectory(repository), STORE_NAME);
  const stats = statsOf(db);
  if (stats !== undefined && !stats.isFile()) throw new MbfError('MBF2962', 'is not a regular file', { file: db });
  return { db, exists: stats !== undefined };
}

const statsOf = (path: string): Stats | undefined => lstatSync(path, { throwIfNoEntry: false });

/** Makes a folder and those around it. Throws MBF2962 where a link leads elsewhere. */
async function makeFolder(path: string): Promise<void> {
  checkFolder(path);
  await mkdir(path, { recursive: true });
}

function checkFolder(path: string): void {
  const stats = statsOf(path);
  if (stats !== undefined && !stats.isDirectory()) throw new MbfError('MBF2962', 'is not a folder', { file: path });
}

/**
 * The folder of this bisection: another criterion, golden run or start is another bisection. Made if it is not there.
 */
export async function openSession(repository: Repository, record: SessionRecord): Promise<Session> {
  const start = bisectStart(repository) ?? 'by hand';
  const key = JSON.stringify([
    start,
    record.criterion,
    record.golden,
    record.like,
    record.tolerance,
    record.allowed,
    record.command,
  ]);
  const id = createHash('sha256').update(key).digest('hex').slice(0, 12);
  const directory = join(bisectDirectory(repository), id);
  checkFolder(bisectDirectory(repository));
  await makeFolder(directory);
  const file = join(directory, 'session.json');
  if (readSessionRecord(file) === undefined) await writeWhole(file, `${JSON.stringify(record, null, 2)}\n`);
  // git forgets its log at `git bisect reset`.
  const log = readLog(join(repository.gitDir, 'BISECT_LOG'));
  if (log !== '') await writeWhole(join(directory, 'BISECT_LOG'), log);
  return { id, directory };
}

/** The lines of git's log that a bisection begins with: who was called good and bad at first. */
function bisectStart(repository: Repository): string | undefined {
  const log = readLog(join(repository.gitDir, 'BISECT_LOG'));
  if (log === '') return undefined;
  const lines = log.split('\n');
  const start = lines.findIndex((line) => line.startsWith('git bisect start'));
  return lines.slice(0, start + 1).join('\n');
}

/** An empty folder for a run of a commit. */
export async function runDirectory(session: Session, sha: string, run: number): Promise<string> {
  const ofCommit = join(session.directory, sha);
  await makeFolder(ofCommit);
  const directory = join(ofCommit, `run-${run}`);
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory);
  return directory;
}

export async function keepJudgement(session: Session, record: JudgementRecord): Promise<void> {
  await makeFolder(join(session.directory, record.sha));
  await writeWhole(join(session.directory, record.sha, 'judgement.json'), `${JSON.stringify(record, null, 2)}\n`);
}

async function writeWhole(file: string, text: string): Promise<void> {
  const work = `${file}.${process.pid}.tmp`;
  await rm(work, { force: true });
  // `wx` writes through no link.
  await writeFile(work, text, { flag: 'wx' });
  await rename(work, file);
}

/** So many commits in a row that differ from the golden run in the same settings: more launches would be wasted. */
const MOST_NOT_COMPARABLE = 8;

/** Throws MBF1012 where the golden values cannot judge these commits; git keeps the bisection. */
export async function checkComparable({ directory }: Session): Promise<void> {
  const last = (await judgementsOf(directory)).slice(-MOST_NOT_COMPARABLE);
  const [first] = last;
  if (last.length < MOST_NOT_COMPARABLE || first === undefined) return;
  const differences = ({ settings = [] }: JudgementRecord): string =>
    JSON.stringify(settings.filter(({ is_contract }) => is_contract));
  if (last.every((record) => record.is_comparable === false && differences(record) === differences(first)))
    throw new MbfError('MBF1012', `the last ${last.length} commits are ${first.reason}`);
}

export interface ReadSession extends Session {
  readonly record: SessionRecord;
  /** In the order in which they were judged. */
  readonly judgements: readonly JudgementRecord[];
  /** git's log as it was when the last commit was judged; empty outside of `git bisect`. */
  readonly log: string;
}

/** A bisection of a million commits judges 20. */
const MOST_JUDGEMENTS = 1_000;
const MOST_SESSIONS = 1_000;

/** The session named, or the one judged last. Throws MBF1002 where it is missing, MBF2962 for damaged records. */
export async function readSession(repository: Repository, id: string | undefined): Promise<ReadSession> {
  const root = bisectDirectory(repository);
  const known = (await foldersIn(root, MOST_SESSIONS)).filter(
    (name) => statsOf(join(root, name, 'session.json')) !== undefined,
  );
  if (id !== undefined && !known.includes(id)) {
    const names = known.length === 0 ? 'none' : known.slice(0, 20).join(', ');
    throw new MbfError('MBF1002', `no bisection ${id}; there are ${names}`);
  }
  const budget = recordBudget();
  let latest: ReadSession | undefined;
  for (const name of id === undefined ? known : [id]) {
    const session = await read(root, name, budget);
    if (session !== undefined && (latest === undefined || judgedAt(session) >= judgedAt(latest))) latest = session;
  }
  if (latest === undefined)
    throw new MbfError(
      'MBF1002',
      'no bisection was judged here: git bisect run mbforensics bisect run --golden … -- …',
    );
  const kept = readLog(join(latest.directory, 'BISECT_LOG'));
  const current = readLog(join(repository.gitDir, 'BISECT_LOG'));
  // git's own, if it goes on from the one that was kept: it also has what git wrote after the last judgement.
  return { ...latest, log: current.startsWith(kept) ? current : kept };
}

const judgedAt = ({ judgements, record }: ReadSession): string => judgements.at(-1)?.judged_at ?? record.started_at;

async function read(root: string, id: string, budget: RecordBudget): Promise<ReadSession | undefined> {
  const directory = join(root, id);
  const record = readSessionRecord(join(directory, 'session.json'), budget);
  if (record === undefined) return undefined;
  return { id, directory, record, judgements: await judgementsOf(directory, budget), log: '' };
}

/** In the order in which they were judged. */
export async function judgementsOf(directory: string, budget = recordBudget()): Promise<JudgementRecord[]> {
  const records: JudgementRecord[] = [];
  for (const sha of await foldersIn(directory, MOST_JUDGEMENTS)) {
    if (!WHOLE_ID.test(sha)) continue;
    const record = readJudgementRecord(join(directory, sha, 'judgement.json'), sha, budget);
    if (record !== undefined) records.push(record);
  }
  return records.sort((a, b) => (a.judged_at < b.judged_at ? -1 : 1));
}

/** Names of the folders in a folder; none if it is missing. */
async function foldersIn(directory: string, most: number): Promise<string[]> {
  checkFolder(directory);
  if (statsOf(directory) === undefined) return [];
  const names: string[] = [];
  let entries = 0;
  for await (const entry of await opendir(directory)) {
    entries += 1;
    if (entries > most) throw new MbfError('MBF2962', `more than ${most} entries`, { file: directory });
    if (entry.isSymbolicLink())
      throw new MbfError('MBF2962', 'is a symbolic link', { file: join(directory, entry.name) });
    if (entry.isDirectory()) names.push(entry.name);
  }
  return names.sort();
}
