/** What a failing stack was doing, and which fixes that calls for: `activities.yaml`. */
import { loadData } from './load-data.js';

/** As a frame pattern of an attribution rule. */
interface Pattern {
  readonly file?: string | readonly string[];
  readonly function?: string | readonly string[];
}

export interface ActivityData {
  readonly id: string;
  /** Whatever the frames further in do. */
  readonly outer?: true;
  /** `src/derive/stacks/activity.ts` decides it. */
  readonly known?: true;
  readonly phases?: readonly string[];
  /** `component` or `component.sub_component` of the attribution rules. */
  readonly labels?: readonly string[];
  readonly at?: Pattern | readonly Pattern[];
  /** Regular expression for the printed line of code of a frame. */
  readonly code?: string;
  /** In the text of a message. */
  readonly words?: string;
  readonly without?: Pattern | readonly Pattern[];
  /** Fixes that act on it, in the order to try them. */
  readonly first?: readonly string[];
  /** Fixes, or targets of fixes, that do not touch it. */
  readonly last?: readonly string[];
  /** Fixes, or targets of fixes, for what does not exist yet. */
  readonly no_use?: readonly string[];
  readonly source: string;
}

export function activityData(): readonly ActivityData[] {
  return (loadData('activities') as { readonly activities: readonly ActivityData[] }).activities;
}
