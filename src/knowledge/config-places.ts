/**
 * The place of a setting: the section of Megatron Bridge's configuration (by its class) and the part of a NeMo recipe.
 */
import { loadData } from './load-data.js';

export interface Places {
  /** Paths; a star is the key. Several where both must agree. */
  readonly bridge: readonly string[];
  readonly nemo: readonly string[];
}

/** Without keys: the default. */
const ROWS = loadData('config-places') as readonly (Places & { readonly keys: readonly string[] })[];
const PLACES = new Map(ROWS.flatMap((row) => row.keys.map((key): [string, Places] => [key, row])));
const MODEL = ROWS.find(({ keys }) => keys.length === 0) ?? { bridge: [], nemo: [] };

/** Most settings are the model's, of `TransformerConfig` and its kin. */
export function placesOf(key: string): Places {
  return PLACES.get(key) ?? MODEL;
}

export function asPlace(place: string, key: string): string {
  return place.replace('*', key);
}
