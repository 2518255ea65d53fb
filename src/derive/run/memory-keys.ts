/** Settings that decide what a rank has to hold; `knowledge/memory-keys.yaml`. */
import { loadData } from '../../knowledge/load-data.js';

let ranks: ReadonlyMap<string, number> | undefined;

/** Keys by their importance when memory runs out, from 0. */
export function memoryKeys(): ReadonlyMap<string, number> {
  ranks ??= new Map(
    Object.values(loadData('memory-keys') as Record<string, readonly string[]>)
      .flat()
      .map((key, rank) => [key, rank]),
  );
  return ranks;
}

/** Undefined for keys that do not bear on memory. */
export function memoryRank(key: string): number | undefined {
  return memoryKeys().get(key);
}
