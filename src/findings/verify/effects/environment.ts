/** Any other variable: the environment of each captured rank, else what a script means to set. */

import { sameValue, textOf } from '../values.js';
import { type EffectInput, type EffectOf, effect, knownText, outcomeOn, placeOf } from './effect.js';

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
  const figures = { key: change.key, to: change.to, ranks: knownText(inactive.length === 0 ? holds : inactive) };
  if (named.size === 0) {
    // Of a process no rank is known of, or only of a script.
    const matching = recorded.find(({ value }) => sameValue(value, change.to));
    if (matching !== undefined && variable !== undefined) {
      const place = placeOf({ ...variable, origin: matching.origin });
      return effect('active', 'captured', { key: change.key, value: matching.value ?? '' }, place);
    }
    return effect('untested', 'meant', figures, variable === undefined ? textOf('no_record') : placeOf(variable));
  }
  const source = variable === undefined ? textOf('captured_environment') : placeOf(variable);
  const { outcome } = outcomeOn(holds, inactive);
  return effect(outcome, outcome === 'active' ? 'variable_set' : 'variable_not_set', figures, source, {
    ranks: { active: holds, inactive },
  });
};
