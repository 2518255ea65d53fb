/** By which settings the launches of a run differ. */
import { plainValue } from '../../derive/run/config.js';
import { memoryRank } from '../../derive/run/memory-keys.js';
import { isKnownConfigKey } from '../../knowledge/config-keys.js';
import { ALLOCATOR_VARIABLES } from '../../knowledge/env-keys.js';
import { groupBy } from '../../model/group-by.js';
import type { AttemptSummary } from '../../model/results/log.js';
import type { Store } from '../../store/store.js';

/** What differs from launch to launch by itself: where it runs, and where it writes. */
const OF_THE_PLACE =
  /(?:^|_)(?:port|addr|address|host|node|nodelist|dir|path|file|name|id|time|date|seed|rank|save|load|pid)s?$/;

/** Allocator settings and keys that bear on memory, other known keys, then keys of the program itself. */
function orderOf(key: string): number {
  if (ALLOCATOR_VARIABLES.includes(key)) return -1;
  return memoryRank(key) ?? (isKnownConfigKey(key) ? 10_000 : 20_000);
}

/** By launch. */
export async function launchSettings(store: Store, runId: number): Promise<Map<number, AttemptSummary['settings']>> {
  const rows = await store.all('log.launch_settings', { run_id: runId });
  const settings = new Map<number, Record<string, string | null>>();
  const keys = [...groupBy(rows, ({ key }) => key)].sort(([a], [b]) => orderOf(a) - orderOf(b));
  for (const [key, found] of keys) {
    if (OF_THE_PLACE.test(key.toLowerCase()) || found.some(({ value }) => value?.includes('/'))) continue;
    if (new Set(found.map(({ value }) => plainValue(value))).size < 2) continue;
    for (const { attempt, value } of found) {
      const known = settings.get(attempt) ?? {};
      settings.set(attempt, known);
      known[key] = value;
    }
  }
  return settings;
}
