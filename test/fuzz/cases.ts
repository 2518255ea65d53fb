/**
 * The inputs in `test/robustness/found/`, each with its line in `index.jsonl`. An input whose length is what matters is
 * kept as the part that is repeated.
 */
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import type { Case } from './messages.js';
import type { Finding } from './oracle.js';

export interface CaseLine {
  readonly file: string;
  readonly format: string;
  /** The name under which it is read; default: the file's. */
  readonly name?: string;
  /** Day on which it was found. */
  readonly found: string;
  /** What it showed. */
  readonly shows: string;
  readonly questions?: readonly (readonly string[])[];
  readonly cpuSeconds?: number;
  /** The file is repeated so often, with `{i}` and `{previous}` as numbers, between these texts. */
  readonly repeat?: { readonly times: number; readonly before?: string; readonly after?: string };
}

const INDEX = 'index.jsonl';

export function caseLines(directory: string): CaseLine[] {
  const index = join(directory, INDEX);
  if (!existsSync(index)) return [];
  return readFileSync(index, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as CaseLine);
}

/** `path`: of a case with a line in the index of its folder, or of any file, which `format` then describes. */
export function readCase(path: string, format: string | undefined): Case {
  const line = caseLines(dirname(path)).find(({ file }) => file === basename(path));
  const bytes = readFileSync(path);
  if (line === undefined) {
    if (format === undefined) throw new Error(`${path} is not in ${INDEX}: name its format with --format`);
    return { format, name: basename(path), bytes };
  }
  const { name = line.file, questions, cpuSeconds, repeat } = line;
  const content = repeat === undefined ? bytes : repeated(bytes.toString('latin1'), repeat);
  return { format: line.format, name, bytes: content, questions, cpuSeconds };
}

function repeated(part: string, { times, before = '', after = '' }: NonNullable<CaseLine['repeat']>): Buffer {
  const parts = Array.from({ length: times }, (_, i) =>
    part.replaceAll('{i}', String(i + 1)).replaceAll('{previous}', String(i)),
  );
  return Buffer.from(`${before}${parts.join('')}${after}`, 'latin1');
}

/** Returns the path, or undefined if the same bytes are there already. */
export function writeCase(directory: string, finding: Finding, { format, name, bytes }: Case): string | undefined {
  const hash = createHash('sha256').update(`${format}\0${name}\0`).update(bytes).digest('hex').slice(0, 10);
  const extension = /^\.[a-z0-9]{1,8}$/.exec(extname(name))?.[0] ?? '.bin';
  const file = `${finding.kind}-${hash}${extension}`;
  const path = join(directory, file);
  if (existsSync(path)) return undefined;
  mkdirSync(directory, { recursive: true });
  writeFileSync(path, bytes);
  const line: CaseLine = { file, format, name, found: new Date().toISOString().slice(0, 10), shows: finding.what };
  appendFileSync(join(directory, INDEX), `${JSON.stringify(line)}\n`);
  return path;
}
