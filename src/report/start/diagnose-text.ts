/**
 * The first screen, for an engineer who has ten seconds: VERDICT, FIX, WHY, MEMORY, SITES, UNKNOWN, NEXT. At most
 * {@link HEIGHT} lines; `--full` adds all evidence below it (`evidence-text.ts`).
 */
import { maxOf, pushAll } from '../../model/lists.js';
import type { DiagnoseResult, VerdictResult as Verdict } from '../../model/results/common.js';
import { keepEnd, wrap } from '../plain-text.js';
import { bold, cyan, green, red, screen, yellow } from '../screen.js';
import { clip, tidy } from '../screen-lines.js';
import { accountBar } from './account-text.js';
import {
  type DiagnosedTarget,
  failedTexts,
  fixParts,
  headline,
  nothingFound,
  nothingFoundSteps,
  otherTexts,
  reasons,
  shownAccount,
  shownSites,
  unknownTexts,
  verdictTitle,
  withTarget,
} from './diagnosis-parts.js';
import { evidenceLines } from './evidence-text.js';

/** Lines of the first screen. */
export const HEIGHT = 16;
const LABEL = 9;
const bodyWidth = (): number => screen.width - LABEL;

interface Section {
  readonly label: string;
  readonly lines: readonly string[];
  /** Lines that stay when the screen is full. */
  readonly least: number;
  readonly style?: ((line: string, i: number) => string) | undefined;
}

/** Sections in the order in which they lose a line when the screen is full. */
const GIVE_WAY = ['NEXT', 'UNKNOWN', 'WHY', 'FIX', 'OTHERS', 'VERDICT', 'NOT READ', 'MEMORY', 'SITES'];

export function diagnoseText(result: DiagnoseResult, target: DiagnosedTarget = {}): string {
  const [first, ...others] = result.verdicts;
  const sections = first === undefined ? emptySections(result, target) : sectionsOf(first, others, result, target);
  const head = clip(wrap(headline(first, result), screen.width), 1, screen.width);
  const lines = [bold(head[0]!), ...fitted(sections, HEIGHT - 1)];
  if (target.full === true && first !== undefined) pushAll(lines, ['', ...evidenceLines(first, others, result)]);
  return `${lines.join('\n')}\n`;
}

/** Drops lines of sections in the order of {@link GIVE_WAY} until `most` are left. */
function fitted(sections: readonly Section[], most: number): string[] {
  const counts = sections.map(({ lines }) => lines.length);
  let spare = most - counts.reduce((sum, count) => sum + count, 0);
  for (const label of GIVE_WAY) {
    if (spare >= 0) break;
    sections.forEach((section, i) => {
      while (section.label === label && spare < 0 && counts[i]! > section.least) {
        counts[i]! -= 1;
        spare += 1;
      }
    });
  }
  return sections.flatMap(({ label, lines, style = (line) => line }, s) =>
    cut(label, lines, counts[s]!).map((line, i) =>
      `${i === 0 ? bold(label.padEnd(LABEL)) : ' '.repeat(LABEL)}${style(line, i)}`.trimEnd(),
    ),
  );
}

/** Commands are left out whole. */
function cut(label: string, lines: readonly string[], count: number): readonly string[] {
  return label === 'NEXT' || count === 0 ? lines.slice(0, count) : clip(lines, count, bodyWidth());
}

function section(label: string, texts: readonly string[], least = 0, style?: Section['style']): Section {
  return { label, lines: texts.flatMap((text) => wrap(tidy(text), bodyWidth())), least, style };
}

function emptySections(result: DiagnoseResult, target: DiagnosedTarget): Section[] {
  return [
    section('VERDICT', [nothingFound(result)], 1),
    section('NOT READ', failedTexts(result), 1),
    section('NEXT', nothingFoundSteps(result, target), 2),
  ];
}

function sectionsOf(
  first: Verdict,
  others: readonly Verdict[],
  result: DiagnoseResult,
  target: DiagnosedTarget,
): Section[] {
  const { pasted, texts } = fixParts(first, result);
  const tone = toneOf(first);
  return [
    section('VERDICT', [verdictTitle(first), first.summary], 2, (line, i) => (i === 0 ? bold(tone(line)) : line)),
    section('FIX', [...pasted, ...texts], pasted.length + 1, (line, i) => (i < pasted.length ? cyan(line) : line)),
    section('WHY', reasons(first), 2),
    memorySection(first),
    sitesSection(first),
    section('OTHERS', otherTexts(others, first, result), 0),
    section('UNKNOWN', unknownTexts(first), first.cause === 'undecided' ? 2 : 1),
    section('NOT READ', failedTexts(result), 1),
    nextSection(first, target),
  ];
}

function toneOf({ cause }: Verdict): (text: string) => string {
  return cause === 'not_oom' ? green : cause === 'undecided' ? yellow : red;
}

function memorySection(verdict: Verdict): Section {
  const account = shownAccount(verdict);
  if (account === null) return section('MEMORY', []);
  const { total, parts, when, caveat } = account;
  const { bar, legend } = accountBar(total, parts, bodyWidth() - when.length);
  return { label: 'MEMORY', lines: [`${bar}${when}`, ...wrap(`${legend}${caveat}`, bodyWidth())], least: 2 };
}

function sitesSection(verdict: Verdict): Section {
  const sites = shownSites(verdict);
  const width = Math.max(0, maxOf(sites.map(({ size }) => size.length)));
  const lines = sites.map(({ size, name, blocks }) => {
    const left = bodyWidth() - width - blocks.length - 6;
    return `${size.padStart(width)}  ${keepEnd(name, left)}  (${blocks})`;
  });
  return { label: 'SITES', lines, least: 1 };
}

function nextSection({ commands }: Verdict, target: DiagnosedTarget): Section {
  if (target.operands?.includes('-') === true)
    return section(
      'NEXT',
      ['save the text as a file, and name it with the snapshot: mbforensics train.log snapshot.pickle'],
      1,
    );
  const full = commands.map((command) => withTarget(command, target));
  const line = full.join('  ·  ');
  if (full.length > 0 && line.length <= bodyWidth()) return section('NEXT', [line], 1);
  const fits = (text: string): boolean =>
    text.length <= bodyWidth() && text.split(' ').every((word) => word.length <= 64);
  if (full.length > 0 && full.every(fits)) return { label: 'NEXT', lines: full, least: 1 };
  // A path too long for a line would be cut, and could not be pasted.
  const short = commands.map((command) => (command.includes('/snapshot#') ? command : `${command} PATH`));
  return section('NEXT', short.length === 0 ? [] : [`${short.join('  ·  ')}  (PATH: as given here)`], 1);
}
