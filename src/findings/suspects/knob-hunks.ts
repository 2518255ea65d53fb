/** The hunk that sets a changed setting: a line of a configuration, a recipe or a script, in any spelling. */

import { plainValue } from '../../derive/run/config.js';
import {
  canonicalConfigKey,
  isKnownConfigKey,
  negatedFlags,
  normaliseConfigValue,
} from '../../knowledge/config-keys.js';
import { getOrAdd } from '../../model/group-by.js';
import type { ChangedValue } from '../../model/results/compare.js';
import { knobEffect, numberOf } from '../settings/knob-effects.js';
import type { ReadFile, ReadHunk } from './read-changes.js';

export interface Place {
  readonly file: ReadFile;
  readonly hunk: ReadHunk;
  /** The lines' values are those of the runs. */
  readonly isProven: boolean;
}

interface Setting {
  /** Canonical. */
  readonly key: string;
  /** As written. */
  readonly raw: string;
  readonly value: string | null;
}

interface HunkSettings {
  readonly file: ReadFile;
  readonly hunk: ReadHunk;
  readonly removed: readonly Setting[];
  readonly added: readonly Setting[];
}

const CONFIGURATION = /\.(?:ya?ml|json|toml|ini|cfg|conf|sh|bash|slurm|sbatch|env)$/i;
const RECIPE = /(?:^|\/)(?:\w*recipes?|configs?|conf|examples?|scripts?|perf\w*|experiments?)\//i;

export interface KnobHunks {
  /** The hunk that most likely set it; undefined if each hunk sets it to the value before. */
  placeOf(change: ChangedValue): Place | undefined;
  /**
   * Known settings that lines of configurations change, for runs without recorded settings. Each once, from the first
   * hunk that has it.
   */
  changes(): { readonly change: ChangedValue; readonly place: Place }[];
}

/** Reads the settings in the lines of all hunks, once. */
export function knobHunks(files: readonly ReadFile[]): KnobHunks {
  const byKey = new Map<string, HunkSettings[]>();
  for (const file of files) {
    for (const hunk of file.hunks) {
      const read = { file, hunk, removed: settingsOf(hunk.hunk.removed), added: settingsOf(hunk.hunk.added) };
      for (const key of new Set([...read.removed, ...read.added].flatMap((one) => [one.key, one.raw]))) {
        getOrAdd(byKey, key, () => []).push(read);
      }
    }
  }
  return { placeOf: (change) => placeOf(change, byKey), changes: () => changesOf(byKey) };
}

/**
 * Known settings that lines of a program change: keywords and attributes, whatever the runs' own settings are. A value
 * other than a literal does not show the direction.
 */
export function programSettings({ hunk }: ReadHunk): ChangedValue[] {
  const [was, is] = [settingsOf(hunk.removed), settingsOf(hunk.added)];
  const changes = new Map<string, ChangedValue>();
  for (const { key, value } of [...was, ...is]) {
    if (changes.has(key) || knobEffect(key) === undefined) continue;
    const before = was.find((one) => one.key === key)?.value ?? null;
    const after = is.find((one) => one.key === key)?.value ?? null;
    if (!isSame(before, after) || value === null) changes.set(key, { key, a: before, b: after });
  }
  return [...changes.values()].filter(({ a, b }) => !isSame(a, b));
}

type ByKey = ReadonlyMap<string, readonly HunkSettings[]>;

/** Configurations and recipes: the values they set are in the settings of the runs. */
export const isSettingsFile = ({ path }: ReadFile): boolean => CONFIGURATION.test(path) || RECIPE.test(path);

function placeOf({ key, a, b }: ChangedValue, byKey: ByKey): Place | undefined {
  const last = lastPart(key);
  const isIt = (one: Setting): boolean => one.key === key || one.raw === last || one.raw === key;
  const best = [...new Set([...(byKey.get(key) ?? []), ...(byKey.get(last) ?? [])])]
    .map(({ file, hunk, removed, added }) => {
      const proof = proofOf(removed.filter(isIt), added.filter(isIt), a, b);
      const kind = CONFIGURATION.test(file.path) ? 2 : isSettingsFile(file) ? 1 : 0;
      return { file, hunk, proof, rank: proof * 8 + kind - (file.is_aside ? 4 : 0) };
    })
    // A line of a program that names the setting need not be the one that sets it.
    .filter(({ file, proof }) => proof >= (isSettingsFile(file) ? 1 : 2))
    .sort(
      (p, q) =>
        q.rank - p.rank ||
        (p.file.path < q.file.path ? -1 : p.file.path > q.file.path ? 1 : 0) ||
        p.hunk.hunk.new_start - q.hunk.hunk.new_start,
    )[0];
  return best === undefined ? undefined : { file: best.file, hunk: best.hunk, isProven: best.proof >= 2 };
}

/**
 * 3: it has both values of the runs. 2: one of them, and nothing against it. 1: it changes the setting. 0: it does not.
 */
function proofOf(was: readonly Setting[], is: readonly Setting[], a: string | null, b: string | null): number {
  const isA = was.some(({ value }) => isSame(value, a));
  const isB = is.some(({ value }) => isSame(value, b));
  if (isA && isB) return 3;
  if (isB || (isA && is.length === 0)) return 2;
  return was.map(({ value }) => value).join('\0') === is.map(({ value }) => value).join('\0') ? 0 : 1;
}

function changesOf(byKey: ByKey): { readonly change: ChangedValue; readonly place: Place }[] {
  const changes = new Map<string, { change: ChangedValue; place: Place }>();
  for (const { file, hunk, removed, added } of [...byKey.values()].flat()) {
    if (file.is_aside || !isSettingsFile(file)) continue;
    for (const { key, value } of added) {
      const was = removed.find((one) => one.key === key);
      if (changes.has(key) || was === undefined || isSame(was.value, value) || knobEffect(key) === undefined) continue;
      changes.set(key, { change: { key, a: was.value, b: value }, place: { file, hunk, isProven: false } });
    }
  }
  return [...changes.values()];
}

const lastPart = (key: string): string => key.split('.').at(-1)!.replaceAll('-', '_');

const VALUE = `("(?:[^"\\\\]|\\\\.)*"|'(?:[^'\\\\]|\\\\.)*'|\\[[^\\]]{0,400}\\]|\\([^)]{0,400}\\)|[^\\s,;#)}\\\\]+)`;
/** `key: value`, `"key": value`, `key = value`, `a.b.key=value`, `export KEY=value`, `key: int = value`. */
const ASSIGNED = new RegExp(
  `(?<![\\w.-])["']?([A-Za-z_][\\w.-]*)["']?(?:\\s{0,40}:\\s{0,40}[A-Za-z_][\\w.\\[\\], |]{0,100}?)?\\s{0,40}[:=]\\s{0,200}(?![=:])${VALUE}`,
  'g',
);
/** `--key value`, `--key=value`, `--key`. */
const FLAG = new RegExp(`(?<![\\w-])--([A-Za-z][\\w.-]*)(?:[= ]\\s*(?!-)${VALUE})?`, 'g');
const MOST_LINES = 2_000;

function settingsOf(lines: readonly string[]): Setting[] {
  return lines.slice(0, MOST_LINES).flatMap((line) => {
    const text = line.length > 500 ? line.slice(0, 500) : line;
    if (/^\s*(?:#|\/\/)/.test(text)) return [];
    const settings: Setting[] = [];
    for (const [, name, value] of text.matchAll(FLAG)) {
      const raw = name!.replaceAll('-', '_');
      const negated = Object.hasOwn(negatedFlags(), raw) ? negatedFlags()[raw] : undefined;
      if (negated !== undefined) settings.push({ key: negated, raw: negated, value: 'false' });
      else settings.push(settingOf(name!, value ?? 'true'));
    }
    for (const [, name, value] of text.matchAll(ASSIGNED)) {
      settings.push(settingOf(name!, value!));
      // `ARGS="train.micro_batch_size=1"`
      for (const [, inner, within] of /^["']/.test(value!) ? value!.slice(1, -1).matchAll(ASSIGNED) : [])
        settings.push(settingOf(inner!, within!));
    }
    return settings;
  });
}

function settingOf(name: string, value: string): Setting {
  const raw = lastPart(name);
  return { key: isKnownConfigKey(name) ? canonicalConfigKey(name) : raw, raw, value: normaliseConfigValue(value) };
}

/** Values as programs and people spell them: `True` and `true`, `1e3` and `1000`, `torch.bfloat16` and `bfloat16`. */
function isSame(x: string | null, y: string | null): boolean {
  const plain = (value: string | null): string => plainValue(value).toLowerCase().replace(/\s+/g, '');
  const [a, b] = [plain(x), plain(y)];
  if (a === b) return true;
  const [m, n] = [numberOf(a), numberOf(b)];
  return m !== undefined && m === n;
}
