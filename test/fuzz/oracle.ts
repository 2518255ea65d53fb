/** What must hold of any input: in this process through its parser, and through the whole command line. */
import { createHash, type Hash } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { looksLikeGolden, PARSERS, readGolden } from '../../parsers/index.js';
import { parseSnapshot } from '../../parsers/torch-snapshot/index.js';
import type { Random } from '../../samples/generate/simulate/random.js';
import { readRules } from '../../src/cli/rules-file.js';
import type { DerivedSink, DerivedSnapshotSink } from '../../src/ingest/derive/derive-snapshot.js';
import { detect } from '../../src/ingest/discover/detect.js';
import { discover } from '../../src/ingest/discover/discover.js';
import { examine } from '../../src/ingest/discover/examine.js';
import type { OpenedSource } from '../../src/ingest/read/byte-source.js';
import { DecodeThreads } from '../../src/ingest/read/decode-in-thread.js';
import { decodeSource } from '../../src/ingest/read/decode-source.js';
import { batchBytes, ColumnBatch } from '../../src/model/columns.js';
import { MbfError } from '../../src/model/errors.js';
import type { Dictionary, ParserSpec } from '../../src/model/parser.js';
import { pickOf } from './mutate-bytes.js';
import type { ProgramHost } from './program-host.js';
import type { Seed } from './seeds.js';
import { PLANTED_SECRET, questionsOf } from './words.js';

/** Of one input in its parser. */
export const MOST_CPU_SECONDS = 5;
/** Of one input; what the process had before is not counted. */
export const MOST_GROWTH_BYTES = 2 ** 30;

/** What a rule was broken by: its kind, and a line that explains it. Inputs with the same key show the same. */
export interface Finding {
  readonly kind: 'exception' | 'slow' | 'memory' | 'output' | 'executed' | 'unstable' | 'hang' | 'crash';
  readonly key: string;
  readonly what: string;
}

export interface ParserResult {
  readonly outcome: string;
  readonly cpuSeconds: number;
  readonly peakBytes: number;
  readonly finding: Finding | undefined;
}

/** Control characters except tabs and ends of lines, and marks of direction: a terminal obeys them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not come out
const UNPRINTABLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

export function unprintable(text: string): string | undefined {
  const match = UNPRINTABLE.exec(text);
  if (match === null) return undefined;
  const code = match[0].charCodeAt(0).toString(16).padStart(4, '0');
  return `U+${code} in ${JSON.stringify(text.slice(Math.max(0, match.index - 40), match.index + 20))}`;
}

const plainKey = (text: string): string =>
  text
    .replace(/\d+/g, 'N')
    .replace(/"[^"]*"|'[^']*'/g, 'S')
    .slice(0, 120);

export function exceptionFinding(error: unknown): Finding {
  const { stack = String(error), message } = error instanceof Error ? error : new Error(String(error));
  const place = /\n\s+at (?:async )?(?:(\S+) \()?\S*\/([^/\s:]+):\d+:\d+/.exec(stack);
  const at = `${place?.[1] ?? ''} ${place?.[2] ?? ''}`;
  return { kind: 'exception', key: plainKey(`exception ${at} ${message}`), what: `${message} at ${at}`.slice(0, 300) };
}

/** Hashes all rows if there is a hash, else only receives them. */
function sinkInto(hash: Hash | undefined, count: () => void): DerivedSink {
  const take = (name: string, value: unknown): void => {
    count();
    hash?.update(
      `${name} ${JSON.stringify(value, (_, item: unknown) => (typeof item === 'bigint' ? `${item}n` : item))}\n`,
    );
  };
  const batch = (name: string, rows: ColumnBatch): void => {
    count();
    if (hash === undefined) return;
    const bytes = new ArrayBuffer(batchBytes(rows.layout, rows.rows));
    new ColumnBatch(rows.layout, rows.rows, bytes).copyFrom(rows);
    hash.update(`${name} ${rows.rows}\n`).update(new Uint8Array(bytes));
  };
  const batches = (name: string) => (rows: ColumnBatch) => batch(name, rows);
  const snapshot = (dictionary: Dictionary): DerivedSnapshotSink => ({
    ...{ entries: batches('entries'), segments: batches('segments'), blocks: batches('blocks') },
    ...{ annotations: batches('annotations'), hostEvents: batches('hostEvents'), buckets: batches('buckets') },
    ...{ hostSegments: batches('hostSegments'), blockLives: batches('blockLives') },
    segmentLives: batches('segmentLives'),
    parsed: () => undefined,
    oom: (row) => take('oom', row),
    eventExtra: (row) => take('extra', row),
    end: (summary, derivation) => {
      take('end', [[...summary.settings], summary.features, derivation]);
      for (let i = 0; i < dictionary.textCount; i++) hash?.update(dictionary.text(i));
    },
  });
  return {
    note: (note) => take('note', note),
    incident: (row) => take('incident', row),
    droppedIncidents: (rows) => take('dropped', rows),
    attempt: (row) => take('attempt', row),
    textRow: (...row: unknown[]) => take('row', row),
    textRows: (kind, rows, texts) => {
      batch(kind, rows);
      take('texts', texts);
    },
    nsys: {
      rows: (kind, rows) => batch(kind, rows),
      texts: ({ bytes }) => void hash?.update(bytes),
      fact: (fact) => take('fact', fact),
      rawTable: async (table, columns) => take('table', [table, columns]),
      raw: ({ table, rows }) => take('raw', [table, rows]),
    },
    snapshot: async (dictionary) => snapshot(dictionary),
  };
}

/** Bytes in memory in place of a file: opening files takes longer than reading most inputs. */
function openedInMemory(bytes: Buffer): OpenedSource {
  let at = 0;
  return {
    source: {
      sizeBytes: bytes.length,
      async read(target, start) {
        const count = Math.min(target.length - start, bytes.length - at);
        target.set(bytes.subarray(at, at + count), start);
        at += count;
        return count;
      },
      async randomAccess() {
        return {
          sizeBytes: bytes.length,
          readAt(target, position) {
            const part = bytes.subarray(position, position + target.length);
            target.set(part);
            return part.length;
          },
          siblingBytes: () => undefined,
        };
      },
    },
    compression: 'none',
    sizeBytes: bytes.length,
    mtimeMs: 0,
    head: async () => bytes.subarray(0, 65_536),
    finish: async () => ({ of: 'whole', hex: '' }),
    notes: () => [],
    close: async () => undefined,
  };
}

export type Reader = 'memory' | 'file' | 'folder' | 'rules' | 'golden';

/** Pickles without the decoder in WebAssembly. */
const generalWay = (parser: ParserSpec): ParserSpec =>
  parser.id === 'torch-snapshot'
    ? { ...parser, parse: (source, sink, context) => parseSnapshot(source, sink, context, { isFast: false }) }
    : parser;

async function readWith(
  reader: Reader,
  { name, bytes }: Seed,
  directory: string,
  sink: DerivedSink,
  isAgain: boolean,
): Promise<string> {
  if (reader === 'memory') {
    const head = { bytes: bytes.subarray(0, 65_536), name, sizeBytes: bytes.length };
    const detection = detect(PARSERS, head, { isNamed: true });
    if (detection.status !== 'recognised') throw detection.error;
    const parser = isAgain ? generalWay(detection.parser) : detection.parser;
    await decodeSource(parser, openedInMemory(bytes), sink, { name });
    return detection.parser.id;
  }
  if (reader === 'golden') {
    const content = bytes.toString('utf8');
    if (!looksLikeGolden(content as never)) return 'not golden';
    return readGolden(content, name).kind;
  }
  const path =
    reader === 'folder' ? directory : join(directory, `input${name.replace(/^.*?(?=\.|$)/s, '').replaceAll('/', '')}`);
  if (reader !== 'folder') writeFileSync(path, bytes);
  if (reader === 'rules') {
    await readRules(path);
    return 'rules';
  }
  const thread = new DecodeThreads();
  try {
    const { candidates, failed } = await discover([path]);
    if (candidates[0] === undefined) throw failed[0]?.error ?? new MbfError('MBF2007', 'nothing to read');
    const examined = await examine(candidates[0], PARSERS, thread, { allTables: reader === 'folder' });
    try {
      if (examined.status !== 'recognised') throw examined.error;
      await examined.decode(sink, {});
      return examined.parser.id;
    } finally {
      await examined.close();
    }
  } finally {
    await thread.close();
  }
}

/** One input through its parser, with the rows hashed if `isHashed`. */
async function readOnce(reader: Reader, input: Seed, directory: string, isHashed: boolean, isAgain = false) {
  const hash = isHashed ? createHash('sha1') : undefined;
  let calls = 0;
  let outcome: string;
  let finding: Finding | undefined;
  try {
    outcome = await readWith(
      reader,
      input,
      directory,
      sinkInto(hash, () => calls++),
      isAgain,
    );
  } catch (error) {
    if (error instanceof MbfError && (error.kind === 'input' || error.kind === 'usage')) {
      outcome = error.code;
      const message = error.inFile('FILE').describe();
      const bad = unprintable(message);
      if (bad !== undefined) finding = { kind: 'output', key: `output ${error.code}`, what: `${error.code}: ${bad}` };
      else if (message.includes('\n') || message.length > 1500)
        finding = { kind: 'output', key: `long ${error.code}`, what: `${error.code} has ${message.length} characters` };
    } else {
      outcome = 'exception';
      finding = exceptionFinding(error);
    }
  }
  return { outcome, finding, digest: `${outcome} ${calls} ${hash?.digest('hex') ?? ''}` };
}

const cpuSeconds = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};

/** `isTwice`: once more, a pickle in the general way, and the rows must be equal. */
export async function checkParser(
  reader: Reader,
  input: Seed,
  directory: string,
  { isTwice = false, mostCpuSeconds = MOST_CPU_SECONDS } = {},
): Promise<ParserResult> {
  const before = { cpu: cpuSeconds(), rss: process.memoryUsage.rss(), peak: process.resourceUsage().maxRSS * 1024 };
  const { outcome, finding, digest } = await readOnce(reader, input, directory, isTwice);
  const used = cpuSeconds() - before.cpu;
  const peak = process.resourceUsage().maxRSS * 1024;
  const growth = peak > before.peak ? peak - before.rss : 0;
  const result = { outcome, cpuSeconds: used, peakBytes: growth };
  const of = (kind: Finding['kind'], what: string): ParserResult => ({
    ...result,
    finding: { kind, key: `${kind} ${outcome}`, what },
  });
  if (finding !== undefined) return { ...result, finding };
  if (used > mostCpuSeconds) return of('slow', `${used.toFixed(1)} s of CPU for ${input.bytes.length} bytes`);
  if (growth > MOST_GROWTH_BYTES)
    return of('memory', `${(growth / 2 ** 30).toFixed(2)} GiB for ${input.bytes.length} bytes`);
  if (isTwice) {
    const again = await readOnce(reader, input, directory, true, true);
    if (again.digest !== digest) return of('unstable', `read twice: ${digest} and ${again.digest}`);
  }
  return { ...result, finding: undefined };
}

/** What is asked of a store that was made of an input, and of a file. */
const QUESTIONS = questionsOf('questions');
const FILE_QUESTIONS = questionsOf('fileQuestions');

const EXIT_CODES = new Set([0, 1, 2, 3, 4, 5]);

/** One call of the command line; undefined if all rules hold. */
export async function checkCall(
  host: ProgramHost,
  args: readonly string[],
  cwd: string,
  codes: ReadonlySet<number> = EXIT_CODES,
): Promise<Finding | undefined> {
  const answer = await host.run(args, cwd);
  const verb = args
    .filter((arg) => /^[a-z-]+$/.test(arg) && arg.length < 14)
    .slice(0, 3)
    .join(' ');
  const of = (kind: Finding['kind'], detail: string, what: string): Finding => ({
    kind,
    key: plainKey(`${kind} ${verb} ${detail}`),
    what: `${args.join(' ')}: ${what}`.slice(0, 400),
  });
  if ('fault' in answer) return of(answer.isHang ? 'hang' : 'crash', answer.fault, answer.fault);
  const { status, stdout, stderr } = answer;
  if (status === 70 || /\n\s+at .*:\d+:\d+\)?(?:\n|$)/.test(stderr))
    return of('exception', stderr, stderr.slice(0, 300));
  if (!codes.has(status)) return of('output', `exit ${status}`, `exit code ${status}: ${stderr.slice(0, 200)}`);
  for (const stream of [stdout, stderr]) {
    const bad = unprintable(stream);
    if (bad !== undefined) return of('output', 'control character', bad);
    if (stream.includes(PLANTED_SECRET)) return of('output', 'secret', 'a planted secret is printed');
  }
  if (args.includes('--json') && stdout !== '') {
    try {
      JSON.parse(stdout);
    } catch (error) {
      return of('output', 'JSON', `invalid JSON: ${error}`);
    }
  }
  return undefined;
}

/** Ingests the input into a store of its own, asks two questions, and opens the store again. */
export async function checkProgram(
  host: ProgramHost,
  { name, bytes }: Seed,
  directory: string,
  random: Random,
  questions?: readonly (readonly string[])[],
): Promise<Finding | undefined> {
  const run = join(directory, 'run');
  rmSync(run, { recursive: true, force: true });
  mkdirSync(run, { recursive: true });
  const file = join(run, name.replaceAll('/', '_').replaceAll('\0', ''));
  writeFileSync(file, bytes);
  const db = join(directory, 'fuzz.duckdb');
  const json = (): string[] => (random() < 0.4 ? ['--json'] : []);
  const chosen = questions ?? [pickOf(random, QUESTIONS), pickOf(random, QUESTIONS)];
  const calls = [
    ['ingest', run, '--db', db, ...json()],
    ...chosen.map((question) => [...question, '--db', db, ...(question.includes('--markdown') ? [] : json())]),
    [...(questions === undefined ? [...pickOf(random, FILE_QUESTIONS), file] : ['doctor', file]), ...json()],
    ['runs', '--db', db, '--json'],
  ];
  try {
    for (const call of calls) {
      const finding = await checkCall(host, call, directory);
      if (finding !== undefined) return finding;
    }
    return undefined;
  } finally {
    for (const suffix of ['', '.wal']) rmSync(`${db}${suffix}`, { force: true });
    rmSync(run, { recursive: true, force: true });
  }
}

export const executedFinding = (detail: string): Finding => ({
  kind: 'executed',
  key: `executed ${plainKey(detail)}`,
  what: detail,
});
