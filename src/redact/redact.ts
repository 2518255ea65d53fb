/**
 * Rewrites the files of a run without names and secrets. Two passes: the first collects names where they are distinct
 * (paths, settings, hosts, stacks), the second replaces them wherever they occur. `names.ts` defines what a name is,
 * `pseudonyms.ts` what replaces it.
 */
import { createReadStream, createWriteStream, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { PARSERS } from '../../parsers/index.js';
import { detectSource } from '../ingest/discover/detect.js';
import type { Candidate, Discovery } from '../ingest/discover/discover.js';
import { type OpenedSource, openByteSource } from '../ingest/read/byte-source.js';
import { MbfError } from '../model/errors.js';
import type { RedactedFile, RedactionReport } from '../model/results/redact.js';
import { oneCharAByte, utf8 } from '../text/text-lines.js';
import { NameCollector } from './collect-names.js';
import { NAME_KINDS, type NameKind, Names } from './names.js';
import type { Pseudonyms } from './pseudonyms.js';
import { type FileForm, formOf, rewriteFile, visitTexts } from './rewrite-file.js';
import { decodedText, Rewriter } from './rewriter.js';

/** Inside a bundle. It has none of the original names. */
export const REPORT_NAME = 'redaction-report.json';

/** A file that can be rewritten. */
interface Input {
  readonly candidate: Candidate;
  readonly format: string;
  readonly form: FileForm;
}

interface LeftOut {
  readonly displayPath: string;
  readonly why: string;
}

export interface Inputs {
  readonly files: readonly Input[];
  readonly leftOut: readonly LeftOut[];
  /** Replacements of an earlier redaction of these files. */
  readonly replacements: ReadonlySet<string>;
}

/** What a store of the same files knows. */
export interface KnownNames {
  readonly frames: readonly { readonly name: string; readonly filename: string }[];
  readonly hosts: readonly string[];
}

/** Looks at every file, and decides which can be rewritten. */
export async function inspectFiles({ candidates, skipped, failed }: Discovery): Promise<Inputs> {
  const files: Input[] = [];
  const leftOut: LeftOut[] = failed.map(({ displayPath, error }) => ({ displayPath, why: error.message }));
  const replacements = new Set<string>();
  for (const { rule, count, examples } of skipped)
    leftOut.push({ displayPath: examples[0] ?? '', why: `${count} skipped: ${rule}` });
  for (const candidate of candidates) {
    const { displayPath } = candidate;
    if (basename(candidate.path) === REPORT_NAME) {
      for (const text of readReport(candidate.path)?.replacements ?? []) replacements.add(text);
      continue;
    }
    if (candidate.files !== undefined) {
      leftOut.push({ displayPath, why: 'Parquet files are compressed; export it as SQLite and redact that' });
      continue;
    }
    try {
      const kind = await withSource(candidate, async (opened) => {
        const bytes = await opened.head();
        const name = basename(candidate.path).replace(/\.(?:gz|zst|zstd)$/i, '');
        const detection = await detectSource(PARSERS, opened, name, { isNamed: candidate.isNamed });
        if (detection.status !== 'recognised') return undefined;
        const format = detection.parser.id;
        return { format, form: formOf(bytes, format) };
      });
      if (kind === undefined) leftOut.push({ displayPath, why: 'not a format that this version reads' });
      else if (kind.form === undefined)
        leftOut.push({ displayPath, why: `${kind.format} in a form that cannot be rewritten` });
      else files.push({ candidate, format: kind.format, form: kind.form });
    } catch (error) {
      if (!(error instanceof MbfError)) throw error;
      leftOut.push({ displayPath, why: error.message });
    }
  }
  return { files, leftOut, replacements };
}

function readReport(path: string): RedactionReport | undefined {
  const text = readFileSync(path, 'utf8');
  if (text.length > 64 * 1024 * 1024) return undefined;
  try {
    const report = JSON.parse(text) as Partial<RedactionReport> | null;
    return report?.schema === 'mbforensics/redaction@1' && Array.isArray(report.replacements)
      ? (report as RedactionReport)
      : undefined;
  } catch {
    return undefined;
  }
}

async function withSource<Result>(
  candidate: Candidate,
  work: (opened: OpenedSource) => Promise<Result>,
): Promise<Result> {
  const opened = await openByteSource(candidate.path);
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}

/** The first pass: the names in these files. Files that cannot be read to their end are given up. */
export async function collectNames(
  inputs: Inputs,
  known: KnownNames,
): Promise<{ readonly names: Names; readonly inputs: Inputs; readonly suspicious: readonly string[] }> {
  const names = new Names(inputs.replacements);
  const collector = new NameCollector(names);
  const suspicious = new Set<string>();
  for (const { name, filename } of known.frames) collector.frame(oneCharAByte(filename), oneCharAByte(name));
  for (const host of known.hosts) collector.host(oneCharAByte(host));
  const files: Input[] = [];
  const leftOut = [...inputs.leftOut];
  for (const input of inputs.files) {
    const { displayPath } = input.candidate;
    collector.take(`/${oneCharAByte(displayPath)}`);
    try {
      await withSource(input.candidate, (opened) =>
        visitTexts(opened.source, input.form, (text) => {
          // A line is short; a text of many lines may be a file in a column of a database.
          for (const line of text.split('\n')) {
            collector.take(line.endsWith('\r') ? line.slice(0, -1) : line);
            for (const word of suspiciousWords(line, inputs.replacements))
              if (suspicious.size < 1000) suspicious.add(word);
          }
        }),
      );
      files.push(input);
    } catch (error) {
      if (!(error instanceof MbfError)) throw error;
      leftOut.push({ displayPath, why: error.message });
    }
  }
  return { names, inputs: { ...inputs, files, leftOut }, suspicious: [...suspicious] };
}

export interface Redaction {
  readonly report: RedactionReport;
  /** Replacement → what it replaces. Never part of the bundle. */
  readonly names: Readonly<Record<string, string>>;
  readonly rewriter: Rewriter;
}

/** The second pass: writes the files below `directory`, which must be new and empty, and the report. */
export async function writeBundle(
  { files, leftOut, replacements }: Inputs,
  names: Names,
  pseudonyms: Pseudonyms,
  directory: string,
): Promise<Redaction> {
  const rewriter = new Rewriter(names, pseudonyms);
  const rewrite = (text: string): string => rewriter.rewrite(text);
  const written: RedactedFile[] = [];
  const taken = new Set<string>([REPORT_NAME]);
  for (const { candidate, form, format } of files) {
    await withSource(candidate, async (opened) => {
      const isPlain = opened.compression === 'none';
      // Zstandard is only read.
      const stem = rewriter.rewritten(candidate.displayPath).replace(/\.(?:zst|zstd)$/i, '');
      const name = freeName(stem, taken);
      const path = join(directory, name);
      mkdirSync(dirname(path), { recursive: true });
      const before = rewriter.counts.total;
      const isGzip = opened.compression === 'gzip';
      const work = isGzip ? `${path}.plain` : path;
      await rewriteFile(opened.source, form, work, rewrite);
      if (isGzip) {
        await pipeline(createReadStream(work), createGzip(), createWriteStream(path, { flags: 'wx' }));
        rmSync(work);
      }
      written.push({
        file: name,
        format,
        bytes: isPlain ? candidate.sizeBytes : null,
        replaced: rewriter.counts.total - before,
      });
    });
  }
  const pairs = rewriter.pairs();
  const report: RedactionReport = {
    schema: 'mbforensics/redaction@1',
    files: written,
    left_out: leftOut.map(({ displayPath, why }) => ({
      file: rewriter.rewritten(displayPath),
      why: rewriter.rewritten(why),
    })),
    kinds: NAME_KINDS.map((kind) => ({
      kind,
      names: pairs.filter((pair) => pair.kind === kind).length,
      replaced: rewriter.counts.byKind.get(kind) ?? 0,
    })),
    replacements: [
      ...new Set([...replacements, ...pairs.filter(({ kind }) => kind !== 'secret').map(({ text }) => text)]),
    ].sort(),
    suspicious: [],
    diagnosis: 'not compared',
  };
  return {
    report,
    rewriter,
    names: Object.fromEntries(
      pairs.filter(({ kind }) => kind !== 'secret').map(({ text, original }) => [utf8(text), utf8(original)]),
    ),
  };
}

/** Names may meet where files differ only by what was replaced. */
function freeName(stem: string, taken: Set<string>): string {
  let name = stem;
  for (let number = 2; taken.has(name); number += 1) name = `${stem}.${number}`;
  taken.add(name);
  return name;
}

/** What still looks like a name in files that were redacted: each with its kind, and words that look random. */
export function leftovers(
  names: Names,
  suspicious: readonly string[],
): { readonly text: string; readonly kind: NameKind | 'random' }[] {
  return [
    ...[...names.texts, ...names.words, ...names.ordinary].map(([text, kind]) => ({ text: utf8(text), kind })),
    ...suspicious.map((text) => ({ text: utf8(text), kind: 'random' as const })),
  ];
}

export function writeReport(directory: string, report: RedactionReport): void {
  writeFileSync(join(directory, REPORT_NAME), `${JSON.stringify(report, null, 1)}\n`);
}

const LONG = /(?<![\w+/=-])[A-Za-z0-9+/_-]{20,200}={0,2}(?![\w+/=-])/g;
/** Bits a character; English and identifiers have under 3.6, random base64 of 32 characters 4.4 and more. */
const LEAST_ENTROPY = 4.2;

function suspiciousWords(line: string, known: ReadonlySet<string>): string[] {
  const result: string[] = [];
  for (const [word] of line.matchAll(LONG)) {
    if (!/[a-z]/.test(word) || !/[A-Z]/.test(word) || !/\d/.test(word)) continue;
    // Mangled names of C++, and paths.
    if (word.startsWith('_Z') || (word.match(/[_/-]/g) ?? []).length > word.length / 12) continue;
    // Identifiers: `KthvalueBackward0_apply_functional`.
    if ((word.match(/[a-z]{4,}/g) ?? []).join('').length > word.length / 2) continue;
    // What base64 encodes is looked at as text.
    if (!known.has(word) && decodedText(word) === undefined && entropy(word) >= LEAST_ENTROPY) result.push(word);
  }
  return result;
}

function entropy(word: string): number {
  const counts = new Map<string, number>();
  for (const character of word) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / word.length) * Math.log2(count / word.length);
  return bits;
}
