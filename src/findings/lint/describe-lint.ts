/** What `lint` answers, from the facts and what the rules made of them. Pure. */

import type { Linted } from '../../derive/lint/lint.js';
import { LINT_TOPICS, lintRecords } from '../../derive/lint/rules.js';
import { defaults } from '../../derive/settings/defaults.js';
import type { Framework, RawFacts } from '../../derive/settings/facts.js';
import { textTerms } from '../../derive/settings/terms.js';
import { isOn } from '../../derive/settings/values.js';
import { isKnownConfigKey, namesOfMemory } from '../../knowledge/config-keys.js';
import { isBridgeSection, releaseText, upstreamName } from '../../knowledge/upstream-names.js';
import type { LintFact, LintFinding, LintResult, LintUnknownSetting } from '../../model/results/lint.js';

export interface LintSubject {
  /** Files, or the run. */
  readonly subject: readonly string[];
  readonly run: string | null;
  /** How many rules were tried. */
  readonly rules: number;
}

export function describeLint(facts: RawFacts, { subject, run, rules }: LintSubject, linted: Linted): LintResult {
  const { framework, versions, device } = facts;
  const known = Object.entries(versions).filter((entry): entry is [string, string] => entry[1] != null);
  return {
    schema: 'mbforensics/lint@1',
    subject,
    run,
    framework,
    versions: Object.fromEntries(known),
    device: device.name,
    environment: facts.env_known,
    rules,
    settings: facts.settings.size,
    findings: linted.findings.map(withPlace),
    unknown: linted.unknown.map((one) => ({ ...one, facts: one.facts.map(withoutEmptyPlace) })),
    unknown_settings: unknownSettings(facts),
    assumed: assumedOf(linted),
  };
}

/** Sizes that were computed, and what a process recorded of itself, have no place in a file. */
function withoutEmptyPlace(fact: LintFact): LintFact {
  return fact.file === '' ? { ...fact, file: null, line: null } : fact;
}

function withPlace(finding: LintFinding): LintFinding {
  const facts = finding.facts.map(withoutEmptyPlace);
  const place = facts.find(({ file }) => file !== null);
  return { ...finding, file: place?.file ?? null, line: place?.line ?? null, facts };
}

/** Defaults that findings rest on, each once. */
function assumedOf({ findings }: Linted): LintFact[] {
  const facts = new Map<string, LintFact>();
  for (const finding of findings)
    for (const fact of finding.facts) if (fact.by === 'default') facts.set(fact.key, fact);
  return [...facts.values()];
}

// Settings that bear on memory by their names and that no rule reads, and those that no catalogue of upstream has.

/** A flag of Megatron-LM, or a field of a section of Bridge: not what a dictionary within a section holds. */
function isOwnName(rawKey: string, framework: Framework): boolean {
  const parts = rawKey.replace(/^(?:--|cfg\.)/, '').split('.');
  if (!/^[a-z][\w-]*$/.test(parts.at(-1)!)) return false;
  return framework === 'megatron-lm' ? parts.length === 1 : parts.length === 2 && isBridgeSection(parts[0]!);
}

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

/**
 * In the order of their places. A setting that is off, empty or None is left out. Names that bear on nothing are listed
 * for Megatron-LM and Megatron Bridge only, whose names are all in the catalogue.
 */
export function unknownSettings({ settings, framework: { name: framework } }: RawFacts): LintUnknownSetting[] {
  const { memory, other } = namesOfMemory();
  const isCatalogued = framework === 'megatron-lm' || framework === 'megatron-bridge';
  return [...settings]
    .flatMap(([key, { value, raw_key, origin, file, line }]): LintUnknownSetting[] => {
      if (value === null || !isOn(value) || file === '') return [];
      if (isKnownConfigKey(raw_key) || isKnownConfigKey(key) || keysOfRules().has(key)) return [];
      const upstream = upstreamName(raw_key) ?? upstreamName(key);
      const bearsOnMemory = memory.test(key) && !other.test(key);
      // The program that printed its arguments has them.
      const isStrange =
        isCatalogued && upstream === undefined && !origin.startsWith('log ') && isOwnName(raw_key, framework);
      if (!bearsOnMemory && !isStrange) return [];
      const release = upstream === undefined ? '' : releaseText(upstream);
      const known = upstream === undefined ? null : [upstream.of, release].filter((part) => part !== '').join(', ');
      return [{ key, value, raw_key, known, file, line }];
    })
    .sort((a, b) => (a.file! < b.file! ? -1 : a.file! > b.file! ? 1 : a.line! - b.line!));
}
