/**
 * What the run of a commit does: the table that commits edit together with the lines and settings that stand for it.
 */
import { FACTS } from './facts.js';
import { type Project, places, settingsOf, textOf } from './project.js';
import type { Behaviours } from './table.js';

export const CLUSTER_FILE = 'scripts/cluster.env';
export function behavioursOf(project: Project): Behaviours {
  const found = places(project);
  const settings = settingsOf(project);
  const ofSettings = FACTS.settings.flatMap(({ key, is, effect }) => (settings.get(key) === is ? [effect] : []));
  const ofLines = FACTS.regressions.flatMap(({ name, effect, add, swap, drop }) => {
    if (effect === undefined) return [];
    if (add !== undefined || swap !== undefined) return found.has(name) ? [{ ...effect, line: name }] : [];
    return drop!.some((line) => !found.has(line)) ? [effect] : [];
  });
  return {
    settings: Object.fromEntries(settings),
    effects: [...ofSettings, ...ofLines],
    trouble: FACTS.troubles.find(({ subject }) => found.has(subject)) ?? null,
    node: /^NODELIST=(\S+)/m.exec(textOf(project.get(CLUSTER_FILE)!))![1]!,
    places: Object.fromEntries(found),
  };
}
