/**
 * What a bisection leaves behind, below the git directory, where no checkout touches it: a folder for each bisection,
 * in it one for each commit judged, with what its runs wrote and the judgement; and a store of all runs.
 *
 *     <git dir>/mbforensics/bisect/<session>/session.json
 *     <git dir>/mbforensics/bisect/<session>/BISECT_LOG
 *     <git dir>/mbforensics/bisect/<session>/<commit>/judgement.json
 *     <git dir>/mbforensics/bisect/<session>/<commit>/run-1/launch.log …
 *     <git dir>/mbforensics/bisect/bisect.duckdb
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Repository } from '../../../git/repository.js';
import { MbfError } from '../../../model/errors.js';
import type { CompareCheck, Judgement, SettingChange, TriageEvidence } from '../../../model/results/compare.js';

/** What all judgements of a bisection have in common. */
export interface SessionRecord {
  readonly schema: 'mbforensics/bisect-session@1';
  readonly criterion: string;
  readonly golden: string;
  readonly like: string | null;
  readonly tolerance: string | null;
  /** Of `--allow-change`; absent: nothing. */
  readonly allowed?: readonly string[];
  readonly command: readonly string[];
  /** ISO 8601, UTC. */
  readonly started_at: string;
}

/** One commit as it was judged; the last judgement counts. */
export interface JudgementRecord {
  readonly schema: 'mbforensics/bisect-judgement@1';
  readonly sha: string;
  readonly subject: string;
  readonly judgement: Judgement;
  readonly reason: string;
  readonly evidence: readonly TriageEvidence[];
  readonly checks: readonly CompareCheck[];
  /** What differs from the golden run's settings; absent in records of earlier versions. */
  readonly settings?: readonly SettingChange[];
  /** False: its runs differ from the golden run in the contract. */
  readonly is_comparable?: boolean;
  /** Names in the store of the runs it rests on. */
  readonly runs: readonly string[];
  readonly judged_at: string;
}

export interface Session {
  readonly id: string;
  readonly directory: string;
}

export function bisectDirectory({ gitDir }: Repository): string {
  return join(gitDir, 'mbforensics', 'bisect');
}

export const STORE_NAME = 'bisect.duckdb';

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
  await mkdir(directory, { recursive: true });
  const file = join(directory, 'session.json');
  if (!existsSync(file)) await writeWhole(file, `${JSON.stringify(record, null, 2)}\n`);
  await keepLog(repository, directory);
  return { id, directory };
}

/** The lines of git's log that a bisection begins with: who was called good and bad at first. */
function bisectStart(repository: Repository): string | undefined {
  const file = join(repository.gitDir, 'BISECT_LOG');
  if (!existsSync(file)) return undefined;
  const lines = readFileSync(file, 'utf8').split('\n');
  const start = lines.findIndex((line) => line.startsWith('git bisect start'));
  return lines.slice(0, start + 1).join('\n');
}

/** git forgets its log at `git bisect reset`. */
async function keepLog(repository: Repository, directory: string): Promise<void> {
  const file = join(repository.gitDir, 'BISECT_LOG');
  if (existsSync(file)) await copyFile(file, join(directory, 'BISECT_LOG'));
}

/** An empty folder for a run of a commit. */
export async function runDirectory(session: Session, sha: string, run: number): Promise<string> {
  const directory = join(session.directory, sha, `run-${run}`);
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  return directory;
}

export async function keepJudgement(session: Session, record: JudgementRecord): Promise<void> {
  await mkdir(join(session.directory, record.sha), { recursive: true });
  await writeWhole(join(session.directory, record.sha, 'judgement.json'), `${JSON.stringify(record, null, 2)}\n`);
}

async function writeWhole(file: string, text: string): Promise<void> {
  const work = `${file}.${process.pid}.tmp`;
  await writeFile(work, text);
  await rename(work, file);
}

/** So many commits in a row that differ from the golden run in the same settings: more launches would be wasted. */
const MOST_NOT_COMPARABLE = 8;

/** Throws MBF1012 where the golden values cannot judge these commits; git keeps the bisection. */
export function checkComparable({ directory }: Session): void {
  const last = judgementsOf(directory).slice(-MOST_NOT_COMPARABLE);
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

/** The session named, or the one judged last. Throws MBF1002. */
export function readSession(repository: Repository, id: string | undefined): ReadSession {
  const root = bisectDirectory(repository);
  const known = existsSync(root)
    ? readdirSync(root).filter((name) => existsSync(join(root, name, 'session.json')))
    : [];
  if (id !== undefined && !known.includes(id))
    throw new MbfError('MBF1002', `no bisection ${id}; there are ${known.length === 0 ? 'none' : known.join(', ')}`);
  const sessions = (id === undefined ? known : [id]).map((name) => read(root, name));
  const latest = sessions.sort((a, b) => (judgedAt(a) < judgedAt(b) ? 1 : -1))[0];
  if (latest === undefined)
    throw new MbfError(
      'MBF1002',
      'no bisection was judged here: git bisect run mbforensics bisect run --golden … -- …',
    );
  const current = join(repository.gitDir, 'BISECT_LOG');
  const kept = join(latest.directory, 'BISECT_LOG');
  return { ...latest, log: newestLog(kept, current) };
}

const judgedAt = ({ judgements, record }: ReadSession): string => judgements.at(-1)?.judged_at ?? record.started_at;

/** git's own, if it goes on from the one that was kept: it also has what git wrote after the last judgement. */
function newestLog(kept: string, current: string): string {
  const old = existsSync(kept) ? readFileSync(kept, 'utf8') : '';
  const now = existsSync(current) ? readFileSync(current, 'utf8') : '';
  return now.startsWith(old) ? now : old;
}

function read(root: string, id: string): ReadSession {
  const directory = join(root, id);
  const record = readJson<SessionRecord>(join(directory, 'session.json'));
  return { id, directory, record, judgements: judgementsOf(directory), log: '' };
}

function judgementsOf(directory: string): JudgementRecord[] {
  return readdirSync(directory)
    .map((name) => join(directory, name, 'judgement.json'))
    .filter((file) => existsSync(file))
    .map((file) => readJson<JudgementRecord>(file))
    .sort((a, b) => (a.judged_at < b.judged_at ? -1 : 1));
}

function readJson<Record>(file: string): Record {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record;
  } catch (error) {
    throw new MbfError('MBF2801', 'damaged record of a bisection', { file }, error);
  }
}
