/** `explain formats`, without and with a file, as processes. */
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import type { ExplainResult, FormatsResult } from '../../src/model/results/format.js';
import { asker } from '../support/ask.js';

const { text, json, refuse, put } = asker();
const explain = (...args: string[]) => json<ExplainResult>('explain', 'formats', ...args);

const LOG = [
  '0: [Rank 0] (after 2 iterations) memory (MB) | allocated: 100.5 | max allocated: 200.5 | reserved: 300.0 | max reserved: 300.0[Rank 1] (after 2 iterations) memory (MB) | allocated: 100.5 | max allocated: 200.5 | reserved: 300.0 | max reserved: 300.0',
  '0: the frobnicator used 12 GiB in 3 ms',
  '0: the frobnicator used 13 GiB in 4 ms',
  '0: nothing of interest',
  '0: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.',
  '',
].join('\n');

describe('formats', () => {
  it('lists every format with its source and a sample', () => {
    const { formats, files, scalars } = json<FormatsResult>('explain', 'formats');
    expect(files.map(({ id }) => id)).toEqual(PARSERS.map(({ id }) => id));
    expect(scalars.length).toBeGreaterThan(10);
    for (const { producer, source, versions, names } of scalars) {
      expect(`${source} ${versions}`, producer).toMatch(/\w/);
      for (const { name, becomes } of names) expect(`${name}: ${becomes}`, producer).toMatch(/.: \w/);
    }
    expect(formats.length).toBeGreaterThan(150);
    expect(new Set(formats.map(({ id }) => id)).size).toBe(formats.length);
    for (const { id, source, versions, sample, anchors } of formats) {
      expect(source, id).not.toBe('');
      expect(versions, id).not.toBe('');
      expect(sample, id).not.toBe('');
      expect(anchors.length, id).toBeGreaterThan(0);
    }
    const list = text('explain', 'formats');
    expect(list).toContain('megatron-lm.iteration');
    expect(list).toContain(`${formats.length} formats`);
  });

  it('explains a file: its formats with counts, and the unread figures', () => {
    const result = explain(put('train.log', LOG));
    expect(result).toMatchObject({ lines: 5, matched_lines: 2 });
    expect(result.formats).toMatchObject([{ id: 'megatron-lm.memory', count: 2, rows: 8, first_line: 1 }]);
    expect(result.messages).toMatchObject([{ count: 1, first_line: 5 }]);
    expect(result.unmatched).toMatchObject([{ topic: 'memory', count: 2, line: 2 }]);
    const screen = text('explain', 'formats', 'train.log');
    expect(screen).toContain('frobnicator');
    expect(screen).not.toContain('nothing of interest');
    expect(explain(put('train.log.gz', gzipSync(LOG))).formats).toEqual(result.formats);
  });

  it('counts what it does not list', () => {
    const lines = Array.from({ length: 26 }, (_, i) => `${String.fromCharCode(97 + i).repeat(3)} used 5 GiB`);
    const file = put('many.log', lines.join('\n'));
    const result = explain(file, '--limit', '20');
    expect(result.unmatched.length).toBe(20);
    expect(result.unmatched_others).toEqual({ shapes: 6, lines: 6 });
    expect(explain(file, '--limit', '0').unmatched.length).toBe(26);
  });

  it('names a file that is not there', () => {
    expect(refuse(2, 'explain', 'formats', 'none.log')).toMatch(/MBF\d{4}.*none\.log/);
  });
});
