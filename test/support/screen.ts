/** What every first screen keeps, whatever the run. */
import { expect } from 'vitest';
import type { AccountingPart, DiagnoseResult, VerdictResult as Verdict } from '../../src/model/results/common.js';
import { documentMarkdown } from '../../src/report/render/markdown.js';
import { documentText } from '../../src/report/render/text.js';
import { screen } from '../../src/report/screen.js';
import { diagnoseDocument } from '../../src/report/start/diagnose-document.js';
import type { DiagnosedTarget } from '../../src/report/start/diagnosis-parts.js';
import { causeName } from '../../src/report/words/fill.js';

const sum = (parts: readonly AccountingPart[]): number => parts.reduce((total, { bytes }) => total + bytes, 0);

export const diagnoseText = (result: DiagnoseResult, target: DiagnosedTarget = {}): string =>
  documentText(diagnoseDocument(result, target));
export const diagnoseMarkdown = (result: DiagnoseResult): string =>
  documentMarkdown(diagnoseDocument(result, { full: true }));

/** At most 16 lines, on narrow screens too, nothing cut, the verdict first, and a bar of memory that adds up. */
export function expectScreen(result: DiagnoseResult, target: DiagnosedTarget = {}): string {
  const [text = ''] = [100, 80, 60].map((width) => within(width, result, target));
  const lines = text.trimEnd().split('\n');
  expect(text).not.toContain('\u001b');
  // A long headline takes two lines.
  const answer = lines.slice(1, 5).findIndex((line) => /^(?:VERDICT|STATE {2}) {2}/.test(line));
  const title = lines.slice(1 + answer, 3 + answer).join(' ');
  expect(answer, text).toBeGreaterThanOrEqual(0);
  const [first] = result.verdicts;
  if (first === undefined) return text;
  const named = causeName(first.cause);
  if (title.startsWith('STATE')) {
    expect(text).not.toMatch(/undecided|\n(?:FIX|UNKNOWN) /);
    expect(['not_oom', 'undecided']).toContain(first.cause);
  } else if (!(first.cause === 'not_oom' && title.includes('no OOM recorded in this file')))
    expect(title).toContain(named);
  expectBar(result, target, lines);
  for (const command of first.commands) expect(command).toMatch(/^mbforensics [a-z]+/);
  expect(first.commands.length).toBeLessThanOrEqual(3);
  for (const verdict of result.verdicts) expectAccounts(verdict);
  return text;
}

function within(width: number, result: DiagnoseResult, target: DiagnosedTarget): string {
  const before = screen.width;
  screen.width = width;
  try {
    const text = diagnoseText(result, target);
    const lines = text.trimEnd().split('\n');
    expect(lines.length, text).toBeLessThanOrEqual(16);
    for (const line of lines) {
      // A line to paste stays one line.
      if (!isPasted(line, result, target)) expect(line.length, line).toBeLessThanOrEqual(width);
      expect(line, 'a number or a name is cut').not.toMatch(/\d…(?! \()|…[/\w]/);
    }
    return text;
  } finally {
    screen.width = before;
  }
}

const isPasted = (line: string, result: DiagnoseResult, target: DiagnosedTarget): boolean =>
  diagnoseDocument(result, target).parts.some(
    (part) =>
      part.type === 'section' &&
      part.parts.some((inner) => inner.type === 'lines' && inner.lines.some((one) => line.endsWith(one.trimEnd()))),
  );

/** Its parts add up to the total, but for what the printed digits of a message hide; each sign is in the legend. */
function expectBar(result: DiagnoseResult, target: DiagnosedTarget, lines: readonly string[]): void {
  const bars = diagnoseDocument(result, target).parts.flatMap((part) =>
    part.type === 'section' ? part.parts.filter((inner) => inner.type === 'bar') : [],
  );
  for (const { total, parts } of bars) {
    const shown = parts.reduce((all, { bytes }) => all + bytes, 0);
    expect(Math.abs(total - shown)).toBeLessThanOrEqual(0.06 * 1024 ** 3);
  }
  const first = lines.findIndex((line) => line.startsWith('MEMORY   ['));
  if (first < 0) return;
  const [, bar] = /^MEMORY +\[(.*)\] \d+(?:\.\d\d [KMGT]iB| B)/.exec(lines[first]!)!;
  const legend = lines.slice(first + 1).join(' ');
  for (const sign of new Set(bar)) expect(legend).toContain(`${sign} `);
}

/** Parts, shares of parts and peaks add up to the byte, and every number has a source. */
export function expectAccounts(verdict: Verdict): void {
  expect(sum(verdict.accounting)).toBe(verdict.accounting_total?.bytes ?? 0);
  expect(verdict.accounting_from === null).toBe(verdict.accounting_total === null);
  const { accounting_peak: peak } = verdict;
  if (peak !== null) expect(sum(peak.parts)).toBe(peak.total.bytes);
  for (const part of [...verdict.accounting, ...(peak?.parts ?? [])]) {
    expect(Number.isInteger(part.bytes) && part.bytes !== 0, part.part).toBe(true);
    expect(part.source, part.part).not.toBe('');
    if (part.of !== undefined) {
      expect(sum(part.of)).toBe(part.bytes);
      expect(part.of.every(({ source }) => source !== '')).toBe(true);
    }
  }
}
