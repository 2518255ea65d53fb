/** Any other variable: the environment of each captured rank, else what a script means to set. */

import { sameValue } from '../values.js';
import { type EffectInput, type EffectOf, effect, placeText, ranksText } from './effect.js';

export const environmentEffect: EffectOf = ({ change, after }: EffectInput) => {
  const { variables, captured_ranks: captured } = after.environment;
  const variable = variables.find(({ key }) => key === change.key);
  const recorded = (variable?.values ?? []).filter(({ origin }) => origin !== 'script' && origin !== 'config file');
  const active = new Set<number>();
  for (const { value, ranks } of recorded) if (sameValue(value, change.to)) for (const rank of ranks) active.add(rank);
  const named = new Set([...captured, ...recorded.flatMap(({ ranks }) => ranks)]);
  const inactive = [...named].filter(
    (rank) => !active.has(rank) && !(change.to === null && !recorded.some(({ ranks }) => ranks.includes(rank))),
  );
  const holds = [...named].filter((rank) => !inactive.includes(rank));
  if (named.size === 0) {
    // Of a process no rank is known of, or only of a script.
    const matchingValue = recorded.find(({ value }) => sameValue(value, change.to));
    if (matchingValue !== undefined && variable !== undefined)
      return effect(
        'active',
        `a captured environment has ${change.key}=${matchingValue.value ?? ''}`,
        placeText({ ...variable, origin: matchingValue.origin }),
      );
    return effect(
      'untested',
      `${change.key}=${change.to ?? '(unset)'} is what a script means to set; no process recorded it`,
      variable === undefined ? 'no record' : placeText(variable),
      { needs: 'a copy of /proc/PID/environ of each rank, or the output of env in the job step' },
    );
  }
  const source = variable === undefined ? 'captured environment' : placeText(variable);
  const ranks = { active: holds, inactive };
  if (inactive.length === 0)
    return effect('active', `${change.key}=${change.to ?? '(unset)'} on ${ranksText(holds)}`, source, { ranks });
  return effect(
    holds.length === 0 ? 'inactive' : 'partly',
    `${change.key}=${change.to ?? '(unset)'} is not in the environment of ${ranksText(inactive)}`,
    source,
    { ranks, needs: 'export it before the launch, on every node and rank' },
  );
};
