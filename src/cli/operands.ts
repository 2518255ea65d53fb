/** What operands and the options of a store mean, before anything is opened. */
import { existsSync } from 'node:fs';
import { MIB, parseSize } from '../model/units.js';
import { wrong } from './options.js';
import type { StoreResources } from './path-store.js';

/** Undefined: whatever it is found to be. */
export type Kind = 'run' | 'snapshot' | 'commit' | 'label' | 'path' | undefined;

/** Of a verb: none is the run ingested last, several are the paths of one run, `-` is standard input. */
export type Operands = string | readonly string[] | undefined;

/** An operand such as `run:NAME`, in its parts; `kind` is undefined without a prefix. */
export function partsOf(operand: string | undefined): { readonly kind: Kind; readonly name: string | undefined } {
  const forced = /^(run|snapshot|commit|label|path):(.*)$/s.exec(operand ?? '');
  return { kind: forced?.[1] as Kind, name: forced?.[2] ?? operand };
}

/** Whether a word has the form of a path; names of runs and snapshots have a `/` too. */
export function isFileName(word: string): boolean {
  return /^[./~\\]|\/$|\.\w{1,10}$/.test(word);
}

/** The paths of one run that the operands are; undefined if they are something of a store. */
export function pathsOf(operands: Operands): readonly string[] | undefined {
  const words = typeof operands === 'string' ? [operands] : (operands ?? []);
  if (words.length > 1 || words[0] === '-') return words.map((word) => word.replace(/^path:/, ''));
  const { kind, name } = partsOf(words[0]);
  return name !== undefined && (kind === 'path' || (kind === undefined && existsSync(name))) ? [name] : undefined;
}

export interface DbOptions {
  readonly db?: string | undefined;
  /** A lake instead of the store: operands are its runs. */
  readonly lake?: string | undefined;
  readonly formats?: string | undefined;
  readonly memoryLimit?: string | undefined;
  readonly wait?: string | undefined;
}

/**
 * `--memory-limit` and `--wait` for the database. Throws MBF1001 below 64 MiB, as no question is answered with less,
 * and for a time that is none.
 */
export function resourcesOf(options: DbOptions): StoreResources {
  const waiting = options.wait === undefined ? {} : { waitMs: waitOf(options.wait) };
  if (options.memoryLimit === undefined) return waiting;
  const memoryLimitBytes = parseSize(options.memoryLimit);
  if (memoryLimitBytes === undefined || memoryLimitBytes < 64 * MIB) {
    throw wrong('--memory-limit', options.memoryLimit, 'a size of at least 64MiB');
  }
  return { memoryLimitBytes, ...waiting };
}

function waitOf(text: string): number {
  const seconds = /^\d{1,6}(?:\.\d{1,3})?$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(seconds)) throw wrong('--wait', text, 'a number of seconds');
  return 1000 * seconds;
}
