/**
 * All snapshots of the corpus in one store, made by the command line once in a run of the tests, with their histories.
 */
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { madeOnce, sharedPath } from '../store/scratch.js';
import type { Cli } from './cli.js';
import { SNAPSHOTS, snapshotPickles, truthOf } from './corpus.js';

/** Base names of the snapshots that are some; ascending. */
export function validSnapshots(): string[] {
  return snapshotPickles().filter((name) => truthOf(name).valid !== false);
}

/** Puts a copy of the store, of one run named `corpus`, at `file`. */
export function copyCorpusStore(cli: Cli, file: string): void {
  const make = (db: string): void => {
    const paths = validSnapshots().map((name) => join(SNAPSHOTS, name));
    cli.expect(0, ['ingest', ...paths, '--run', 'corpus', '--db', db]);
    // What is asked first derives the histories, for all who ask later.
    cli.expect(0, ['peak', 'corpus', '--limit', '1', '--db', db]);
  };
  const shared = sharedPath('-corpus.duckdb');
  if (shared === undefined) {
    make(file);
    return;
  }
  madeOnce(shared, () => make(shared));
  copyFileSync(shared, file);
}
