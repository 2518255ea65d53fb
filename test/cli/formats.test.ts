/** `explain formats`, without and with a file, and formats of a user, as processes. */
import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { VERB_HELP } from '../../src/cli/verb-help.js';
import type { IngestResult } from '../../src/model/results/common.js';
import type { FormatsExplainResult, FormatsResult } from '../../src/model/results/format.js';
import { asker } from '../support/ask.js';

const { cli, options, text, json, refuse, put } = asker();
const explain = (...args: string[]) => json<FormatsExplainResult>('explain', 'formats', ...args);

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

describe('formats of a user', () => {
  const BLOCK = `  - id: ours.table
    anchors: ['memory of stages']
    opens: 'memory of stages, iteration (?<it>\\d{1,9})'
    sample: ['memory of stages, iteration 7', 'stage 0: 12.50', end of stages]
    lines:
      - { match: end of stages, then: last }
      - match: 'stage (?<stage>\\d{1,4}): (?<gib>[\\d.]{1,9})'
        rows: [{ value: 'stage.{stage}', of: gib, means: GiB, iteration: it }]
`;
  // The example of the help.
  const [example = ''] = /^ {2}formats:\n(?: {2}.*\n)+/m.exec(VERB_HELP['formats']!.notes!) ?? [];
  const FORMATS = example.replaceAll(/^ {2}/gm, '') + BLOCK;
  const LINES = Array.from(
    { length: 120 },
    (_, i) => `step summary: it=${i + 1} sec=0.5 loss=2.${i} peak=${60 + i / 10}GiB`,
  );
  const OWN_LOG = [...LINES, 'memory of stages, iteration 120', 'stage 0: 12.50', 'stage 3: 9.25', 'end of stages', ''];
  const ofIterations = (...args: readonly string[]) =>
    json<{ readonly summary: { readonly count: number } }>('log', 'iterations', ...args).summary.count;

  it('read lines by path, in a thread, and by MBF_FORMATS; other formats make another store', () => {
    const [own, formats] = [put('own.log', OWN_LOG.join('\n')), put('ours.yaml', FORMATS)];
    expect(ofIterations(own)).toBe(0);
    expect(ofIterations(own, '--formats', formats)).toBe(120);
    const result = explain(own, '--formats', formats);
    expect(result.formats).toMatchObject([
      { id: 'ours.step', count: 120, rows: 240 },
      { id: 'ours.table', count: 3, rows: 2 },
    ]);
    expect(json<FormatsResult>('explain', 'formats', '--formats', formats).formats[0]).toMatchObject({
      id: 'ours.step',
      sample: expect.stringContaining('step summary: it=12'),
    });
    const env = { ...options.env, MBF_FORMATS: formats };
    const withEnv = (...args: readonly string[]) => cli.expect(0, args, { ...options, env }).stdout;
    expect(withEnv('log', 'iterations', own)).toContain('500.0');
    expect(withEnv('explain', 'formats', own)).toContain('ours.step');
    // A line that a format of the user reads is not read by the built-in ones.
    const both = put(
      'both.log',
      ' iteration 5/ 100 | elapsed time per iteration (ms): 812.5 | step summary: it=6 sec=0.5 loss=2 peak=60GiB\n',
    );
    expect(explain(both, '--formats', formats).formats).toMatchObject([{ id: 'ours.step', count: 1 }]);
    // Compressed files of this size are decoded by a thread.
    const noise = randomBytes(1_200_000).toString('base64').replaceAll(/.{80}/g, '$&\n');
    put('large.log.gz', gzipSync(`${noise}\n${OWN_LOG.join('\n')}`));
    expect(ofIterations('large.log.gz', '--formats', formats)).toBe(120);
  });

  it('are kept by a store: unchanged logs are read again with others', () => {
    const [own, formats] = [put('kept/own.log', OWN_LOG.join('\n')), put('ours.yaml', FORMATS)];
    const statusOf = (...more: readonly string[]) =>
      json<IngestResult>('ingest', own, '--db', 'kept.duckdb', ...more).sources.map(({ status }) => status);
    expect(statusOf('--formats', formats)).toEqual(['ingested']);
    expect(statusOf('--formats', formats)).toEqual(['unchanged']);
    expect(statusOf()).toEqual(['ingested']);
    expect(refuse(2, 'log', '--db', 'kept.duckdb', '--formats', formats)).toContain('ingest --formats');
  });

  it.each([
    ['sec=(', 'sex=(', 'line 5: format 1: the pattern does not match "step summary: it=12 sec=1.25'],
    ['(?<it>', '(?<it', 'format 1: Invalid regular expression'],
    ['sec|ms_of_s', 'sec|guess', 'format 1: no conversion guess'],
    ['of: peak', 'of: peek', 'format 1: a row uses peek, which no pattern has as a group'],
    ["['step summary: ']", '[step]', 'line 3: format 1: anchor "step" is shorter than 8 characters'],
    ["['step summary: ']", '[]', 'line 3: format 1: anchors: a text that every such line contains is missing'],
    ["['step summary: ']", '[step of summary]', 'line 5: format 1: no anchor is in "step summary'],
    ['unit: GiB', 'unit: gib', 'line 7: format 1: rows[1]: memory.unit: expected a string like'],
    ['memory: max', 'memori: max', 'line 7: format 1: rows[1]: iteration.memori: unknown key'],
    ['id: ours.step', 'id: megatron-lm.iteration', 'line 2: format 1: megatron-lm.iteration is built in'],
    ['id: ours.table', 'id: ours.step', 'line 9: format 2: a second format ours.step'],
    ['then: last', 'then: never', 'line 14: format 2: lines[0].then: expected one of "last", "over", "foreign"'],
    ["'stage 0: 12.50'", "'stage x: 12.50'", 'format 2: "memory of stages, iteration 7" makes no row'],
    ['formats:', 'format:', 'the file must hold one key, formats'],
  ])('are refused with the line: %s as %s', (from, to, message) => {
    const bad = put('bad.yaml', FORMATS.replace(from, to));
    expect(refuse(4, 'explain', 'formats', '--formats', bad)).toContain(message);
    expect(refuse(4, 'log', put('own.log', OWN_LOG.join('\n')), '--formats', bad)).toContain('MBF2602: ');
  });
});
