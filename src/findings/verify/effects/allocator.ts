/**
 * Allocator settings: the allocator's own record of each rank, its segments, else the process's environment, else only
 * what a script meant.
 */

import { ALLOCATOR_VARIABLES } from '../../../knowledge/env-keys.js';
import type { EffectOutcome, VerifyEvidence } from '../../../model/results/verify.js';
import type { RankSnapshot, Side } from '../side.js';
import { hasParts, type WantedParts, wantedParts } from '../values.js';
import { type EffectInput, type EffectOf, effect, knownRanks, placeText, rankNumber, ranksText } from './effect.js';

interface RankOutcome {
  readonly active: boolean;
  readonly text: string;
  readonly source: string;
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
  const words =
    [...wantedSettings.present, ...wantedSettings.absent.map((part) => `without ${part}`)].join(', ') ||
    (change.to ?? 'unset');
  if (byRank.size === 0) return onlyMeant(change.key, words, after);
  const [active, inactive] = [true, false].map((is) =>
    [...byRank].filter(([, outcomeOfRank]) => outcomeOfRank.active === is).map(([rank]) => rank),
  ) as [number[], number[]];
  const outcome: EffectOutcome = inactive.length === 0 ? 'active' : active.length === 0 ? 'inactive' : 'partly';
  const first = byRank.get((outcome === 'active' ? active : inactive)[0]!)!;
  const world = after.about.world_size;
  const otherRanks = world === null ? 0 : world - byRank.size;
  const known = outcome === 'active' ? active : inactive;
  return effect(
    outcome,
    outcome === 'active'
      ? `${words} in force${where(known)}: ${first.text}${otherRanks > 0 ? `; unknown for ${otherRanks} other ${otherRanks === 1 ? 'rank' : 'ranks'}` : ''}`
      : `${words} not in force${where(known)}: ${first.text}${active.length > 0 ? `; in force on ${ranksText(knownRanks(active))}` : ''}`,
    first.source,
    {
      ranks: { active: knownRanks(active), inactive: knownRanks(inactive) },
      evidence: evidenceOf(byRank),
      ...(outcome === 'active' ? {} : { needs: `export ${change.key} before the launch, on every node and rank` }),
    },
  );
};

const where = (ranks: readonly number[]): string => {
  const known = knownRanks(ranks);
  return known.length === 0 ? '' : ` on ${ranksText(known)}`;
};

/** Each statement once, however many ranks it is of. */
function evidenceOf(byRank: ReadonlyMap<number, RankOutcome>): VerifyEvidence[] {
  const evidence = new Map<string, VerifyEvidence>();
  for (const { text, source } of byRank.values()) evidence.set(`${text} ${source}`, { text, source });
  return [...evidence.values()].slice(0, 8);
}

function bySnapshot(snapshot: RankSnapshot, wantedSettings: WantedParts): RankOutcome | undefined {
  const { settings, handle, segments, expandableSegments } = snapshot;
  const source = handle;
  const text = ALLOCATOR_VARIABLES.map((key) => settings.get(key)).find((value) => value !== undefined && value !== '');
  const isRecorded = ALLOCATOR_VARIABLES.some((key) => settings.has(key));
  const expandable = wantedSettings.present.find((part) => /^expandable_segments:/i.test(part));
  const flag = settings.get('expandable_segments');
  if (expandable !== undefined && wantedSettings.present.length === 1 && wantedSettings.absent.length === 0) {
    const wants = /:true$/i.test(expandable);
    // A recorded setting without a single such segment does nothing (another allocator, no driver support).
    if (wants && segments > 0 && expandableSegments > 0)
      return { active: true, text: `${expandableSegments} of ${segments} segments are expandable`, source };
    if (flag !== undefined) {
      const is = /^(?:true|1)$/i.test(flag);
      const empty = wants && is && segments > 0 ? `, and none of ${segments} segments is expandable` : '';
      return {
        active: is === wants && empty === '',
        text: `the allocator recorded expandable_segments ${flag}${empty}`,
        source,
      };
    }
  }
  if (!isRecorded) return undefined;
  return {
    active: hasParts(text ?? null, wantedSettings),
    text: `the allocator recorded ${text === undefined ? 'no setting' : text}`,
    source,
  };
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
          text: `its environment has ${name}=${value ?? ''}`,
          source: placeText({ origin, file: variable.file, line: variable.line }),
        });
    }
  }
  for (const rank of environment.captured_ranks)
    if (!byRank.has(rank))
      byRank.set(rank, {
        active: hasParts(null, wantedSettings),
        text: `its environment has no ${key}`,
        source: 'captured environment of the rank',
      });
  return byRank;
}

function onlyMeant(key: string, words: string, { environment }: Side): ReturnType<EffectOf> {
  const script = environment.variables.find((entry) => entry.key === key);
  return effect(
    'untested',
    `${words} is ${script === undefined ? 'unknown' : 'set by a script'}: no process recorded it`,
    script === undefined ? 'no record' : placeText(script),
    {
      needs:
        'a memory snapshot of a rank (torch.cuda.memory._dump_snapshot records the settings), or a copy of /proc/PID/environ of each rank',
    },
  );
}
