/**
 * `node dist/samples/generate/main.js --cause NAME --seed N --out DIR`: writes the run directory of a generated run, or
 * the committed samples.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { CAUSES_TO_GENERATE } from './causes/index.js';
import { SAMPLES } from './stories/index.js';
import { MissingSqlite } from './write/nsys/database.js';
import { runDirectory } from './write/run-directory.js';

const USAGE = `usage: node dist/samples/generate/main.js --cause NAME --seed N --out DIR [--gzip] [--max-entries N]
       node dist/samples/generate/main.js --samples --out DIR
       node dist/samples/generate/main.js --list

  --cause NAME      why the run dies; --list names them
  --seed N          a whole number; the same cause and seed give the same bytes
  --out DIR         made if missing; files of the same name are replaced
  --gzip            compress the memory snapshots
  --max-entries N   keep only the last N entries of each trace, as a shorter recording would
  --samples         write the committed samples, each into its directory under DIR; one of them needs the sqlite3 program
`;

class UsageError extends Error {}

/** What to write where; built one after the other, as a sample's files take much memory while they are made. */
interface Job {
  readonly directory: string;
  readonly build: () => Map<string, Buffer>;
}

function wholeNumber(name: string, text: string | undefined, least: number): number {
  const number = Number(text);
  if (text === undefined || text.trim() === '' || !Number.isSafeInteger(number) || number < least) {
    throw new UsageError(`--${name} needs a whole number${least > Number.MIN_SAFE_INTEGER ? ` from ${least}` : ''}`);
  }
  return number;
}

/** What the arguments ask for; null for the list. */
function readArguments(args: readonly string[]): readonly Job[] | null {
  const { values } = parsed(args);
  if (values.list === true) return null;
  const directory = values.out;
  if (directory === undefined || directory === '') throw new UsageError('--out needs a directory');
  if (values.samples === true) {
    return SAMPLES.map(({ name, build, options }) => ({
      directory: join(directory, name),
      build: () => runDirectory(build(), options),
    }));
  }
  const seed = wholeNumber('seed', values.seed, Number.MIN_SAFE_INTEGER);
  if (values.cause === undefined) throw new UsageError('--cause is missing; see --list');
  const cause = CAUSES_TO_GENERATE.find(({ name }) => name === values.cause);
  if (cause === undefined) throw new UsageError(`no cause is called ${values.cause}; see --list`);
  const maxEntries = values['max-entries'];
  const options = {
    gzip: values.gzip === true,
    ...(maxEntries === undefined ? {} : { maxEntries: wholeNumber('max-entries', maxEntries, 1) }),
  };
  return [{ directory, build: () => runDirectory(cause.build(seed), options) }];
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        cause: { type: 'string' },
        seed: { type: 'string' },
        out: { type: 'string' },
        gzip: { type: 'boolean' },
        'max-entries': { type: 'string' },
        samples: { type: 'boolean' },
        list: { type: 'boolean' },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** Nothing is written, not even the directory, before every file is built. */
function write({ directory, build }: Job): void {
  const files = build();
  mkdirSync(directory, { recursive: true });
  for (const [name, bytes] of files) {
    writeFileSync(join(directory, name), bytes);
    process.stdout.write(`${join(directory, name)}: ${bytes.length} bytes\n`);
  }
}

/** A program that one run needs does not keep the others from being written. */
function writeIfPossible(job: Job): void {
  try {
    write(job);
  } catch (error) {
    if (!(error instanceof MissingSqlite)) throw error;
    process.stderr.write(`${job.directory} was not written: ${error.message}\n`);
    process.exitCode = 1;
  }
}

function list(): void {
  const width = Math.max(...CAUSES_TO_GENERATE.map(({ name }) => name.length));
  for (const { name, title } of CAUSES_TO_GENERATE) process.stdout.write(`${name.padEnd(width)}  ${title}\n`);
}

try {
  const jobs = readArguments(process.argv.slice(2));
  if (jobs === null) list();
  else for (const job of jobs) writeIfPossible(job);
} catch (error) {
  const isUsage = error instanceof UsageError;
  process.stderr.write(isUsage ? `${error.message}\n${USAGE}` : `${error instanceof Error ? error.message : error}\n`);
  process.exitCode = isUsage ? 2 : 1;
}
