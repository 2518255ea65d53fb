/**
 * Settings, environment and versions straight from files, without a store: the rows of the registered parsers, each
 * with its place. Formats without settings (snapshots, exports) are not decoded. Few modules are loaded: a linter is
 * called often.
 *
 * Nothing is thrown for a bad file: it becomes one of the `faults`, MbfErrors with their file, and the others still
 * count.
 */
import { statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { allParsers, configParser, readEnviron, readEnvLines } from '../../../parsers/settings.js';
import { envFinding } from '../../knowledge/env-keys.js';
import { MbfError } from '../../model/errors.js';
import { CONFIG_ORIGINS, ENV_ORIGINS, type KeptFinding, type LogPlace } from '../../model/log-rows.js';
import type { Head, ParserSpec, RowSink } from '../../model/parser.js';
import type {
  FoundFigure,
  FoundIteration,
  FoundSetting,
  FoundVariable,
  SettingsRead,
} from '../../model/settings-read.js';
import type { Note } from '../../model/tables.js';
import { hidingSecrets } from '../derive/hide-secrets.js';
import { detect } from '../discover/detect.js';
import { bytesAtHand, openSettingsBytes, type SettingsBytes } from '../read/settings-bytes.js';

/** Where to look. */
export interface SettingsInput {
  /** A file, compressed or not, or a directory of such; with `bytes`, a name for them. */
  readonly path: string;
  /** `env`: variables only, and also from a text that no parser would take for an environment. */
  readonly as: 'config' | 'env';
  /** Input from a pipe, which lacks a name to detect it by. */
  readonly bytes?: Uint8Array | undefined;
}

/** Parsers of formats with settings; the others would decode gigabytes for nothing. */
const WITH_SETTINGS: ReadonlySet<string> = new Set(['config', 'log', 'tensorboard', 'wandb']);
/** A claim of the configuration parser that no other parser outbids. */
const SURE = 0.9;
/** Most rows of one file; a log that prints its configuration at every step adds nothing. */
const MOST_ROWS = 100_000;

export async function readSettingsOf(inputs: readonly SettingsInput[]): Promise<SettingsRead> {
  const reading = new Reading();
  for (const input of inputs) await reading.input(input);
  return reading.result();
}

interface FoundFile {
  readonly path: string;
  /** As results name it. */
  readonly file: string;
  readonly as: SettingsInput['as'];
  /** The user named it, so that a lack of settings is an error. */
  readonly isNamed: boolean;
  readonly bytes?: Uint8Array | undefined;
}

class Reading {
  private readonly collected: FileRows[] = [];
  private readonly faults: MbfError[] = [];

  async input(input: SettingsInput): Promise<void> {
    const { path, as, bytes } = input;
    const named: FoundFile = { path, file: path, as, isNamed: true, bytes };
    if (bytes !== undefined || !isDirectory(path)) {
      await this.file(named);
      return;
    }
    const { faults, collected } = this;
    const before = [faults.length, collected.length];
    // With the first directory.
    const { discover } = await import('../discover/discover.js');
    try {
      const { candidates, failed } = await discover([path]);
      for (const { error } of failed) faults.push(error);
      for (const candidate of candidates)
        if (candidate.files === undefined)
          await this.file({ path: candidate.path, file: join(path, candidate.displayPath), as, isNamed: false });
    } catch (error) {
      faults.push(asInputError(error, path));
    }
    if (faults.length === before[0] && collected.length === before[1])
      faults.push(new MbfError('MBF2202', `no file in it ${MISSING[as]}`, { file: path }));
  }

  private async file(found: FoundFile): Promise<void> {
    const rows = new FileRows(found.file, this.collected.length, found.as);
    try {
      const bytes = found.bytes === undefined ? await openSettingsBytes(found.path) : bytesAtHand(found.bytes);
      try {
        await readInto(rows, bytes, found);
      } finally {
        await bytes.close();
      }
    } catch (error) {
      this.faults.push(asInputError(error, found.file));
    }
    if (rows.fault !== undefined) this.faults.push(rows.fault.inFile(found.file));
    if (rows.count > 0 || rows.isWhole) this.collected.push(rows);
  }

  async result(): Promise<SettingsRead> {
    const attempts = await this.attempts();
    const rowsOfAttempts = <Row extends { readonly attempt: number }>(pick: (rows: FileRows) => Iterable<Row>): Row[] =>
      this.collected.flatMap((rows, i) =>
        Array.from(pick(rows), (row) => ({ ...row, attempt: row.attempt + attempts[i]! - 1 })),
      );
    const variables = rowsOfAttempts((rows) => rows.variables.values());
    const totals = this.collected.map((rows) => rows.deviceTotalBytes);
    const figures = new Map(rowsOfAttempts((rows) => rows.figures.values()).map((figure) => [figure.name, figure]));
    const isWhole = this.collected.some((rows) => rows.isWhole);
    return {
      settings: rowsOfAttempts((rows) => rows.settings.values()),
      variables,
      figures: [...figures.values()],
      iterations: rowsOfAttempts(({ iteration }) => (iteration === undefined ? [] : [iteration])),
      deviceTotalBytes: totals.reduce((most, bytes) => Math.max(most, bytes), 0) || null,
      environment: isWhole ? 'whole' : this.collected.some((rows) => rows.isLaunch) ? 'partial' : 'none',
      files: this.collected.map(({ file }) => file),
      faults: this.faults,
      warnings: this.collected.flatMap(({ file, warnings }) =>
        warnings.map(({ text, line }) => ({ file, line: line ?? null, text })),
      ),
    };
  }

  /** The launch of each file: of several, some may be of a restart. */
  private async attempts(): Promise<readonly number[]> {
    if (this.collected.length < 2) return this.collected.map(() => 1);
    const { attemptsFromNames } = await import('../discover/names/attempt-from-name.js');
    return attemptsFromNames(this.collected.map(({ file }) => file));
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

const MISSING = {
  config: 'holds a setting of a training job',
  env: 'holds a variable of an environment',
} as const;

/** @throws {MbfError} without `file` if it cannot be read, or if it was named and lacks settings. */
async function readInto(rows: FileRows, bytes: SettingsBytes, found: FoundFile): Promise<void> {
  const name = basename(found.path).replace(/\.(?:gz|zst|zstd)$/i, '');
  const head: Head = { bytes: bytes.head, name: found.bytes === undefined ? name : '', sizeBytes: bytes.sizeBytes };
  const known = await parserOf(head, found);
  if (known === undefined) {
    if (found.as === 'env') readLooseEnvironment(rows, bytes.head);
    else if (!found.isNamed) return;
  } else {
    rows.begin(known.parser, bytes.head);
    await known.parser.parse(bytes.source, hidingSecrets(rows.sink), { name: known.name });
  }
  if (rows.count > 0 || rows.isWhole || !found.isNamed || rows.fault !== undefined) return;
  throw new MbfError('MBF2202', MISSING[found.as].replace('holds a', 'holds no'));
}

interface KnownParser {
  readonly parser: ParserSpec;
  /** By which it knows the file. */
  readonly name: string;
}

/**
 * As in detection. A file named by the user is intended, so fewer known settings suffice, and its name may be unusual.
 *
 * @throws {MbfError} if the file was named and lacks settings.
 */
async function parserOf(head: Head, { isNamed, as }: FoundFile): Promise<KnownParser | undefined> {
  const { name } = head;
  const first = detect([configParser], head, { isNamed });
  if (first.status === 'recognised' && first.claims[0]!.score >= SURE) return { parser: configParser, name };
  if (as === 'env') return undefined;
  const all = detect(await allParsers(), head, { isNamed });
  if (all.status !== 'recognised') {
    if (isNamed && all.error.code === 'MBF2008') {
      const named = underOtherName(head);
      if (named !== undefined) return named;
      throw new MbfError(
        'MBF2202',
        'holds no setting of a training job: it is not a configuration, launch script or log',
      );
    }
    // Other files in a directory are ignored.
    if (!isNamed) return undefined;
    throw all.error;
  }
  const { parser, claims } = all;
  if (!WITH_SETTINGS.has(parser.id)) {
    if (!isNamed) return undefined;
    throw new MbfError('MBF2202', `holds no setting: it is a ${parser.title}`);
  }
  // Any text may be a log; one without a mark of a log may still be a configuration under a neutral name.
  if (isNamed && parser.id === 'log' && claims[0]!.score < SURE) return underOtherName(head) ?? { parser, name };
  return { parser, name };
}

/** Endings of names that do not identify the kind of a text. */
const PLAIN_NAME = /^[^.]*$|\.(?:txt|conf|cfg|config|out|log|\d+)$/i;

/** Whether a file that was named would be a configuration under one of the names that configurations have. */
function underOtherName(head: Head): KnownParser | undefined {
  const extension = /\.(ya?ml|json|toml|sh)$/i.exec(head.name)?.[1];
  const endings =
    extension !== undefined ? [extension] : PLAIN_NAME.test(head.name) ? ['yaml', 'json', 'toml', 'sh'] : [];
  for (const ending of endings) {
    const name = `config.${ending}`;
    if (configParser.sniff({ ...head, name }).score > 0) return { parser: configParser, name };
  }
  return undefined;
}

/**
 * Variables of a text that is too short to be detected as an environment: `docker run --env-file`, a few saved lines.
 */
function readLooseEnvironment(rows: FileRows, head: Uint8Array): void {
  const text = Buffer.from(head.buffer, head.byteOffset, head.length).toString('utf8');
  const entries = text.includes('\0') ? readEnviron(text) : readEnvLines(text);
  const pieces = text.split(text.includes('\0') ? '\0' : '\n').filter((line) => /^[^#]/.test(line.trim())).length;
  // Prose has a line that begins like an assignment here and there.
  if (entries.length === 0 || entries.length < 0.5 * pieces) return;
  rows.begin(undefined, head);
  for (const { name, value, at } of entries) {
    const finding = envFinding(name, value, 'env dump');
    if (finding !== null) rows.take(finding, { line: text.slice(0, at).split('\n').length, attempt: 1, rank: null });
  }
}

/** In every captured environment, and in no selection from one. */
const OF_PROCESS = /(?:^|[\n\0 ])(?:PATH|HOME|PWD|SHLVL|USER|SHELL|HOSTNAME)=/;

type RowPlace = Pick<LogPlace, 'line' | 'attempt' | 'rank'>;

/** The rows of one file without repetitions; the last place of each counts. */
class FileRows {
  readonly settings = new Map<string, FoundSetting>();
  readonly variables = new Map<string, FoundVariable>();
  readonly figures = new Map<string, FoundFigure & { readonly attempt: number }>();
  readonly warnings: Note[] = [];
  deviceTotalBytes = 0;
  /** The last one of a log. */
  iteration: FoundIteration | undefined;
  /** An environment was captured. */
  isWhole = false;
  /** The file is damaged; the content before the damage counts. */
  fault: MbfError | undefined;
  readonly file: string;
  readonly sink: RowSink;
  private readonly fileNumber: number;
  private readonly as: SettingsInput['as'];
  private parser: string | undefined;
  private hasProcessVariables = false;

  constructor(file: string, fileNumber: number, as: SettingsInput['as']) {
    this.file = file;
    this.fileNumber = fileNumber;
    this.as = as;
    this.sink = {
      note: (note) => this.note(note),
      logRow: (finding, place) => this.take(finding, place),
      incident: () => undefined,
      profilerMemory: () => undefined,
      attempt: () => undefined,
      snapshot: () => Promise.reject(new Error('no snapshot was to be read')),
    };
  }

  /** A script or a configuration that sets variables; variables that a log does not print are unknown, not unset. */
  get isLaunch(): boolean {
    return this.parser !== 'log' && this.variables.size > 0;
  }

  get count(): number {
    return this.settings.size + this.variables.size + this.figures.size;
  }

  begin(parser: ParserSpec | undefined, head: Uint8Array): void {
    this.parser = parser?.id;
    const text = Buffer.from(head.buffer, head.byteOffset, head.length).toString('latin1');
    this.hasProcessVariables = OF_PROCESS.test(text);
    if (parser === undefined) this.isWhole = this.hasProcessVariables;
  }

  take(finding: KeptFinding, place: RowPlace): void {
    const { file, fileNumber } = this;
    const { line, attempt } = place;
    const at = { file, fileNumber, line, attempt };
    switch (finding.row) {
      case 'config': {
        if (this.as === 'env') return;
        const { key, rawKey, value, origin } = finding;
        const precedence = CONFIG_ORIGINS.indexOf(origin);
        put(this.settings, [attempt, origin, rawKey, value], { key, rawKey, value, origin, precedence, ...at });
        return;
      }
      case 'env': {
        const { key, value, origin } = finding;
        const precedence = ENV_ORIGINS.indexOf(origin);
        const isCaptured = origin === 'process environ' || origin === 'env dump';
        // A log prints single variables too; their process is known only where a rank precedes them.
        if (isCaptured && (this.parser === 'log' ? place.rank !== null : this.hasProcessVariables)) this.isWhole = true;
        put(this.variables, [attempt, origin, key, value], { key, value, origin, precedence, ...at });
        return;
      }
      case 'value': {
        const { name, value, text = null } = finding;
        if (/^(?:version|gpu|device)\./.test(name)) put(this.figures, [name], { name, value, text, ...at });
        return;
      }
      case 'iteration':
        if (this.parser === 'log' && finding.iteration > 0)
          this.iteration = { iteration: finding.iteration, attempt, file, line };
        return;
      case 'memory':
        if (finding.metric === 'device_total')
          this.deviceTotalBytes = Math.max(this.deviceTotalBytes, finding.bytes ?? 0);
        return;
      default:
    }
  }

  private note(note: Note): void {
    if (!note.kind.endsWith('_error')) {
      if (note.kind === 'duplicate_key') this.warnings.push(note);
      return;
    }
    const { line } = note;
    this.fault ??= new MbfError('MBF2202', note.text.replace(/\.$/, ''), line === undefined ? {} : { line });
  }
}

/** A repeated row moves to the end: the later place wins. */
function put<Row>(rows: Map<string, Row>, key: readonly (string | number | null)[], row: Row): void {
  const text = key.map(String).join('\0');
  if (!rows.delete(text) && rows.size >= MOST_ROWS) return;
  rows.set(text, row);
}

function asInputError(error: unknown, file: string): MbfError {
  if (error instanceof MbfError) return error.place.file === undefined ? error.inFile(file) : error;
  throw error;
}
