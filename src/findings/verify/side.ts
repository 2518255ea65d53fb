/** One of the two runs: all evidence of what was in force, what it needed, and how it ended. Plain data. */

import { effectiveConfig } from '../../derive/run/config.js';
import type { LogFacts } from '../../derive/run/log-facts.js';
import type { RawFacts } from '../../derive/settings/facts.js';
import type { View } from '../../derive/settings/view.js';
import { maxOf } from '../../model/lists.js';
import type { Measurement } from '../../model/measurement.js';
import type { Diagnosis } from '../../model/results/common.js';
import type { EnvResult, RunFacts } from '../../model/results/log.js';
import type { FoundSetting } from '../../model/settings-read.js';
import type { ProgramUse } from './program-use.js';
import type { AdviceFix, NonFix } from './unworded.js';

/** The advice on the run before: what its changes were expected to save and to cost. */
export interface AdviceBefore {
  readonly fixes: readonly AdviceFix[];
  readonly nonFixes: readonly NonFix[];
}

/** What a snapshot of one rank shows of settings in force. */
export interface RankSnapshot {
  readonly handle: string;
  readonly rank: number | null;
  /** As the allocator recorded them; empty where the torch that wrote it records none. */
  readonly settings: ReadonlyMap<string, string>;
  readonly segments: number;
  readonly expandableSegments: number;
  readonly program: ProgramUse;
}

export interface Side {
  readonly run: string;
  /** Store and run: the same place is the same run. */
  readonly place: string;
  readonly measurement: Measurement;
  readonly facts: RawFacts;
  readonly view: View;
  readonly found: readonly FoundSetting[];
  readonly environment: Pick<EnvResult, 'variables' | 'captured_ranks'>;
  readonly snapshots: readonly RankSnapshot[];
  readonly diagnosis: Diagnosis;
  readonly about: RunFacts;
  readonly values: LogFacts['values'];
  readonly phases: readonly { readonly phase: string; readonly file: string; readonly line: number }[];
}

/** The settings in force, as `config` shows them. */
export function effectiveOf({ found }: Pick<Side, 'found'>): ReturnType<typeof effectiveConfig> {
  return effectiveConfig(found);
}

/** In the order a launch goes through them. */
export const SETUP: readonly string[] = [
  'launch',
  'model_build',
  'optimizer_build',
  'checkpoint_load',
  'data_build',
  'training',
];

/** How far the launch came, by what it announced. */
export function furthestPhase({ phases }: Pick<Side, 'phases'>): number {
  return Math.max(-1, maxOf(phases.map(({ phase }) => SETUP.indexOf(phase))));
}
