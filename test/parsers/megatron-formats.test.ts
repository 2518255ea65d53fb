import { describe, expect, it } from 'vitest';
import { applyLine } from '../../parsers/log/formats/apply.js';
import type { LineFormat } from '../../parsers/log/formats/contract.js';
import { MEGATRON_FAMILY } from '../../parsers/log/formats/index.js';
import type { LogFinding } from '../../src/model/log-rows.js';
import { samplesOf } from '../support/log-samples.js';

const lines = MEGATRON_FAMILY.filter((format): format is LineFormat => format.form === 'line');
const byId = (id: string): LineFormat => {
  const format = lines.find((candidate) => candidate.id === id);
  if (format === undefined) throw new Error(`no format ${id}`);
  return format;
};
const read = (format: LineFormat, text: string): LogFinding[] => {
  const rows: LogFinding[] = [];
  applyLine(format, text, (row) => rows.push(row));
  return rows;
};

describe('records that a terminal cut', () => {
  const ITERATIONS = ['megatron-lm.iteration', 'megatron-deepspeed.iteration-keys'];
  const RECORDS = ITERATIONS.flatMap((id) =>
    samplesOf(byId(id)).flatMap(({ lines: [text = ''], rows }) =>
      rows.length === 1 && text.endsWith('|') ? [[id, text] as const] : [],
    ),
  );

  it.each(RECORDS)('%s: every cut behind its head shows, and the pieces make the record: %s', (id, text) => {
    const format = byId(id);
    const head = text.indexOf('|', text.indexOf('iteration')) + 1;
    for (let at = head + 1; at < text.length; at += 1) {
      const start = text.slice(0, at);
      // A cut exactly behind a bar cannot be seen.
      expect(format.cutAtEnd?.(start), start).toBe(!start.trimEnd().endsWith('|'));
      expect(read(format, start + text.slice(at))).toEqual(read(format, text));
    }
    expect(format.cutAtEnd?.(text)).toBe(false);
  });

  it.each(RECORDS)('%s: a cut record yields no figure of the field that was cut: %s', (id, text) => {
    const format = byId(id);
    const complete = read(format, text)[0] as Readonly<Record<string, unknown>> | undefined;
    for (let at = text.indexOf('|', text.indexOf('iteration')) + 1; at < text.length; at += 1) {
      const row = read(format, text.slice(0, at))[0] as Readonly<Record<string, unknown>> | undefined;
      for (const [name, value] of Object.entries(row ?? {})) {
        if (name !== 'others' && value !== undefined)
          expect(value, `${name} of ${text.slice(0, at)}`).toEqual(complete?.[name]);
      }
    }
  });

  it('a blank lost at the edge does not lose the column', () => {
    const rows = read(
      byId('megatron-lm.iteration'),
      ' iteration        7/      70 | elapsed time per iteration (ms): 12.5 | number of skipped iterations:   0 | number of naniterations:   3 |',
    );
    expect(rows).toMatchObject([{ iteration: 7, stepMs: 12.5, skippedIterations: 0, nanIterations: 3 }]);
  });

  it('a memory line that stops before its last figure is cut; a whole one is not', () => {
    const memory = byId('megatron-lm.memory');
    const complete = '[Rank 3] (after 2 iterations) memory (MB) | allocated: 10.5 | max reserved: 20.0';
    expect(memory.cutAtEnd?.(complete)).toBe(false);
    expect(memory.cutAtEnd?.(`${complete}[Rank 4] (after 2 iterations) memory (MB) | allocated: 1.0`)).toBe(false);
    for (const cut of [' max reserved: 20.0', ' reserved: 20.0', ': 20.0', '20.0', '0']) {
      expect(memory.cutAtEnd?.(complete.slice(0, -cut.length)), cut).toBe(true);
    }
  });
});

describe('what is glued to a record', () => {
  it.each([
    '[Rank 2] (after 1 iterations) memory (MB) | allocated: 1.0 | max reserved: 2.0',
    '[before the start of training step] datetime: 2026-02-03 04:05:06 ',
    'time (ms) | forward-compute: 12.50',
  ])('does not change an iteration: %s', (glued) => {
    const format = byId('megatron-lm.iteration');
    const text = ' iteration        1/      50 | elapsed time per iteration (ms): 900.1 | lm loss: 1.2E+01 |';
    expect(read(format, text + glued)).toEqual(read(format, text));
  });
});
