/** `formats` and `formats explain`, as processes. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import type { ExplainResult, FormatsResult } from '../../src/model/results/format.js';
import { buildCli } from '../support/cli.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const cli = buildCli();
const directory = temporaryDirectory();

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
    const { formats, files, scalars } = cli.expect(0, ['formats', '--json']).json<FormatsResult>();
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
    const text = cli.expect(0, ['formats']).stdout;
    expect(text).toContain('megatron-lm.iteration');
    expect(text).toContain(`${formats.length} formats`);
  });

  it('explains a file: its formats with counts, and the unread figures', () => {
    const file = join(directory, 'train.log');
    writeFileSync(file, LOG);
    const result = cli.expect(0, ['formats', 'explain', file, '--json']).json<ExplainResult>();
    expect(result).toMatchObject({ lines: 5, matched_lines: 2 });
    expect(result.formats).toMatchObject([{ id: 'megatron-lm.memory', count: 2, rows: 8, first_line: 1 }]);
    expect(result.messages).toMatchObject([{ count: 1, first_line: 5 }]);
    expect(result.unmatched).toMatchObject([{ topic: 'memory', count: 2, line: 2 }]);
    const text = cli.expect(0, ['formats', 'explain', file]).stdout;
    expect(text).toContain('frobnicator');
    expect(text).not.toContain('nothing of interest');
    writeFileSync(`${file}.gz`, gzipSync(LOG));
    expect(cli.expect(0, ['formats', 'explain', `${file}.gz`, '--json']).json<ExplainResult>().formats).toEqual(
      result.formats,
    );
  });

  it('counts what it does not list', () => {
    const file = join(directory, 'many.log');
    writeFileSync(
      file,
      Array.from({ length: 26 }, (_, i) => `${String.fromCharCode(97 + i).repeat(3)} used 5 GiB`).join('\n'),
    );
    const result = cli.expect(0, ['formats', 'explain', file, '--json', '--limit', '20']).json<ExplainResult>();
    expect(result.unmatched.length).toBe(20);
    expect(result.unmatched_others).toEqual({ shapes: 6, lines: 6 });
    expect(
      cli.expect(0, ['formats', 'explain', file, '--json', '--limit', '0']).json<ExplainResult>().unmatched.length,
    ).toBe(26);
  });

  it('names a file that is not there', () => {
    const answer = cli.expect(2, ['formats', 'explain', join(directory, 'none.log')]);
    expect(answer.stderr).toMatch(/MBF\d{4}.*none\.log/);
  });
});
