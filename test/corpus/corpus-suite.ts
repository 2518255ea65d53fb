/** What the suites over the corpus share. They are skipped loudly without it, or without what else they need. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'vitest';
import { buildCli } from '../support/cli.js';
import { CORPUS, SNAPSHOTS, skipLoudly } from '../support/corpus.js';
import { corpusStore, validSnapshots } from '../support/stores.js';

export const THE_CORPUS = 'the corpus (set MBF_CORPUS)';

/** A suite that runs where none of `needed` is empty. */
export function corpusSuite(title: string, needed: readonly unknown[] | boolean, body: () => void, why = THE_CORPUS) {
  const isThere = typeof needed === 'boolean' ? needed : needed.length > 0;
  describe(title, () => (isThere ? body() : skipLoudly(title, why)));
}

/** Names of a folder of the corpus; none where it is missing. */
export function namesIn(...folders: readonly string[]): string[] {
  const folder = join(CORPUS, ...folders);
  return existsSync(folder) ? readdirSync(folder).sort() : [];
}

export const LOGS = join(CORPUS, 'logs');
export const logNames = namesIn('logs').filter((name) => !name.endsWith('.meta.json'));

/** Every log and snapshot: name and path. */
export const corpusFiles: readonly (readonly [name: string, path: string])[] = [
  ...logNames.map((name) => [name, join(LOGS, name)] as const),
  ...validSnapshots().map((name) => [name, join(SNAPSHOTS, name)] as const),
];

export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** What a verb answers for all snapshots. */
export const askCorpus = <T>(verb: string, ...args: readonly string[]): T =>
  buildCli()
    .expect(0, [verb, 'corpus', ...args, '--db', corpusStore(), '--json=full'])
    .json<T>();
