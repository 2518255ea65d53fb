/** In which hunk a changed setting stands: a line of a configuration, a recipe or a script that sets it, in any spelling. */
import type { ChangedValue } from '../../model/compare-results.js';
import { canonicalConfigKey, isKnownConfigKey, NEGATED_FLAGS, normaliseConfigValue } from '../../model/config-keys.js';
import { knobEffect, numberOf } from './knob-effects.js';
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
  /** As it is written. */
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

/** Settings in the lines of all hunks; read once. */
export class KnobHunks {
  readonly #byKey = new Map<string, HunkSettings[]>();

  constructor(files: readonly ReadFile[]) {
    for (const file of files) {
      for (const hunk of file.hunks) {
        const read = { file, hunk, removed: settingsOf(hunk.hunk.removed), added: settingsOf(hunk.hunk.added) };
        for (const key of new Set([...read.removed, ...read.added].flatMap((one) => [one.key, one.raw]))) {
          const list = this.#byKey.get(key) ?? [];
          list.push(read);
          this.#byKey.set(key, list);
        }
      }
    }
  }

  /** The hunk that most likely set it; undefined where none sets it to anything else than before. */
  placeOf({ key, a, b }: ChangedValue): Place | undefined {
    const last = lastPart(key);
    const ranked = [...new Set([...(this.#byKey.get(key) ?? []), ...(this.#byKey.get(last) ?? [])])]
      .map(({ file, hunk, removed, added }) => {
        const isIt = (one: Setting): boolean => one.key === key || one.raw === last || one.raw === key;
        const [was, is] = [removed.filter(isIt), added.filter(isIt)];
        const wasA = was.some(({ value }) => isSame(value, a));
        const isB = is.some(({ value }) => isSame(value, b));
        const differs = was.map(({ value }) => value).join('\0') !== is.map(({ value }) => value).join('\0');
        const proof = wasA && isB ? 3 : isB || (wasA && is.length === 0) ? 2 : differs ? 1 : 0;
        const isConfiguration = CONFIGURATION.test(file.path);
        const isSource = !isConfiguration && !RECIPE.test(file.path);
        return {
          file,
          hunk,
          proof,
          rank: proof * 8 - (file.is_aside ? 4 : 0) + (isConfiguration ? 2 : isSource ? 0 : 1),
        };
      })
      // A line of a program that names the setting need not be what sets it.
      .filter(({ file, proof }) => proof >= (CONFIGURATION.test(file.path) || RECIPE.test(file.path) ? 1 : 2))
      .sort((p, q) => q.rank - p.rank || p.file.index - q.file.index || p.hunk.hunk.new_start - q.hunk.hunk.new_start);
    const best = ranked[0];
    return best === undefined ? undefined : { file: best.file, hunk: best.hunk, isProven: best.proof >= 2 };
  }

  /** Known settings that lines of configurations change, for runs that do not tell their own. Each once, as the first hunk has it. */
  changes(): { readonly change: ChangedValue; readonly place: Place }[] {
    const found = new Map<string, { change: ChangedValue; place: Place }>();
    for (const list of this.#byKey.values()) {
      for (const { file, hunk, removed, added } of list) {
        if (file.is_aside || !(CONFIGURATION.test(file.path) || RECIPE.test(file.path))) continue;
        for (const { key, value } of added) {
          const was = removed.find((one) => one.key === key);
          if (found.has(key) || was === undefined || isSame(was.value, value) || knobEffect(key) === undefined)
            continue;
          found.set(key, { change: { key, a: was.value, b: value }, place: { file, hunk, isProven: false } });
        }
      }
    }
    return [...found.values()];
  }
}

const lastPart = (key: string): string => key.split('.').at(-1)!.replaceAll('-', '_');

const VALUE = `("(?:[^"\\\\]|\\\\.)*"|'(?:[^'\\\\]|\\\\.)*'|\\[[^\\]]*\\]|\\([^)]*\\)|[^\\s,;#)}\\\\]+)`;
/** `key: value`, `"key": value`, `key = value`, `a.b.key=value`, `export KEY=value`, `key: int = value`. */
const ASSIGNED = new RegExp(
  `(?<![\\w.-])["']?([A-Za-z_][\\w.-]*)["']?(?:\\s*:\\s*[A-Za-z_][\\w.\\[\\], |]*?)?\\s*[:=]\\s*(?![=:])${VALUE}`,
  'g',
);
/** `--key value`, `--key=value`, `--key`. */
const FLAG = new RegExp(`(?<![\\w-])--([A-Za-z][\\w.-]*)(?:[= ]\\s*(?!-)${VALUE})?`, 'g');
const MOST_LINES = 2_000;

function settingsOf(lines: readonly string[]): Setting[] {
  return lines.slice(0, MOST_LINES).flatMap((line) => {
    const text = line.length > 500 ? line.slice(0, 500) : line;
    if (/^\s*(?:#|\/\/)/.test(text)) return [];
    const found: Setting[] = [];
    for (const [, name, value] of text.matchAll(FLAG)) {
      const raw = name!.replaceAll('-', '_');
      const negated = Object.hasOwn(NEGATED_FLAGS, raw) ? NEGATED_FLAGS[raw] : undefined;
      if (negated !== undefined) found.push({ key: negated, raw: negated, value: 'false' });
      else found.push(settingOf(name!, value ?? 'true'));
    }
    for (const [, name, value] of text.matchAll(ASSIGNED)) {
      if (!/^-/.test(name!)) found.push(settingOf(name!, value!));
    }
    return found;
  });
}

function settingOf(name: string, value: string): Setting {
  const raw = lastPart(name);
  return { key: isKnownConfigKey(name) ? canonicalConfigKey(name) : raw, raw, value: normaliseConfigValue(value) };
}

/** Values as programs and people spell them: `True` and `true`, `1e3` and `1000`, `torch.bfloat16` and `bfloat16`. */
function isSame(x: string | null, y: string | null): boolean {
  const plain = (value: string | null): string => {
    const text = (value ?? 'null')
      .trim()
      .replace(/^["']|["']$/g, '')
      .toLowerCase()
      .replace(/\s+/g, '');
    return text === 'none' || text === '' ? 'null' : text.replace(/^torch\./, '');
  };
  const [a, b] = [plain(x), plain(y)];
  if (a === b) return true;
  const [m, n] = [numberOf(a), numberOf(b)];
  return m !== undefined && m === n;
}
