/**
 * The first screen, for an engineer who has ten seconds: VERDICT, FIX, WHY, MEMORY, SITES, UNKNOWN, NEXT. At most
 * {@link HEIGHT} lines; `--full` adds all evidence below it (`evidence-text.ts`).
 */

import { maxOf, pushAll } from '../../model/lists.js';
import type { DiagnoseResult, VerdictResult as Verdict } from '../../model/results/common.js';
import { keepEnd, printable, wrap } from '../plain-text.js';
import { bold, cyan, green, red, screen, yellow } from '../screen.js';
import { clip, LONGEST_WORD, tidy } from '../screen-lines.js';
import { wrapped } from '../text-pieces.js';
import { accountBar } from './account-text.js';
import {
  answerOf,
  type DiagnosedTarget,
  failedTexts,
  fixParts,
  headline,
  isMessageAlone,
  nothingFound,
  nothingFoundSteps,
  otherTexts,
  reasons,
  shownAccount,
  shownRun,
  shownSites,
  unknownTexts,
  withTarget,
} from './diagnosis-parts.js';
import { evidenceLines } from './evidence-text.js';
import { isRunAnswer } from './run-state-text.js';

/** Lines of the first screen, and of that of a message alone. */
export const HEIGHT = 16;
const MESSAGE_HEIGHT = 10;
/** More, where a traceback shows what was being allocated, and where figures of the message are left out. */
const SITE_HEIGHT = 2;
const LEFT_OUT_HEIGHT = 1;
/** Narrower screens need more lines for the same. */
const MESSAGE_WIDTH = 100;
const LABEL = 9;
const bodyWidth = (): number => screen.width - LABEL;

interface Section {
  readonly label: string;
  readonly items: readonly Item[];
  /** Items that stay as long as they can. */
  readonly least: number;
  readonly style?: ((line: string, item: number) => string) | undefined;
}

interface Item {
  readonly lines: readonly string[];
  /** Prose may lose its last lines at the very end; commands and figures are shown whole or not at all. */
  readonly isProse: boolean;
}

/** Sections in the order in which they lose an item when the screen is full. */
const GIVE_WAY = [
  'NEXT',
  'UNKNOWN',
  'WHY',
  'SITES',
  'FIX',
  'STEP',
  'GROWTH',
  'OTHERS',
  'VERDICT',
  'STATE',
  'NOT READ',
  'MEMORY',
];

export function diagnoseText(result: DiagnoseResult, target: DiagnosedTarget = {}): string {
  const [first, ...others] = result.verdicts;
  const sections = first === undefined ? emptySections(result, target) : sectionsOf(first, others, result, target);
  const head = clip(wrapped(headline(first, result), ''), 1, screen.width);
  const isShort = first !== undefined && isMessageAlone(first, result) && screen.width >= MESSAGE_WIDTH;
  const hasSite = first?.evidence.some(({ about }) => about === 'site') === true;
  const leavesOut = first?.evidence.some(({ kind }) => kind === 'impossible_figures') === true;
  const ofMessage = MESSAGE_HEIGHT + (hasSite ? SITE_HEIGHT : 0) + (leavesOut ? LEFT_OUT_HEIGHT : 0);
  const height = isShort ? ofMessage : HEIGHT;
  const lines = [bold(head[0]!), ...fitted(sections, height - 1)];
  if (target.full === true && first !== undefined) pushAll(lines, ['', ...evidenceLines(first, others, result)]);
  return `${lines.join('\n')}\n`;
}

/**
 * Drops whole items of sections in the order of {@link GIVE_WAY} until `most` lines are left; if all items that should
 * stay are too many, the last lines of prose; at last the items themselves.
 */
function fitted(sections: readonly Section[], most: number): string[] {
  const shown = sections.map(({ items }) => items.map(({ lines }) => lines.length));
  const height = (): number => shown.reduce((sum, items) => sum + items.reduce((a, b) => a + b, 0), 0);
  const giveWay = (loseLine: (section: Section, lines: number[]) => boolean): void => {
    for (const label of GIVE_WAY)
      for (const [i, section] of sections.entries())
        while (section.label === label && height() > most && loseLine(section, shown[i]!));
  };
  giveWay(({ least }, lines) => lines.length > least && lines.pop() !== undefined);
  giveWay(({ items }, lines) => {
    const longest = lines.reduce((best, count, i) => (items[i]!.isProse && count > (lines[best] ?? 1) ? i : best), -1);
    if (longest >= 0) lines[longest]! -= 1;
    return longest >= 0;
  });
  giveWay(({ label }, lines) => label !== 'VERDICT' && label !== 'STATE' && lines.pop() !== undefined);
  return sections.flatMap(({ label, items, style = (line) => line }, s) =>
    shown[s]!.flatMap((count, i) => clip(items[i]!.lines, count, bodyWidth()).map((line) => ({ line, item: i }))).map(
      ({ line, item }, i) => `${i === 0 ? bold(label.padEnd(LABEL)) : ' '.repeat(LABEL)}${style(line, item)}`.trimEnd(),
    ),
  );
}

function section(label: string, texts: readonly string[], least = 0, style?: Section['style']): Section {
  return { label, items: texts.map(itemOf), least, style };
}

function itemOf(text: string): Item {
  return { lines: wrapSizes(tidy(text)), isProse: !text.includes('mbforensics ') };
}

/** A number and its unit stay on one line. */
function wrapSizes(text: string): string[] {
  const kept = text.replaceAll(/(\d) (?=(?:[KMGT]iB|bytes|ms|%)(?![a-z]))/g, '$1\u00a0');
  return wrap(kept, bodyWidth()).map((line) => line.replaceAll('\u00a0', ' '));
}

/** On one line each, as they are to be pasted. */
const unbroken = (lines: readonly string[]): Item[] => lines.map((line) => ({ lines: [line], isProse: false }));

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
  const { pasted, texts, isEnough = true } = fixParts(first, result);
  const { label, texts: answer } = answerOf(first, result);
  const tone = toneOf(first, result);
  const fits = pasted.every((line) => line.length <= bodyWidth());
  return [
    section(label, answer, answer.length, (line, item) => (item === 0 ? bold(tone(line)) : line)),
    {
      label: 'FIX',
      items: [...(fits ? unbroken(pasted.map(printable)) : pasted.map(itemOf)), ...texts.map(itemOf)],
      // With what it saves and costs; where it may not be enough, with what follows.
      least: pasted.length + (isEnough ? Math.min(1, texts.length) : texts.length),
      style: (line, item) => (item < pasted.length ? cyan(line) : line),
    },
    section('WHY', isRunAnswer(first, result) ? [] : reasons(first), 2),
    memorySection(first),
    ...runSections(first, result),
    sitesSection(first),
    section('OTHERS', otherTexts(others, first, result), result.launch_ooms.length > 0 ? 1 : 0),
    section(
      'UNKNOWN',
      unknownTexts(first, result),
      first.cause === 'undecided' && !isMessageAlone(first, result) ? 2 : 1,
    ),
    section('NOT READ', failedTexts(result), 1),
    // What was pasted is at hand: its figures go before commands.
    { ...nextSection(first, target), least: isMessageAlone(first, result) ? 0 : 1 },
  ];
}

/** Of a run that an OOM did not end. */
function runSections(first: Verdict, result: DiagnoseResult): Section[] {
  return shownRun(first, result).map(({ label, text }) => section(label, [text], label === 'MEMORY' ? 1 : 0));
}

function toneOf(verdict: Verdict, result: DiagnoseResult): (text: string) => string {
  const { cause } = verdict;
  if (result.run_state?.state === 'running_or_cut' && isRunAnswer(verdict, result)) return (text) => text;
  return cause === 'not_oom' ? green : cause === 'undecided' ? yellow : red;
}

function memorySection(verdict: Verdict): Section {
  const account = shownAccount(verdict);
  if (account === null) return section('MEMORY', []);
  const { total, parts, when, caveat } = account;
  const { bar, legend } = accountBar(total, parts, bodyWidth() - when.length);
  const lines = [`${bar}${when}`, ...wrapSizes(`${legend}${caveat}`)];
  return { label: 'MEMORY', items: [{ lines, isProse: false }], least: 1 };
}

function sitesSection(verdict: Verdict): Section {
  const sites = shownSites(verdict);
  const width = Math.max(0, maxOf(sites.map(({ size }) => size.length)));
  const lines = sites.map(({ size, name, blocks }) => {
    const left = bodyWidth() - width - blocks.length - 6;
    return `${size.padStart(width)}  ${keepEnd(name, left)}  (${blocks})`;
  });
  return { label: 'SITES', items: unbroken(lines), least: Math.min(2, lines.length) };
}

/** Commands are shown whole, or not at all. */
function nextSection({ commands }: Verdict, target: DiagnosedTarget): Section {
  const next = (lines: readonly string[]): Section => ({
    label: 'NEXT',
    items: unbroken(lines.filter((line) => line.length <= bodyWidth())),
    least: 1,
  });
  if (target.operands?.includes('-') === true)
    return next(['save the text as a file; with a snapshot: mbforensics train.log snapshot.pickle']);
  const full = commands.map((command) => withTarget(command, target));
  const line = full.join('  ·  ');
  if (line.length <= bodyWidth()) return next(line === '' ? [] : [line]);
  const fits = (text: string): boolean =>
    text.length <= bodyWidth() && text.split(' ').every((word) => word.length <= LONGEST_WORD);
  if (full.every(fits)) return next(full);
  // With a path too long for a line.
  const short = commands.map((command) => (command.includes('/snapshot#') ? command : `${command} PATH`));
  const together = `${short.join('  ·  ')}  (PATH: as given here)`;
  return next(together.length <= bodyWidth() ? [together] : short);
}
