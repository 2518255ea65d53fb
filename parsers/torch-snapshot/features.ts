/**
 * Which torch wrote a snapshot: the file does not contain the version, but its keys indicate it. Features are the keys
 * that were present; `since` is the earliest torch release that writes one, according to upstream history:
 * `src/knowledge/inputs/snapshot-features.yaml`.
 */
import { loadData } from '../../src/knowledge/load-data.js';
import { bit, type KeyName } from './keys.js';

export interface SeenKeys {
  readonly form: 'dict' | 'list';
  readonly topLevel: readonly string[];
  readonly segmentBits: number;
  readonly blockBits: number;
  readonly entryBits: number;
  readonly settings: ReadonlyMap<string, string>;
  readonly frameExtras: readonly string[];
  readonly actions: readonly string[];
}

interface Feature {
  readonly id: string;
  readonly since: string;
}

/** In the order of their appearance in torch. */
export const FEATURES = loadData('inputs/snapshot-features') as readonly Feature[];

/** Whether the keys have the feature `where.key`. */
function isSeen(id: string, keys: SeenKeys): boolean {
  const [where = '', key = ''] = id.split('.', 2);
  const bits = { event: keys.entryBits, segment: keys.segmentBits, block: keys.blockBits }[where];
  if (id === 'event.annotate') return keys.actions.includes(key);
  if (bits !== undefined) return (bits & bit(key as KeyName)) !== 0;
  if (where === 'form') return keys.form === key;
  if (where === 'frame') return keys.frameExtras.some((extra) => extra.startsWith(`${key}_`));
  if (where !== 'setting') return keys.topLevel.includes(where);
  return (
    keys.topLevel.includes(key) || [...keys.settings.keys()].some((name) => name === key || name.startsWith(`${key}.`))
  );
}

export function detectFeatures(keys: SeenKeys): string[] {
  return FEATURES.map(({ id }) => id).filter((id) => isSeen(id, keys));
}

/** The earliest torch that writes all of `features`, e.g. `2.10`. */
export function earliestTorch(features: readonly string[]): string | undefined {
  const order = (version: string): number => {
    const [major, minor] = version.split('.').map(Number);
    return (major ?? 0) * 1000 + (minor ?? 0);
  };
  return FEATURES.filter((feature) => features.includes(feature.id))
    .map((feature) => feature.since)
    .sort((a, b) => order(b) - order(a))[0];
}
