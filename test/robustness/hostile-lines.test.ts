import { expect, it, vi } from 'vitest';
import { HOSTILE_LINES } from '../../bench/hostile-lines.js';
import { LiteralScanner } from '../../parsers/log/literal-scanner.js';
import { readLogBytes } from '../../parsers/log/read-log.js';

function incidentsIn(text: string): number {
  let count = 0;
  readLogBytes(Buffer.from(text), {
    incident() {
      count += 1;
    },
    note() {},
  });
  return count;
}

it('lines of Killed are not scanned once more for each of them', () => {
  const next = vi.spyOn(LiteralScanner.prototype, 'next');
  try {
    expect(incidentsIn(`a\n${'Killed\n'.repeat(2000)}`)).toBe(2000);
    expect(next.mock.calls.length).toBeLessThan(20);
  } finally {
    next.mockRestore();
  }
});

it('only the failures among hostile lines are kept', () => {
  const withFailures = Object.entries(HOSTILE_LINES)
    .filter(([, unit]) => incidentsIn(unit.repeat(Math.ceil(20_000 / unit.length))) > 0)
    .map(([name]) => name);
  expect(withFailures).toEqual([
    'CUDA out of memory, \\r',
    'failure lines',
    'failure lines of 512 ranks',
    'tracebacks',
    'lines of Killed',
  ]);
});
