/** What every first screen keeps, whatever the run. */
import { expect } from 'vitest';
import { causeName } from '../../src/knowledge/words.js';
import type { AccountingPart, DiagnoseResult, VerdictResult as Verdict } from '../../src/model/results/common.js';
import { diagnoseText, HEIGHT } from '../../src/report/start/diagnose-text.js';
import type { DiagnosedTarget } from '../../src/report/start/diagnosis-parts.js';

const sum = (parts: readonly AccountingPart[]): number => parts.reduce((total, { bytes }) => total + bytes, 0);

/** At most 16 lines of 100 columns, no number cut, the verdict first, and a bar of memory that adds up as shown. */
export function expectScreen(result: DiagnoseResult, target: DiagnosedTarget = {}): string {
  const text = diagnoseText(result, target);
  const lines = text.trimEnd().split('\n');
  expect(lines.length, text).toBeLessThanOrEqual(HEIGHT);
  expect(HEIGHT).toBeLessThanOrEqual(16);
  for (const line of lines) {
    expect(line.length, line).toBeLessThanOrEqual(100);
    // A long word behind it may begin with the same sign.
    expect(line, 'a figure that lost its unit').not.toMatch(/ \d+\.\d+ …$/);
  }
  expect(text).not.toContain('\u001b');
  expect(lines[1]).toMatch(/^(?:VERDICT|STATE {2}) {2}/);
  const [first] = result.verdicts;
  if (first === undefined) return text;
  const named = causeName(first.cause);
  if (lines[1]!.startsWith('STATE')) {
    expect(text).not.toMatch(/undecided|\n(?:FIX|UNKNOWN) /);
    expect(['not_oom', 'undecided']).toContain(first.cause);
  } else if (!(first.cause === 'not_oom' && lines[1]!.includes('no OOM recorded in this file')))
    expect(lines[1]).toContain(named);
  expectShownSum(lines);
  for (const command of first.commands) expect(command).toMatch(/^mbforensics [a-z]+/);
  expect(first.commands.length).toBeLessThanOrEqual(3);
  for (const verdict of result.verdicts) expectAccounts(verdict);
  return text;
}

/** `[███▒▒·] 79.11 GiB`, then `█ allocated 55.08 + …`, over one line or several. */
function expectShownSum(lines: readonly string[]): void {
  const first = lines.findIndex((line) => line.startsWith('MEMORY'));
  if (first < 0 || lines[first]!.startsWith('MEMORY   peak ')) return;
  const [, bar, total] = /^MEMORY +\[(.*)\] (\d+\.\d\d) [KMG]iB/.exec(lines[first]!)!;
  const following = lines.slice(first + 1);
  const end = following.findIndex((line) => /^\S/.test(line));
  const legend = (end < 0 ? following : following.slice(0, end)).map((line) => line.trim()).join(' ');
  const terms = [...legend.matchAll(/(?:^|([+-]) )(?:([^\w\s]) )?[a-zA-Z, ]+ (\d+\.\d\d)/g)];
  const hundredths = (text: string): number => Math.round(Number(text) * 100);
  const sum = terms.reduce((all, [, sign, , value]) => all + (sign === '-' ? -1 : 1) * hundredths(value!), 0);
  expect(sum, lines.join('\n')).toBe(hundredths(total!));
  // Each character of the bar is in the legend.
  expect(new Set(bar)).toEqual(new Set(terms.map(([, , fill]) => fill).filter((fill) => fill !== undefined)));
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
