/** What of an answer is compared, and how two of them differ. */
import { createHash } from 'node:crypto';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export interface Answer {
  readonly status: number | string;
  readonly stdout: string;
  readonly stderr: string;
  /** Files the command wrote, by name. */
  readonly files: Readonly<Record<string, Buffer>>;
}

export interface Surroundings {
  /** The folder of the store; its last segment differs from run to run, not its length. */
  readonly folder: string;
  /** Checkouts of the programs. */
  readonly checkouts: readonly string[];
  /** Times between these two are times of the comparison, not of the input. */
  readonly from: Date;
  readonly to: Date;
}

export interface Difference {
  readonly path: string;
  /** Undefined where one side has no value. */
  readonly base: Json | undefined;
  readonly head: Json | undefined;
}

const TIME = /\b(\d{4}-\d\d-\d\d)([T ])(\d\d:\d\d:\d\d(?:\.\d+)?)(Z|\+00(?::00)?)?/g;
/** Longer texts are kept as one hash per this many lines. */
const CHUNK = 500;
const WHOLE_LINES = 5000;

export function normalise(text: string, { folder, checkouts, from, to }: Surroundings): string {
  let result = text.replaceAll(folder, '<store folder>');
  for (const checkout of checkouts) result = result.replaceAll(`${checkout}/dist`, '<program>');
  return result.replace(TIME, (whole: string, day: string, _: string, time: string) => {
    const moment = Date.parse(`${day}T${time}Z`);
    // Printed times are cut to whole seconds in some places.
    return moment >= from.getTime() - 1000 && moment <= to.getTime() ? '<now>' : whole;
  });
}

export function project(answer: Answer, surroundings: Surroundings): Json {
  const entries = Object.entries(answer.files).map(
    ([name, bytes]) => [name, projectFile(name, bytes, surroundings)] as const,
  );
  const stderr = answer.stderr.split('\n').filter((line) => !/^\s+at .*[:(]/.test(line));
  return {
    exit: answer.status,
    stdout: projectText(answer.stdout, surroundings),
    stderr: lines(normalise(stderr.join('\n'), surroundings)),
    ...(entries.length === 0 ? {} : { files: Object.fromEntries(entries) }),
  };
}

function projectFile(name: string, bytes: Buffer, surroundings: Surroundings): Json {
  if (bytes.subarray(0, 4096).includes(0)) return hash(bytes);
  const text = bytes.toString('utf8');
  if (!name.endsWith('.csv')) return projectText(text, surroundings);
  // DuckDB returns the rows of some views in another order each time.
  return lines(normalise(text, surroundings).split('\n').sort().join('\n'));
}

function projectText(text: string, surroundings: Surroundings): Json {
  const normal = normalise(text, surroundings);
  if (/^\s*[[{]/.test(normal) && normal.length < 4 << 20) {
    try {
      return JSON.parse(normal) as Json;
    } catch {
      // A text that only begins like JSON.
    }
  }
  return lines(normal);
}

function lines(text: string): Json {
  if (text === '') return [];
  const all = text.split('\n');
  if (all.length <= WHOLE_LINES) return all;
  return Object.fromEntries(
    Array.from({ length: Math.ceil(all.length / CHUNK) }, (_, i) => {
      const part = all.slice(i * CHUNK, (i + 1) * CHUNK);
      return [`lines ${i * CHUNK + 1}-${i * CHUNK + part.length}`, hash(part.join('\n'))];
    }),
  );
}

const hash = (content: string | Buffer): string => `sha256 ${createHash('sha256').update(content).digest('hex')}`;

/** Where two values differ, in the order of the first. */
export function differences(base: Json | undefined, head: Json | undefined, path = ''): Difference[] {
  if (Object.is(base, head)) return [];
  if (!isContainer(base) || !isContainer(head) || Array.isArray(base) !== Array.isArray(head)) {
    return [{ path, base, head }];
  }
  const [ours, theirs] = [base, head].map((value) => new Map<string, Json>(Object.entries(value)));
  return [...new Set([...ours!.keys(), ...theirs!.keys()])].flatMap((key) =>
    differences(ours!.get(key), theirs!.get(key), path === '' ? key : `${path}.${key}`),
  );
}

function isContainer(value: Json | undefined): value is readonly Json[] | { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null;
}
