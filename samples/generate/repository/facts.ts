/** What `project.yaml` says: the settings of the first commit, and what later ones change. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

export const REPOSITORY_KINDS = ['oom', 'memory', 'throughput', 'component'] as const;
export type RepositoryKind = (typeof REPOSITORY_KINDS)[number];

export type Setting = string | number | boolean | null;
type Settings = Readonly<Record<string, Setting>>;

export interface Effect {
  readonly site?: string;
  readonly in?: string;
  readonly scale?: number;
  readonly grow?: number;
  readonly stays?: boolean;
  readonly kept?: boolean;
  readonly slower?: number;
}

/** Lines that come in, change or go. */
export interface Edit {
  readonly above?: string;
  readonly add?: string;
  readonly swap?: readonly [string, string];
  readonly drop?: readonly string[];
  readonly set?: Settings;
}

export interface Regression extends Edit {
  readonly name: string;
  readonly kinds: readonly RepositoryKind[];
  readonly subject: string;
  readonly component?: 'optimizer_state' | 'gradient';
  readonly key?: string;
  /** Settings that the first commit must have. */
  readonly given?: Settings;
  readonly effect?: Effect;
}

export interface Trouble extends Edit {
  readonly kind: 'broken' | 'flaky';
  readonly subject: string;
  readonly fix: string;
  readonly raises?: string;
  /** How often. */
  readonly hangs?: number;
}

interface Facts {
  readonly regressions: readonly Regression[];
  readonly settings: readonly { readonly key: string; readonly is: Setting; readonly effect: Effect }[];
  readonly lines: readonly { readonly above: string; readonly line: string }[];
  readonly troubles: readonly Trouble[];
  readonly recipe: Readonly<Record<string, Settings>>;
  readonly overrides: Readonly<Record<string, Settings>>;
  readonly harmless: Readonly<Record<string, readonly Setting[]>>;
  readonly small: readonly string[];
  readonly renamed: Readonly<Record<string, string>>;
  readonly moved: Readonly<Record<string, string>>;
}

/** Compiled or not, the files lie in the package's sources. */
function read(name: string): string {
  const path = join('samples', 'generate', 'repository', name);
  for (let directory = dirname(fileURLToPath(import.meta.url)); ; directory = dirname(directory)) {
    if (existsSync(join(directory, path))) return readFileSync(join(directory, path), 'utf8');
    if (directory === dirname(directory)) throw new Error(`${path} was not found`);
  }
}

function regressions(): Regression[] {
  const [, ...rows] = read('regressions.tsv').trimEnd().split('\n');
  return rows.map((row) => {
    const [name, kinds, component, subject, edit, key, given, effect] = row.split('\t') as [string, ...string[]];
    const some = Object.entries({ component, key }).filter(([, text]) => Boolean(text));
    const parsed = Object.entries({ given, effect }).filter(([, text]) => Boolean(text));
    return {
      ...{ name, subject, kinds: kinds!.split(' ') },
      ...Object.fromEntries(some),
      ...Object.fromEntries(parsed.map(([column, text]) => [column, JSON.parse(text!)])),
      ...JSON.parse(edit!),
    } as Regression;
  });
}

export const FACTS: Facts = { ...parse(read('project.yaml')), regressions: regressions() };
