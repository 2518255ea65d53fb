/**
 * Allocator settings: the allocator's own record of each rank, its segments, else the process's environment, else only
 * what a script meant.
 */

import { ALLOCATOR_VARIABLES } from '../../../knowledge/env-keys.js';
import type { Text } from '../../../model/statement.js';
import type { RankSnapshot, Side } from '../side.js';
import type { VerifyEvidence } from '../unworded.js';
import { hasParts, textOf, type WantedParts, wantedParts } from '../values.js';
import {
  type EffectInput,
  type EffectOf,
  effect,
  evidenceOf,
  knownText,
  outcomeOn,
  placeOf,
  rankNumber,
} from './effect.js';

interface RankOutcome extends VerifyEvidence {
  readonly active: boolean;
}

export const allocatorEffect: EffectOf = ({ change, after }: EffectInput) => {
  const wantedSettings = wantedParts(change.from, change.to);
  const byRank = new Map<number, RankOutcome>();
  for (const [rank, outcomeOfRank] of byEnvironment(change.key, wantedSettings, after)) byRank.set(rank, outcomeOfRank);
  // The allocator's own record goes before any variable.
  for (const snapshot of after.snapshots) {
    const outcomeOfRank = bySnapshot(snapshot, wantedSettings);
    if (outcomeOfRank !== undefined) byRank.set(rankNumber(snapshot.rank), outcomeOfRank);
  }
  const { present, absent } = wantedSettings;
  const parts = [...present, ...absent.map((part) => textOf('without', { part }))];
  const words = parts.length > 0 ? parts : [change.to ?? 'unset'];
  if (byRank.size === 0) return onlyMeant(change.key, words, after);
  const [active, inactive] = [true, false].map((is) =>
    [...byRank].filter(([, outcomeOfRank]) => outcomeOfRank.active === is).map(([rank]) => rank),
  ) as [number[], number[]];
  const { outcome, ranks } = outcomeOn(active, inactive);
  const isActive = outcome === 'active';
  const known = isActive ? active : inactive;
  const first = byRank.get(known[0]!)!;
  const otherRanks = isActive ? (after.about.world_size ?? 0) - byRank.size : 0;
  const figures = {
    ...{
      wanted: words,
      key: change.key,
      where: knownText(known),
      because: first.text,
      others: otherRanks > 0 ? otherRanks : null,
    },
    elsewhere: isActive ? null : knownText(ranks.active),
  };
  return effect(outcome, isActive ? 'in_force' : 'not_in_force', figures, first.source, {
    ranks,
    evidence: statementsOf(byRank),
  });
};

/** Each statement once, however many ranks it is of. */
function statementsOf(byRank: ReadonlyMap<number, RankOutcome>): VerifyEvidence[] {
  const evidence = new Map<string, VerifyEvidence>();
  for (const { text, source } of byRank.values()) evidence.set(JSON.stringify([text, source]), { text, source });
  return [...evidence.values()].slice(0, 8);
}

function bySnapshot(snapshot: RankSnapshot, wantedSettings: WantedParts): RankOutcome | undefined {
  const { settings, handle, segments, expandableSegments } = snapshot;
  const outcome = (active: boolean, code: string, figures: object): RankOutcome => ({
    active,
    ...evidenceOf(code, { segments, expandable: expandableSegments, ...figures }, handle),
  });
  const text = ALLOCATOR_VARIABLES.map((key) => settings.get(key)).find((value) => value !== undefined && value !== '');
  const isRecorded = ALLOCATOR_VARIABLES.some((key) => settings.has(key));
  const expandable = wantedSettings.present.find((part) => /^expandable_segments:/i.test(part));
  const flag = settings.get('expandable_segments');
  if (expandable !== undefined && wantedSettings.present.length === 1 && wantedSettings.absent.length === 0) {
    const wants = /:true$/i.test(expandable);
    // A recorded setting without a single such segment does nothing (another allocator, no driver support).
    if (wants && segments > 0 && expandableSegments > 0) return outcome(true, 'expandable', {});
    if (flag !== undefined) {
      const is = /^(?:true|1)$/i.test(flag);
      const empty = wants && is && segments > 0;
      return outcome(is === wants && !empty, 'recorded_flag', { flag, empty });
    }
  }
  return isRecorded ? outcome(hasParts(text ?? null, wantedSettings), 'recorded', { text }) : undefined;
}

function byEnvironment(key: string, wantedSettings: WantedParts, { environment }: Side): Map<number, RankOutcome> {
  const byRank = new Map<number, RankOutcome>();
  // Of the aliases torch takes the first that is set; where a process has another than the one that changed, that one
  // counts.
  for (const name of [...ALLOCATOR_VARIABLES].reverse()) {
    const variable = environment.variables.find((entry) => entry.key === name);
    if (variable === undefined) continue;
    for (const { value, origin, ranks } of variable.values) {
      if (origin === 'script' || origin === 'config file') continue;
      for (const rank of ranks)
        byRank.set(rank, {
          active: hasParts(value, wantedSettings),
          ...evidenceOf('environment_has', { name, value: value ?? '' }, placeOf({ ...variable, origin })),
        });
    }
  }
  for (const rank of environment.captured_ranks)
    if (!byRank.has(rank))
      byRank.set(rank, {
        active: hasParts(null, wantedSettings),
        ...evidenceOf('environment_lacks', { key }, textOf('captured_of_rank')),
      });
  return byRank;
}

function onlyMeant(key: string, wanted: readonly Text[], { environment }: Side): ReturnType<EffectOf> {
  const script = environment.variables.find((entry) => entry.key === key);
  const isSet = script !== undefined;
  return effect('untested', 'only_meant', { wanted, script: isSet }, isSet ? placeOf(script) : textOf('no_record'));
}
