/**
 * The diagnosis of paths, kept in the cache directory with their store: asked again about unchanged files, it is read
 * from there, and no store is opened. It does not depend on how it is shown.
 */
import { createHash } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DiagnoseOptions } from '../findings/flows/diagnose.js';
import type { Diagnosis } from '../model/results/common.js';
import { temporaryName } from '../store/temporary-files.js';
import { prune } from './cached-files.js';

/** What changes the answer about the same files: all of it is in the key. */
export type DiagnoseQuestion = Omit<DiagnoseOptions, 'advises' | 'failedSources'>;

/** The files of one run, by what is cached of them. */
export interface CachedFiles {
  /** See `cachePlace`. */
  readonly directory: string;
  /** See `contentKey`. */
  readonly key: string;
}

/** Where the answer of this build is. Undefined for sources that were not built. */
export function answerFile(
  { directory, key }: CachedFiles,
  question: DiagnoseQuestion,
  build = buildId(),
): string | undefined {
  if (build === undefined) return undefined;
  const fields = Object.entries(question).filter(([, value]) => value !== undefined);
  const asked = createHash('sha256').update(JSON.stringify([build, fields.sort()]));
  return join(directory, `${key}-${asked.digest('hex').slice(0, 32)}.json`);
}

/**
 * Hash of all that the build can answer by: program, rules, words and queries. `.ci/build-id.mjs` makes it, so that no
 * number has to be raised by hand.
 */
export function buildId(): string | undefined {
  try {
    return readFileSync(new URL('../build-id', import.meta.url), 'utf8');
  } catch {
    return undefined;
  }
}

/** Undefined where there is none, or where its file is damaged. */
export function readAnswer(files: CachedFiles, question: DiagnoseQuestion): Diagnosis | undefined {
  const file = answerFile(files, question);
  if (file === undefined) return undefined;
  try {
    const text = readFileSync(file, 'utf8');
    const document = text.slice(DIGEST_CHARS);
    return text.slice(0, DIGEST_CHARS) === digestOf(document) ? (JSON.parse(document) as Diagnosis) : undefined;
  } catch {
    return undefined;
  }
}

/** Best effort: without it, the next question opens the store. */
export async function writeAnswer(files: CachedFiles, question: DiagnoseQuestion, diagnosis: Diagnosis): Promise<void> {
  const file = answerFile(files, question);
  if (file === undefined) return;
  const work = temporaryName(file, 'new', files.directory);
  try {
    const document = JSON.stringify(diagnosis);
    writeFileSync(work, digestOf(document) + document);
    renameSync(work, file);
    await prune(files.directory);
  } catch {
    try {
      rmSync(work, { force: true });
    } catch {
      // What its path names as a directory is none.
    }
  }
}

/** SHA-256 in hexadecimal, and a line feed: before the document. */
const DIGEST_CHARS = 65;

const digestOf = (document: string): string => `${createHash('sha256').update(document).digest('hex')}\n`;
