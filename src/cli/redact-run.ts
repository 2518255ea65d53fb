/** Copies of runs without names; loaded only by verbs that make one. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { discover } from '../ingest/discover/discover.js';
import { MbfError } from '../model/errors.js';
import type { RedactionReport, RedactResult } from '../model/results/redact.js';
import { Pseudonyms } from '../redact/pseudonyms.js';
import {
  collectNames,
  inspectFiles,
  type KnownNames,
  leftovers,
  REPORT_NAME,
  type Redaction,
  writeBundle,
  writeReport,
} from '../redact/redact.js';
import { wordDiagnosis } from '../report/verdict/word-verdict.js';
import { diagnoseTarget } from './ask-diagnosis.js';
import type { Context } from './context.js';
import { heldDirectory } from './interrupt.js';
import { misuse } from './options.js';
import { asOutputError, checkFree, placeOf, withWorkDirectory, writing } from './output-file.js';
import { type PathStore, pathStore } from './path-store.js';

const LEAST_KEY_BYTES = 16;

/** The key of `--key FILE`: a names file of an earlier bundle, or any file; a new one without. */
function readKey(file: string | undefined): Buffer {
  if (file === undefined) return randomBytes(32);
  let content: Buffer;
  try {
    if (!statSync(file).isFile()) throw new MbfError('MBF1003', 'is not a regular file', { file });
    content = readFileSync(file);
  } catch (cause) {
    if (cause instanceof MbfError) throw cause;
    throw new MbfError('MBF1003', 'no key can be read from it', { file }, cause as Error);
  }
  const stored = /^\{\s*"key":\s*"([0-9a-f]{32,128})"/.exec(content.toString('latin1', 0, 400))?.[1];
  if (stored !== undefined) return Buffer.from(stored, 'hex');
  if (content.length < LEAST_KEY_BYTES)
    throw new MbfError('MBF1001', `a key has at least ${LEAST_KEY_BYTES} bytes`, { file });
  return content;
}

/** Writes the bundle of `paths` to the new directory `directory`. */
async function redactPaths(
  paths: readonly string[],
  directory: string,
  key: Buffer,
  known: KnownNames,
): Promise<Redaction> {
  const discovery = await discover(paths);
  const first = await inspectFiles(discovery);
  const { names, inputs } = await collectNames(first, known);
  if (inputs.files.length === 0)
    throw new MbfError('MBF2008', inputs.leftOut[0]?.why ?? 'nothing to redact was found', { file: paths.join(', ') });
  return writeBundle(inputs, names, new Pseudonyms(key), directory);
}

/** Frames and hosts as the rows of these files have them. */
async function knownNames({ store }: PathStore): Promise<KnownNames> {
  const frames = await store.all('redact.frames');
  const hosts = await store.all('redact.hosts');
  return { frames, hosts: hosts.map(({ host }) => host) };
}

/** Asks the store of these files, which is opened once. */
async function inStoreOf<Result>(
  paths: readonly string[],
  context: Context,
  ask: (opened: PathStore) => Promise<Result>,
): Promise<Result> {
  const opened = await pathStore(paths, context, { asWritten: true });
  try {
    return await ask(opened);
  } finally {
    await opened.close();
  }
}

/** What still looks like a name in the files. */
export async function checkBundle(
  paths: readonly string[],
  replacements: ReadonlySet<string> = new Set(),
): Promise<RedactionReport['suspicious']> {
  const inputs = await inspectFiles(await discover(paths));
  const all = { ...inputs, replacements: new Set([...inputs.replacements, ...replacements]) };
  const { names, suspicious } = await collectNames(all, { frames: [], hosts: [] });
  return leftovers(names, suspicious);
}

/** `redact RUN -o DIR`: the bundle, its report, the file of names, and whether the diagnosis is the same. */
export async function redactRun(
  paths: readonly string[],
  { output, key, force }: { readonly output: string; readonly key: string | undefined; readonly force: boolean },
  context: Context,
): Promise<RedactResult> {
  const { parent, name } = placeOf(output);
  const place = join(parent, name);
  const shownNames = `${output.replace(/\/{1,64}$/, '')}-names.json`;
  const namesFile = `${place}-names.json`;
  if (existsSync(place) && !(force && isBundle(place)))
    throw new MbfError('MBF1007', 'the directory exists, and --force replaces only what redact wrote', {
      file: output,
    });
  const secret = readKey(key);
  if (!force) checkFree(namesFile, false);
  return withWorkDirectory(parent, output, async (work) => {
    const directory = join(work, name);
    writing(output, () => mkdirSync(directory));
    const original = await inStoreOf(paths, context, async (opened) => ({
      known: await knownNames(opened),
      diagnosed: await diagnosed(opened),
    }));
    const redaction = redactPaths(paths, directory, secret, original.known);
    const { report, rewriter, names } = await redaction.catch((error: unknown) => {
      throw asOutputError(output, error);
    });
    // No question will be asked about this store again: the directory gets its name afterwards.
    const ofBundle = { ...context, cacheDir: join(work, `${name}-cache`) };
    const redacted = await inStoreOf([directory], ofBundle, diagnosed);
    const differences = differencesOf(original.diagnosed, redacted, (text) => rewriter.restored(text));
    const complete: RedactionReport = {
      ...report,
      suspicious: await checkBundle([directory], new Set(report.replacements)),
      diagnosis: differences.length === 0 ? 'equal' : 'different',
    };
    writing(output, () => {
      writeReport(directory, complete);
      const content = `${JSON.stringify({ key: secret.toString('hex'), names }, null, 1)}\n`;
      writeFileSync(join(work, 'names.json'), content, { mode: 0o600, flag: 'wx' });
      if (force) rmSync(place, { recursive: true, force: true });
      renameSync(directory, place);
      renameSync(join(work, 'names.json'), namesFile);
    });
    return {
      schema: 'mbforensics/redact@1',
      directory: output,
      names_file: shownNames,
      report: complete,
      differences,
    };
  });
}

const isBundle = (directory: string): boolean => existsSync(join(directory, REPORT_NAME));

/** Fields that name the run itself, or depend on its place. */
const OF_THE_PLACE = /"(?:run|root|path|file|commands?|created_at|touched_at|content_key|sha256)":/;

/** Where the diagnosis of the bundle differs from that of the original, names mapped back. */
function differencesOf(original: Diagnosed, redacted: Diagnosed, restore: (text: string) => string): string[] {
  const differences: string[] = [];
  const isSame = (a: string, b: string): boolean => {
    const shown = plain(a);
    const restored = plain(restore(b));
    return shown === restored || shown === plain(b) || original.nameless(shown) === redacted.nameless(restored);
  };
  const walk = (a: unknown, b: unknown, path: string): void => {
    if (differences.length >= 20 || OF_THE_PLACE.test(`"${path.slice(path.lastIndexOf('.') + 1)}":`)) return;
    if (typeof a === 'string' && typeof b === 'string') {
      if (!isSame(a, b)) differences.push(path);
    } else if (typeof a === 'object' && typeof b === 'object' && a !== null && b !== null) {
      for (const name of new Set([...Object.keys(a), ...Object.keys(b)]))
        walk((a as Record<string, unknown>)[name], (b as Record<string, unknown>)[name], `${path}.${name}`);
    } else if (a !== b) differences.push(path);
  };
  walk(original.result, redacted.result, '');
  return differences;
}

/** Secrets are masked in a bundle, and named by their length in a store. */
function plain(text: string): string {
  return text.replace(/<secret: (\d+) characters?>/g, (_, length: string) => 'x'.repeat(Number(length)));
}

interface Diagnosed {
  readonly result: unknown;
  /** Takes the name of the run out of a text: the directory of a bundle has another one. */
  nameless(text: string): string;
}

async function diagnosed(opened: PathStore): Promise<Diagnosed> {
  const result = wordDiagnosis(await diagnoseTarget({ ...opened, handle: undefined }, {}));
  const name = opened.run.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`);
  const pattern = new RegExp(`(?<![\\w.-])${name}(?![\\w-])`, 'g');
  return { result, nameless: (text) => text.replaceAll(pattern, 'RUN') };
}

/**
 * A copy of the paths of one run, in a temporary directory that `close` removes. It has the run's name, redacted.
 * `cacheDir` is for its store.
 */
export async function redactedCopy(
  paths: readonly string[],
  key: string | undefined,
  context: Context,
): Promise<{ readonly path: string; readonly cacheDir: string; close(): Promise<void> }> {
  if (paths.length === 0 || paths.includes('-') || paths.some((path) => !existsSync(path)))
    throw misuse('--redact reads the files again: name paths');
  const { directory: folder, dispose: close } = heldDirectory();
  try {
    const work = join(folder, 'work');
    mkdirSync(work);
    const known = await inStoreOf(paths, context, knownNames);
    const { report, rewriter } = await redactPaths(paths, work, readKey(key), known);
    writeReport(work, report);
    const path = join(folder, 'run', rewriter.rewritten(basename(resolve(paths[0]!))));
    mkdirSync(join(folder, 'run'));
    renameSync(work, path);
    return { path, cacheDir: join(folder, 'cache'), close };
  } catch (error) {
    await close();
    throw error;
  }
}
