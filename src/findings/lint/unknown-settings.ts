/** Settings that bear on memory by their names, and that neither the catalogue of settings nor a rule knows. */

import { LINT_TOPICS, lintRecords } from '../../derive/lint/rules.js';
import { defaults } from '../../derive/settings/defaults.js';
import type { RawFacts } from '../../derive/settings/facts.js';
import { textTerms } from '../../derive/settings/terms.js';
import { isOn } from '../../derive/settings/values.js';
import { isKnownConfigKey, namesOfMemory } from '../../knowledge/config-keys.js';
import type { LintUnknownSetting } from '../../model/results/lint.js';

let read: ReadonlySet<string> | undefined;

/** Words of all conditions, settings among them, and the settings with a default. */
function keysOfRules(): ReadonlySet<string> {
  const texts = [
    ...LINT_TOPICS.flatMap((topic) => lintRecords(topic).map(({ when }) => when)),
    ...Object.values(textTerms()),
  ];
  read ??= new Set(
    [...texts.join(' ').matchAll(/\b[a-z]\w+/g)].map(([word]) => word).concat([...defaults().byKey.keys()]),
  );
  return read;
}

/** In the order of their places. A setting that is off, empty or None is left out. */
export function unknownSettings({ settings }: RawFacts): LintUnknownSetting[] {
  const { memory, other } = namesOfMemory();
  return [...settings]
    .flatMap(([key, { value, raw_key, file, line }]): LintUnknownSetting[] => {
      if (value === null || !isOn(value) || file === '') return [];
      if (!memory.test(key) || other.test(key)) return [];
      if (isKnownConfigKey(raw_key) || isKnownConfigKey(key) || keysOfRules().has(key)) return [];
      return [{ key, value, raw_key, file, line }];
    })
    .sort((a, b) => (a.file! < b.file! ? -1 : a.file! > b.file! ? 1 : a.line! - b.line!));
}
