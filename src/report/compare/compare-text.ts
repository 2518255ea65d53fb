/**
 * A run against its golden values: whether it is worse, whether the two may be compared at all, what grew, and what may
 * be why.
 */

import { ALLOCATOR_VARIABLES } from '../../knowledge/env-keys.js';
import { pushAll } from '../../model/lists.js';
import type { ChangedValue, CompareCheck, CompareResult } from '../../model/results/compare.js';
import { formatCount } from '../../model/units.js';
import { screen } from '../screen.js';
import { tidy } from '../screen-lines.js';
import { screenText } from '../screen-text.js';
import { keepEnd, printable } from '../table.js';
import { hanging, labelled, paragraph, shortText, wrapped } from '../text-pieces.js';
import { checkTable } from './check-table.js';
import { isOfGate, runWords } from './check-words.js';
import { contractValue, contractWords, refusalWords } from './contract-words.js';
import { changedLines, componentLines, siteLines, suspectLines } from './difference-lines.js';

export interface CompareLook {
  /** Call sites to list; 0: all. */
  readonly limit?: number | undefined;
}

const SITES_SHOWN = 6;
const SUSPECTS_SHOWN = 6;
const SETTINGS_SHOWN = 12;
const PARTS_SHOWN = 8;
const LONGEST_TEXT = 1_000;
/** A stage whose relative change is within this of the total's is not shown. */
const ASIDE = 0.01;

export function compareText(result: CompareResult, look: CompareLook = {}): string {
  const { gate, parts, ungated } = splitChecks(result);
  const sites = look.limit === 0 ? Number.MAX_SAFE_INTEGER : (look.limit ?? SITES_SHOWN);
  const lines = [...headLines(result), ...contractLines(result)];
  pushAll(lines, section('', checkTable(gate, { preset: result.preset, explains: () => true })));
  if (result.checks.length === 0 && result.refused === null) lines.push('', 'no figures were compared');
  pushAll(lines, section('by stage and rank', partLines(result, parts)));
  pushAll(lines, section('informative', checkTable(ungated, { preset: result.preset, explains: isOddAndWhole })));
  pushAll(lines, section('', componentLines('of which', result.components)));
  pushAll(lines, section('', siteLines(result.sites, sites, ['golden', 'current'], ' (--limit 0 shows all)')));
  for (const [title, values] of changedValues(result)) pushAll(lines, changedLines(title, values, SETTINGS_SHOWN));
  pushAll(lines, section('suspects, the likeliest first', suspectLines(result, SUSPECTS_SHOWN)));
  if (result.notes.length > 0)
    pushAll(lines, [
      '',
      ...result.notes.flatMap((note, i) => labelled(i === 0 ? 'notes' : '', tidy(shortText(note, LONGEST_TEXT)))),
    ]);
  return screenText(lines);
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', ...(title === '' ? [] : [title]), ...lines];
}

function headLines(result: CompareResult): string[] {
  const { golden, current, preset, verdict, summary, refused, contract } = result;
  const title = `VERDICT  ${verdict}`;
  const by = preset === 'default' ? '' : `preset ${preset}`;
  const refusal = refusalWords(refused, contract);
  const indent = ' '.repeat(9);
  return [
    ...paragraph(`${runWords(current, false)} against ${runWords(golden, true)}`),
    `${title}${' '.repeat(Math.max(2, screen.width - title.length - by.length))}${by}`.trimEnd(),
    ...(summary === '' || summary === refused
      ? []
      : wrapped(`${indent}${tidy(shortText(summary, LONGEST_TEXT))}`, indent)),
    ...(refusal === null ? [] : [...hanging(`REFUSED  ${tidy(refusal.reason)}`), `${indent}${refusal.remedy}`]),
  ];
}

function contractLines({ contract, refused }: CompareResult): string[] {
  const { different, same, not_compared: missing } = contractWords(contract);
  const isIgnored = refused === null && different.some(({ blocking }) => blocking);
  const lines = different.flatMap((entry) => {
    const lead = `  ${(entry.blocking ? 'BLOCKING' : 'differs').padEnd(10)}${entry.group.padEnd(11)}`;
    const [a, b] = [contractValue(entry, entry.golden), contractValue(entry, entry.current)];
    return wrapped(`${lead}${keepEnd(printable(entry.key), 48)}: ${a} → ${b}`, ' '.repeat(lead.length));
  });
  if (same.length > 0) lines.push(`  same: ${same.join(', ')}`);
  if (missing.length > 0) lines.push(`  unknown in one of the two: ${missing.join(', ')}`);
  const title = isIgnored ? 'contract, broken: different configurations are compared nevertheless' : 'contract';
  return ['', title, ...lines];
}

interface SplitChecks {
  readonly gate: readonly CompareCheck[];
  /** `peak_allocated:stage 0`: the same figure of a stage or rank, gate or not. */
  readonly parts: readonly CompareCheck[];
  readonly ungated: readonly CompareCheck[];
}

function splitChecks({ checks, components }: CompareResult): SplitChecks {
  const names = new Set(checks.map(({ name }) => name));
  const parts = checks.filter(({ name }) => names.has(wholeOf(name)));
  const wholes = checks.filter((check) => !parts.includes(check));
  // Components that passed are listed with the differences of components.
  const isPassedComponent = (check: CompareCheck): boolean =>
    check.name.startsWith('component:') && !isOdd(check) && components.length > 0;
  return {
    gate: wholes.filter(isOfGate),
    parts,
    ungated: wholes.filter((check) => !isOfGate(check) && !isPassedComponent(check)),
  };
}

/** How sure the change of a component is follows from that of the whole. */
const isOddAndWhole = (check: CompareCheck): boolean =>
  isOdd(check) && (!check.name.startsWith('component:') || check.why?.code === 'ended_early');

/** `peak_allocated` of `peak_allocated:stage 0`; empty for a whole. */
function wholeOf(name: string): string {
  const colon = name.indexOf(':');
  return colon < 0 ? '' : name.slice(0, colon);
}

const isOdd = ({ status }: CompareCheck): boolean => status !== 'pass' && status !== 'info';

/** The stages and ranks that differ from the total, and the number of those that do not. */
function partLines({ checks, preset }: CompareResult, parts: readonly CompareCheck[]): string[] {
  const shown: CompareCheck[] = [];
  for (const totalName of new Set(parts.map(({ name }) => wholeOf(name)))) {
    const total = checks.find(({ name }) => name === totalName)!;
    pushAll(
      shown,
      differingParts(
        total,
        parts.filter(({ name }) => wholeOf(name) === totalName),
      ),
    );
  }
  const hidden = parts.filter((part) => !shown.includes(part));
  const table = checkTable(shown, { preset, explains: isOdd });
  if (hidden.length === 0) return table;
  const counts = [...new Set(hidden.map(({ status }) => status))].map(
    (status) => `${formatCount(hidden.filter((part) => part.status === status).length)} ${status}`,
  );
  return [...table, `  ${shown.length === 0 ? 'no more than the total' : 'the others'}: ${counts.join(', ')}`];
}

function differingParts(total: CompareCheck, parts: readonly CompareCheck[]): readonly CompareCheck[] {
  const isAlike = (part: CompareCheck): boolean =>
    part.status === 'skipped' ||
    (part.status === total.status &&
      (part.relative === null || total.relative === null || Math.abs(part.relative - total.relative) <= ASIDE));
  const unlike = parts.filter((part) => !isAlike(part));
  if (unlike.length === 0) return [];
  const odd = parts.filter((part) => isOdd(part) && part.status !== 'skipped');
  const change = ({ relative }: CompareCheck): number => Math.abs(relative ?? 0);
  const shown = odd.length > 0 ? odd : unlike.toSorted((a, b) => change(b) - change(a)).slice(0, 1);
  return shown.slice(0, PARTS_SHOWN);
}

/** Settings, then the allocator's, then the rest of the environment; values as the two sides spell them. */
function changedValues({ config, env }: CompareResult): [title: string, values: readonly ChangedValue[]][] {
  const isAllocators = ({ key }: ChangedValue): boolean => ALLOCATOR_VARIABLES.includes(key);
  return [
    ['settings that differ, golden → current', config],
    ['allocator settings that differ, golden → current', env.filter(isAllocators)],
    ['environment that differs, golden → current', env.filter((value) => !isAllocators(value))],
  ];
}
