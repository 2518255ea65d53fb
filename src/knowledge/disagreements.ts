/** Where the guides, and upstream, disagree, and when each of them holds. */
import { loadData } from './load-data.js';

export interface Disagreement {
  readonly id: string;
  readonly topic: string;
  readonly a: string;
  readonly b: string;
  /** When each holds, or which was followed. */
  readonly resolution: string;
  /** Ids of lint rules, symptoms and fixes. Knobs list the ids of their disagreements themselves. */
  readonly concerns: readonly string[];
}

export const DISAGREEMENTS = loadData('disagreements') as readonly Disagreement[];
