/**
 * A comparison as SARIF 2.1.0, for code scanning: regressions are errors, what could not be decided is a note, and
 * suspects are warnings at the lines that changed. OASIS, Static Analysis Results Interchange Format 2.1.0.
 */

import type { CompareCheck, Suspect } from '../../model/results/compare.js';
import { tidy } from '../plain-text.js';
import { artifactOf, logical, message, type SarifLocation, type SarifResult, safe, sarifLog } from '../sarif.js';

import { failsGate, figuresOf, remarkOf, runWords, shortCommit, toleranceOf } from './check-words.js';
import { refusalWords } from './contract-words.js';
import type { ReportedComparison } from './reported-comparison.js';
import { upstreamWords } from './upstream-words.js';

export function compareSarif(result: ReportedComparison): object {
  const { checks, preset, suspects, summary, verdict } = result;
  const results = [
    ...refusedResult(result),
    ...checks.flatMap((check) => checkResult(check, result)),
    ...suspects.map((suspect) => suspectResult(suspect, result.places)),
  ];
  const rules = [...ruleTexts(result)].map(([id, text]) => ({ id, shortDescription: message(text) }));
  return sarifLog(rules, results, {
    verdict,
    summary: safe(summary),
    preset,
    golden: safe(runWords(result.golden, true)),
    current: safe(runWords(result.current, false)),
  });
}

/** A rule for every check, whether it failed or not, so that numbers do not move from run to run. */
function ruleTexts({ checks }: ReportedComparison): Map<string, string> {
  const rules = new Map([
    ['contract', 'The two runs are of the same model, workload, device and precision'],
    ['suspect', 'A change that may be why a figure regressed'],
  ]);
  for (const check of checks) {
    const tolerance = toleranceOf(check);
    const text = tolerance === '' ? 'against its golden value' : `within ${tolerance} of its golden value`;
    if (!rules.has(ruleOf(check))) rules.set(ruleOf(check), `${check.name} ${text}`);
  }
  return rules;
}

const ruleOf = ({ name }: CompareCheck): string => safe(tidy(name));

function refusedResult({ refused, contract, places }: ReportedComparison): SarifResult[] {
  const refusal = refusalWords(refused, contract);
  if (refusal === null) return [];
  const text = `${refusal.reason}; ${refusal.remedy}`;
  return [{ ruleId: 'contract', level: 'warning', message: message(text), locations: [placeOf('contract', places)] }];
}

/** A regression outside the gate is a warning only. */
function checkResult(check: CompareCheck, { preset, suspects, places }: ReportedComparison): SarifResult[] {
  const fails = failsGate(check, preset);
  const isUndecided = check.gate && check.status === 'undecided';
  if (!fails && !isUndecided && check.status !== 'regression') return [];
  const text = [
    `${check.name}: ${check.status}`,
    figuresOf(check),
    remarkOf(check),
    upstreamWords(check, preset) ?? '',
  ].filter((part) => part !== '');
  // Code scanning takes no result without a line of the checkout; the likeliest one is the best there is.
  const likeliest = suspects.find(({ hunk }) => hunk !== undefined);
  return [
    {
      ruleId: ruleOf(check),
      level: fails ? 'error' : isUndecided ? 'note' : 'warning',
      message: message(text.join('; ')),
      locations: [likeliest === undefined ? placeOf(check.name, places) : locationOf(likeliest)],
    },
  ];
}

/** `of`: the check whose place it is, if not its own. */
function placeOf(name: string, places: ReportedComparison['places'], of = name): SarifLocation {
  const place = places?.[of];
  if (place === undefined) return logical(name);
  const region = { startLine: place.line };
  return { physicalLocation: { artifactLocation: artifactOf(place.file), region }, ...logical(name) };
}

function suspectResult(suspect: Suspect, places: ReportedComparison['places']): SarifResult {
  const commits = suspect.commits.slice(0, 3).map(({ sha, subject }) => `${shortCommit(sha)} ${subject}`);
  const key = suspect.key === undefined ? '' : `${suspect.key}: `;
  const by = commits.length === 0 ? '' : `; changed by ${commits.join(', ')}`;
  return {
    ruleId: 'suspect',
    level: 'warning',
    message: message(`${key}${suspect.reason} (score ${suspect.score.toFixed(2)})${by}`),
    locations: [suspect.file === '' ? placeOf(suspect.key ?? 'unknown', places, 'contract') : locationOf(suspect)],
  };
}

function locationOf({ file, hunk, key }: Suspect): SarifLocation {
  const name = key === undefined ? {} : { logicalLocations: [{ name: safe(tidy(key)) }] };
  if (file === '') return key === undefined ? logical('unknown') : name;
  const region = hunk === undefined ? undefined : regionOf(hunk);
  return {
    physicalLocation: { artifactLocation: artifactOf(file), ...(region === undefined ? {} : { region }) },
    ...name,
  };
}

/**
 * Lines of the newer commit. A hunk that only deletes lines is located after the line it names, which may be line 0.
 */
function regionOf(hunk: string): { startLine: number; endLine?: number } | undefined {
  const match = /^@@ -\d{1,9}(?:,\d{1,9})? \+(\d{1,9})(?:,(\d{1,9}))? @@/.exec(hunk);
  if (match === null) return undefined;
  const startLine = Math.max(1, Number(match[1]));
  const lines = match[2] === undefined ? 1 : Number(match[2]);
  return lines > 1 ? { startLine, endLine: startLine + lines - 1 } : { startLine };
}
