/** `samples/<parser>.yaml`: files as users have them, and what is read of each. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, stringify } from 'yaml';
import type { Brief } from './brief-rows.js';

export interface Sample {
  readonly is: string;
  /** A sample for each row, whose cells are `$1` to `$9` in all that is written here. */
  readonly each?: readonly (readonly unknown[])[];
  readonly name?: string;
  /** With references to the texts of the file, see {@link expanded}. */
  readonly text: string;
  /** Everywhere in the text, one after the other; each must occur. */
  readonly replace?: readonly (readonly [from: string, to: string])[];
  /** Cut before the last of these words. */
  readonly before?: string;
  /** The parser that detection chooses; null for none. */
  readonly claimed?: string | null;
  /** The code that it is refused with. */
  readonly refused?: string;
  /** Read, or refused with this code. */
  readonly ends?: string;
  /** All rows of a kind in short, see `brief-rows.ts`; `+` before the kind: these among others. */
  readonly rows?: Readonly<Partial<Record<Brief | `+${Brief}`, readonly string[]>>>;
  /** How many rows of a kind. */
  readonly count?: Readonly<Record<string, number>>;
  /** Of the row of a kind at a place (negative: from the end), what it has among others. */
  readonly at?: Readonly<Record<string, Readonly<Record<string, object>>>>;
  /** All incidents in their order, each with what it has among others. */
  readonly incidents?: readonly object[];
  readonly attempts?: number;
  /** Kinds of all notes, sorted. */
  readonly notes?: readonly string[];
  /** All notes in their order, each with what it has among others. */
  readonly noted?: readonly object[];
  readonly summary?: object;
  /** The times of rows of a kind. */
  readonly times?: Readonly<Record<string, readonly (string | number | null)[]>>;
  /** In no row. */
  readonly hides?: string;
  /** Cut anywhere, it has rows that it has as a whole, and others from one line at most, or is refused. */
  readonly cuts?: true;
  /** Read the same with CRLF and a byte order mark, and with CR. */
  readonly lineEnds?: true;
}

/** By their names. A record is written as JSON. */
export type Texts = Readonly<Record<string, unknown>>;

export interface SampleFile {
  readonly texts: Texts;
  readonly samples: readonly Sample[];
  /** The parser that detection chooses for files of other kinds. */
  readonly claims: readonly (readonly [is: string, text: string, name: string, owner: string | null])[];
  /** Files that the parser gives a score of 0. */
  readonly foreign: readonly (readonly [text: string, name: string])[];
}

const unescaped = (piece: string): string =>
  piece.replaceAll('\\n', '\n').replaceAll('\\t', '\t').replaceAll('\\0', '\0');

function replaced(text: string, from: string, to: string): string {
  if (!text.includes(from)) throw new Error(`no ${JSON.stringify(from)} in ${text.slice(0, 200)}`);
  return text.replaceAll(from, to);
}

function textNamed(reference: string, texts: Texts): string {
  const [, name = '', form = ''] = /^(\w+)(?: (.*))?$/s.exec(reference) ?? [];
  const named = texts[name];
  if (named === undefined) throw new Error(`no text ${name}`);
  if (typeof named === 'string') return form === '' ? named : linesAs(form, expanded(named, texts));
  if (!form.endsWith('yaml')) return JSON.stringify(named, null, form === 'as a line' ? 0 : 2);
  return stringify(named, { lineWidth: 0, aliasDuplicateObjects: false, indentSeq: form !== 'as flat yaml' });
}

const PREFIXES: Readonly<Record<string, (rank: number) => string>> = {
  interleaved: (rank) => `[rank${rank}]: `,
  'interleaved by srun': (rank) => `${rank}: `,
  'interleaved plainly': () => '',
};

/** `behind PREFIX`, or `interleaved 0-3`: every line once for each rank, with its number for RANK. */
function linesAs(form: string, text: string): string {
  const lines = text.replace(/\n$/, '').split('\n');
  if (form.startsWith('behind ')) return lines.map((line) => `${form.slice(7)}${line}\n`).join('');
  const [, how = '', first, last] = /^(.*) (\d+)-(\d+)$/.exec(form) ?? [];
  const ranks = Array.from({ length: Number(last) - Number(first) + 1 }, (_, i) => Number(first) + i);
  const ofRank = (line: string, rank: number): string =>
    `${PREFIXES[how]!(rank)}${line.replaceAll('RANK', `${rank}`)}\n`;
  return lines.flatMap((line) => ranks.map((rank) => ofRank(line, rank))).join('');
}

/**
 * Replaces `«…»`, innermost first: `name`, `name as a line` (see {@link textNamed}), `piece*times`,
 * `name¦from=>to¦from=>to`.
 */
export function expanded(text: string, texts: Texts): string {
  const once = text.replaceAll(/«([^«»]*)»/g, (_, reference: string) => {
    const [, piece, times] = /^(.*)\*(\d+)$/s.exec(reference) ?? [];
    if (piece !== undefined) return unescaped(String(texts[piece] ?? piece)).repeat(Number(times));
    const [name = '', ...changes] = reference.split('¦');
    return changes
      .map((change) => change.split('=>') as [string, string])
      .reduce((changed, [from, to]) => replaced(changed, from, to), expanded(textNamed(name, texts), texts));
  });
  return once === text ? text : expanded(once, texts);
}

/** The sample with the cells of a row of `each`. */
function withCells<Part>(part: Part, cells: readonly unknown[]): Part {
  if (typeof part === 'string') {
    if (/^\$\d$/.test(part)) return cells[Number(part[1]) - 1] as Part;
    return part.replaceAll(/\$(\d)/g, (_, at) => String(cells[Number(at) - 1])) as Part;
  }
  if (typeof part !== 'object' || part === null) return part;
  if (Array.isArray(part)) return part.map((item) => withCells(item, cells)) as Part;
  return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, withCells(value, cells)])) as Part;
}

/** The samples, and one for each row of `each`. */
export const eachOf = <Kind extends Sample>(samples: readonly Kind[]): Kind[] =>
  samples.flatMap((sample) => sample.each?.map((cells) => ({ ...withCells(sample, cells), each: [] })) ?? [sample]);

const FOLDER = fileURLToPath(new URL('samples', import.meta.url));
export const sampledParsers = (): string[] => readdirSync(FOLDER).map((file) => file.replace('.yaml', ''));

/** Compiled files name the folder, which is elsewhere. */
export function readSamples(id: string, folder = FOLDER): SampleFile {
  const text = readFileSync(join(folder, `${id}.yaml`), 'utf8');
  const file = parse(text, { merge: true }) as Partial<SampleFile>;
  const samples = eachOf(file.samples!);
  return { texts: {}, claims: [], foreign: [], ...file, samples };
}

export function textOf(
  { text, replace = [], before }: Pick<Sample, 'text' | 'replace' | 'before'>,
  texts: Texts,
): string {
  const complete = replace.reduce(
    (changed, [from, to]) => replaced(changed, expanded(from, texts), expanded(to, texts)),
    expanded(text, texts),
  );
  if (before === undefined) return complete;
  if (!complete.includes(before)) throw new Error(`no ${JSON.stringify(before)} in ${complete.slice(0, 200)}`);
  return complete.slice(0, complete.lastIndexOf(before));
}
