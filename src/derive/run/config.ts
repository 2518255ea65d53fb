/**
 * Which settings were in force: of each key the strongest origin of the latest attempt; and what differs between
 * origins, or runs.
 */

import { configKeys } from '../../knowledge/config-keys.js';
import { groupBy } from '../../model/group-by.js';
import { CONFIG_ORIGINS } from '../../model/log-rows.js';
import { pick } from '../../model/pick.js';
import type { ConfigConflict, ConfigEntry, ConfigResult } from '../../model/results/log.js';
import type { FoundSetting } from '../../model/settings-read.js';
import { readOnce } from '../../store/read-once.js';
import type { Store } from '../../store/store.js';
import { memoryRank } from './memory-keys.js';

export function readSettings(store: Store, runId: number): Promise<FoundSetting[]> {
  return onceSettings(store, runId);
}

const onceSettings = readOnce(async (store: Store, runId: number): Promise<FoundSetting[]> => {
  const rows = await store.all('log.config', { run_id: runId });
  // The order of origins is that of this build, whichever one wrote the store.
  return rows.map(({ raw_key: rawKey, display_path: file, ...row }) => ({
    ...row,
    rawKey,
    file,
    precedence: (CONFIG_ORIGINS as readonly string[]).indexOf(row.origin),
  }));
});

function pathOf(rawKey: string): string {
  return rawKey.replace(/^-+/, '').replaceAll('-', '_');
}

/**
 * Keys that name one thing. A key of the dictionary is one thing at any path. Any other key is compared by its last
 * part, and trees repeat those (`_target_`, `name`): where one file gives a key several paths, the paths are the keys.
 */
function identify(found: readonly FoundSetting[]): Map<string, FoundSetting[]> {
  const dictionary = configKeys();
  const paths = new Map<string, string>();
  const repeated = new Set<string>();
  for (const setting of found) {
    if (dictionary.has(setting.key)) continue;
    const place = `${setting.key}\0${setting.attempt}\0${setting.origin}\0${setting.file}`;
    const path = pathOf(setting.rawKey);
    const known = paths.get(place);
    if (known === undefined) paths.set(place, path);
    else if (known !== path) repeated.add(setting.key);
  }
  return groupBy(found, ({ key, rawKey }) => (repeated.has(key) ? pathOf(rawKey) : key));
}

/**
 * How one value is written by Python, YAML, JSON and shells: `None`, `null`, `~`; `True`, `true`; `1`, `1.0`;
 * `torch.bfloat16`.
 */
export function plainValue(value: string | null): string {
  if (value === null) return 'null';
  const text = value
    .trim()
    .replace(/^(["'])(.*)\1$/s, '$2')
    .replace(/^torch\./, '');
  const lower = text.toLowerCase();
  if (lower === 'none' || lower === 'null' || lower === '~' || lower === '') return 'null';
  if (lower === 'true' || lower === 'false') return lower;
  const number = /^[-+]?[\d._]{1,30}(?:e[-+]?\d{1,3})?$/i.test(text) ? Number(text.replaceAll('_', '')) : Number.NaN;
  return Number.isFinite(number) ? String(number) : text;
}

/** Latest attempt, then strongest origin, then the later place: the last option on a command line wins. */
function strongestFirst(a: FoundSetting, b: FoundSetting): number {
  return (
    b.attempt - a.attempt ||
    a.precedence - b.precedence ||
    (b.fileNumber ?? 0) - (a.fileNumber ?? 0) ||
    (a.file < b.file ? 1 : a.file > b.file ? -1 : 0) ||
    b.line - a.line
  );
}

/** The strongest; a banner that only repeats the resolved arguments is not a source of its own. */
function confirmedByDump(sorted: readonly FoundSetting[]): FoundSetting {
  const best = sorted[0]!;
  if (best.origin !== 'log banner') return best;
  const plain = plainValue(best.value);
  const isSame = ({ attempt, origin, value }: FoundSetting): boolean =>
    attempt === best.attempt && origin === 'log dump' && plainValue(value) === plain;
  return sorted.find(isSame) ?? best;
}

function memoryFirst(a: string, b: string): number {
  const [first, second] = [memoryRank(a) ?? Number.MAX_SAFE_INTEGER, memoryRank(b) ?? Number.MAX_SAFE_INTEGER];
  return first - second || (a < b ? -1 : a > b ? 1 : 0);
}

export interface EffectiveConfig {
  /** Keys that bear on memory first. */
  readonly settings: readonly ConfigEntry[];
  readonly conflicts: readonly ConfigConflict[];
  entry(key: string): ConfigEntry | undefined;
  /** Of keys with several values, that of each section, as `model.seq_length`. */
  readonly bySection: ReadonlyMap<string, Omit<ConfigEntry, 'key' | 'memory'>>;
}

export function effectiveConfig(found: readonly FoundSetting[]): EffectiveConfig {
  const settings: ConfigEntry[] = [];
  const conflicts: ConfigConflict[] = [];
  const bySection = new Map<string, Omit<ConfigEntry, 'key' | 'memory'>>();
  for (const [key, group] of identify(found)) {
    const sorted = [...group].sort(strongestFirst);
    const best = confirmedByDump(sorted);
    const { value, origin, rawKey, attempt, file, line } = best;
    settings.push({ key, value, origin, raw_key: rawKey, attempt, file, line, memory: memoryRank(key) !== undefined });
    const distinct = new Map<string, FoundSetting>();
    for (const setting of sorted) {
      if (setting.attempt !== attempt) continue;
      const plain = plainValue(setting.value);
      if (!distinct.has(plain)) distinct.set(plain, setting);
    }
    if (distinct.size < 2) continue;
    for (const { rawKey: raw_key, ...setting } of sorted) {
      const section = raw_key.split('.').at(-2);
      if (setting.attempt !== attempt || section === undefined || bySection.has(`${section}.${key}`)) continue;
      bySection.set(`${section}.${key}`, { ...pick(setting, ['value', 'origin', 'attempt', 'file', 'line']), raw_key });
    }
    conflicts.push({
      key,
      values: [...distinct.values()].map(({ rawKey, ...setting }) => ({
        ...pick(setting, ['value', 'origin']),
        raw_key: rawKey,
        ...pick(setting, ['attempt', 'file', 'line']),
      })),
    });
  }
  settings.sort((a, b) => memoryFirst(a.key, b.key));
  conflicts.sort((a, b) => memoryFirst(a.key, b.key));
  const byKey = new Map(settings.map((setting) => [setting.key, setting]));
  return { settings, conflicts, bySection, entry: (key) => byKey.get(key) };
}

/** Settings of `here` against those of `there`; values that only differ in spelling are equal. */
export function diffConfig(
  here: EffectiveConfig,
  there: EffectiveConfig,
  other: string,
): NonNullable<ConfigResult['diff']> {
  const different: NonNullable<ConfigResult['diff']>['different'][number][] = [];
  let equal = 0;
  for (const setting of here.settings) {
    const match = there.entry(setting.key);
    if (match === undefined) continue;
    if (plainValue(setting.value) === plainValue(match.value)) {
      equal += 1;
      continue;
    }
    const { key, memory, value, origin } = setting;
    different.push({ key, memory, value, other_value: match.value, origin, other_origin: match.origin });
  }
  return {
    other,
    different,
    only_here: here.settings.filter(({ key }) => there.entry(key) === undefined),
    only_there: there.settings.filter(({ key }) => here.entry(key) === undefined),
    equal,
  };
}

/** A run's settings as read from its store; runs to compare may be in two stores, or in one that opens once. */
export interface RunSettings {
  readonly run: string;
  readonly found: readonly FoundSetting[];
}

export function describeConfig(here: RunSettings, other?: RunSettings): ConfigResult {
  const config = effectiveConfig(here.found);
  return {
    schema: 'mbforensics/config@1',
    run: here.run,
    settings: config.settings,
    conflicts: config.conflicts,
    diff: other === undefined ? null : diffConfig(config, effectiveConfig(other.found), other.run),
  };
}
