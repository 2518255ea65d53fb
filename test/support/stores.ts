/**
 * Stores that exist already: one for each set of inputs, made by the command line once per build and kept for later
 * runs of the tests. Tests that only ask read it where it is; tests that write ask for a copy.
 */
import { copyFileSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { CAUSES_TO_GENERATE } from '../../samples/generate/causes/index.js';
import { type RunDirectoryOptions, runDirectory, TRUTH_NAME } from '../../samples/generate/write/run-directory.js';
import { contentKey, madeOnce, repoRoot, sharedPath } from '../store/scratch.js';
import { buildCli } from './cli.js';
import { SNAPSHOTS, snapshotPickles, truthOf } from './corpus.js';

/** Where a sample is, as `samples/README.md` names it. */
export const samplePath = (name: string): string => join(repoRoot, 'samples', name);

/**
 * The path of a read-only store of what `ingest PATHS ARGS` reads, with all that an ingest derives. Equal paths,
 * contents and arguments give the same file. It must not be written; see {@link copyStore}.
 */
export function storeOf(paths: string | readonly string[], args: readonly string[] = []): string {
  const list = typeof paths === 'string' ? [paths] : paths;
  const name = `store-${basename(list[0]!)}-${contentKey(list, [...list.map((path) => realpathSync(path)), ...args])}`;
  const path = sharedPath(`${name}.duckdb`);
  return madeOnce(path, (db) => void buildCli().expect(0, ['ingest', ...list, ...args, '--db', db]));
}

/** A copy of {@link storeOf} at `file`, to be written. */
export function copyStore(file: string, paths: string | readonly string[], args: readonly string[] = []): string {
  copyFileSync(storeOf(paths, args), file);
  return file;
}

/** The store of one sample, under the name of its folder. */
export const sampleStore = (name: string): string => storeOf(samplePath(name));

/** Base names of the snapshots of the corpus that are some; ascending. */
export function validSnapshots(): string[] {
  return snapshotPickles().filter((name) => truthOf(name).valid !== false);
}

/** All snapshots of the corpus as one run named `corpus`. */
export const corpusStore = (): string =>
  storeOf(
    validSnapshots().map((name) => join(SNAPSHOTS, name)),
    ['--run', 'corpus'],
  );

/** A folder that `make` fills once per build; `name` holds all that it depends on. */
export const sharedFolder = (name: string, make: (folder: string) => void): string => madeOnce(sharedPath(name), make);

/**
 * The folder of a generated run of one cause: `run/` has its files, and next to it is the truth, which the program must
 * not read. Its store: `storeOf(join(folder, 'run'))`.
 */
export function generatedRun(cause: string, seed: number, options: RunDirectoryOptions = {}): string {
  const key = Object.entries(options).flat().join('-');
  return sharedFolder(`run-${cause}-${seed}-${key}`, (folder) => {
    const { build } = CAUSES_TO_GENERATE.find(({ name }) => name === cause)!;
    for (const [name, bytes] of runDirectory(build(seed), options)) {
      const path = join(folder, name === TRUTH_NAME ? '' : 'run', name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, bytes);
    }
  });
}
