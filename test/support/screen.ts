/** What every first screen keeps, whatever the run. */
import { expect } from 'vitest';
import type { AccountingPart, DiagnoseResult, VerdictResult as Verdict } from '../../src/model/results/common.js';
import { type DiagnosedTarget, diagnoseText, HEIGHT } from '../../src/report/start/diagnose-text.js';

const sum = (parts: readonly AccountingPart[]): number => parts.reduce((total, { bytes }) => total + bytes, 0);

/**
 * At most 21 lines of 100 columns, no number cut, verdict first, sums that add up as shown, and the handles of the
 * document.
 */
export function expectScreen(result: DiagnoseResult, target: DiagnosedTarget = {}): string {
  const text = diagnoseText(result, target);
  const lines = text.trimEnd().split('\n');
  expect(lines.length, text).toBeLessThanOrEqual(HEIGHT);
  expect(HEIGHT).toBeLessThanOrEqual(24);
  for (const line of lines) {
    expect(line.length, line).toBeLessThanOrEqual(100);
    expect(line, 'a figure that lost its unit').not.toMatch(/ \d+\.\d+ …/);
  }
  expect(text).not.toContain('\u001b');
  const [first] = result.verdicts;
  if (first === undefined) return text;
  expect(lines[1]).toMatch(/^VERDICT {2}/);
  const named = first.cause.replaceAll('_', ' ');
  if (!(first.cause === 'not_oom' && lines[1]!.includes('no OOM recorded in this file')))
    expect(lines[1]).toContain(named);
  const ids = new Set(first.evidence.map(({ id }) => id));
  // Handles are at the right edge; texts may end in anything, as does the name of the run in the first line.
  for (const line of lines.slice(1)) {
    const id = line.length === 100 ? / (E\d+)$/.exec(line)?.[1] : undefined;
    if (id !== undefined) expect(ids).toContain(id);
  }
  expectShownSums(lines);
  for (const command of first.commands) expect(command).toMatch(/^mbforensics [a-z]+/);
  expect(first.commands.length).toBeLessThanOrEqual(2);
  for (const verdict of result.verdicts) expectAccounts(verdict);
  return text;
}

/** `79.11 GiB = allocated 55.08 + … - rounding 0.01`, over one line or several. */
function expectShownSums(lines: readonly string[]): void {
  const text = lines.join('\n').replace(/\n {14}/g, ' ');
  for (const [, total, terms] of text.matchAll(/^ {2}(?:card|at peak) +(\d+\.\d\d) [KMG]iB = ([^\n(]*)/gm)) {
    const values = [...terms!.matchAll(/([+-]?) ?[a-zA-Z, ]+ (\d+\.\d\d)/g)].map(
      ([, sign, value]) => (sign === '-' ? -1 : 1) * Math.round(Number(value) * 100),
    );
    expect(values.length, terms).toBeGreaterThan(0);
    expect(
      values.reduce((a, b) => a + b, 0),
      text,
    ).toBe(Math.round(Number(total) * 100));
  }
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
