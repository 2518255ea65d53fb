import { describe, expect, it } from 'vitest';
import { applyBlock, applyLine } from '../../parsers/log/formats/apply.js';
import type { BlockFormat, LineFormat, LogFormat } from '../../parsers/log/formats/contract.js';
import { LOG_FORMATS, OTHER_FORMATS } from '../../parsers/log/formats/index.js';
import { listFormats } from '../../parsers/log/list-formats.js';
import { stripPrefix } from '../../parsers/log/strip-prefix.js';
import { loadData } from '../../src/knowledge/load-data.js';
import type { LogFinding } from '../../src/model/log-rows.js';
import { runs, sampled } from '../support/level.js';
import { type LogSample, STORED_SAMPLES, samplesOf } from '../support/log-samples.js';

/** Shorter anchors slow down every line of every log; these few formats lack a longer word. */
const SHORT_ANCHORS: ReadonlyMap<string, string> = new Map([
  [':::MLLOG', 'the mark of MLPerf records is eight characters'],
]);
const SHORTEST_ANCHOR = 8;

const LINES = LOG_FORMATS.filter((format): format is LineFormat => format.form === 'line');
const BLOCKS = LOG_FORMATS.filter((format): format is BlockFormat => format.form === 'block');

/** Names of the groups of a pattern. */
function groupsOf(pattern: RegExp): string[] {
  const match = new RegExp(`${pattern.source}|`, pattern.flags.replace('g', '')).exec('');
  return Object.keys(match?.groups ?? {}).sort();
}

function collect(format: LogFormat, { lines }: LogSample): LogFinding[] {
  const rows: LogFinding[] = [];
  const emit = (finding: LogFinding): void => {
    rows.push(finding);
  };
  if (format.form === 'line') applyLine(format, lines[0]!, emit);
  else applyBlock(format, lines, emit);
  return rows;
}

const firstLine = ({ lines }: LogSample): string => lines[0] ?? '';

/** A sample as a launcher's log has it, and as a format then sees it. */
function behind(prefix: string, sample: LogSample): LogSample {
  const strip = (line: string): string => {
    const text = prefix + line;
    return text.slice(stripPrefix(text).end);
  };
  return { ...sample, lines: sample.lines.map(strip) };
}

/** A leading time becomes part of the prefix. */
const withoutTime = (row: LogFinding): LogFinding => ({ ...row, timeText: undefined }) as LogFinding;

describe('the list of formats', () => {
  it('is not empty and has unique ids', () => {
    expect(LINES.length).toBeGreaterThan(0);
    const ids = LOG_FORMATS.map(({ id }) => id);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  });

  it('has samples for every format and message, and for nothing else', () => {
    const ids = listFormats().map(({ id }) => id);
    expect([...STORED_SAMPLES.keys()].sort()).toEqual(ids.toSorted());
    expect(Object.keys(loadData('log-examples') as object).sort()).toEqual(ids.toSorted());
  });

  it('names the source of each format', () => {
    for (const { id, title, producer, versions, source } of LOG_FORMATS) {
      expect(id, id).toMatch(/^[a-z][\w-]*\.[\w.@-]+$/i);
      for (const fact of [title, producer, versions, source]) expect(fact.trim(), id).not.toBe('');
    }
  });

  it('has anchors long enough to scan for', () => {
    for (const { id, anchors } of LOG_FORMATS) {
      expect(anchors.length, id).toBeGreaterThan(0);
      for (const anchor of anchors) {
        const bytes = Buffer.byteLength(anchor);
        if (!SHORT_ANCHORS.has(anchor)) expect(bytes, `${id}: ${anchor}`).toBeGreaterThanOrEqual(SHORTEST_ANCHOR);
      }
    }
  });

  it('uses no anchor that nearly every line of NCCL, of a Python logger or of DeepSpeed contains', () => {
    for (const { id, anchors } of OTHER_FORMATS)
      for (const anchor of anchors)
        for (const common of ['NCCL INFO', '[INFO] [logging.py', ' - INFO - '])
          expect(common, id).not.toContain(anchor);
  });

  it('documents every named group of its line patterns, which find all records of a line', () => {
    for (const { id, fields, pattern } of LINES) {
      expect(pattern.flags, id).toContain('g');
      expect(pattern.sticky, id).toBe(false);
      expect(groupsOf(pattern), id).toEqual(Object.keys(fields).sort());
    }
  });

  it('has blocks that open without state and end', () => {
    for (const { id, opens, mostLines, mostForeign, fields } of BLOCKS) {
      expect(opens.flags, id).not.toMatch(/[gy]/);
      expect(mostLines, id).toBeGreaterThan(1);
      expect(mostForeign, id).toBeGreaterThanOrEqual(0);
      expect(Object.keys(fields).length, id).toBeGreaterThan(0);
    }
  });
});

describe.each(LOG_FORMATS.map((format) => [format.id, format] as const))('%s', (_id, format) => {
  it('has samples, one of which yields rows, and each of those holds an anchor', () => {
    const samples = samplesOf(format);
    expect(samples.some(({ rows }) => rows.length > 0)).toBe(true);
    for (const sample of samples) {
      if (sample.rows.length === 0) continue;
      const text = firstLine(sample);
      expect(
        format.anchors.some((anchor) => text.includes(anchor)),
        text,
      ).toBe(true);
    }
  });

  it.each(samplesOf(format).map((sample) => [firstLine(sample).slice(0, 60), sample] as const))(
    'reads %s',
    (_text, sample) => {
      const rows = collect(format, sample);
      expect(rows).toEqual(sample.rows);
      for (const row of rows) {
        if (row.row !== 'memory') continue;
        expect(Number.isFinite(row.value)).toBe(true);
        expect(Number.isFinite(row.precisionBytes)).toBe(true);
        expect(row.precisionBytes).toBeGreaterThanOrEqual(0);
        if (row.bytes !== null) expect(Number.isSafeInteger(row.bytes)).toBe(true);
      }
    },
  );

  it('reads the same behind prefixes, which are stripped before it sees a line', () => {
    for (const sample of samplesOf(format)) {
      for (const prefix of ['[default3]:', '[rank7]: ', '[default0]:INFO:megatron.core.utils:']) {
        const log = `${prefix}${firstLine(sample)}`;
        expect(collect(format, behind(prefix, sample)).map(withoutTime), log).toEqual(sample.rows.map(withoutTime));
      }
    }
  });
});

/** Characters of a hostile line: a pattern whose work is quadratic in them needs more than the test may take. */
const LENGTH = runs(200_000, 1_000_000);
const repeated = (unit: string, size: number): string => unit.repeat(Math.ceil(size / unit.length));

function hostileUnits(format: LogFormat): string[] {
  return [
    ...[' ', '7', '|', '1.', 'a', ': 1 | ', 'iteration ', '[Rank 1] ', '[', '[[', '({[', 'x=1, '],
    ...format.anchors,
    ...format.anchors.map((anchor) => `${anchor} 1`),
    ...samplesOf(format).map(firstLine),
    ...samplesOf(format).map((sample) => firstLine(sample).slice(0, -3)),
  ].filter((unit) => unit !== '');
}

const sink = (): void => {};

/** A format over a line, whatever it finds in it. */
function readLine(format: LogFormat, text: string): void {
  if (format.form === 'line') {
    applyLine(format, text, sink);
    format.cutAtEnd?.(text);
  } else {
    format.opens.test(text);
    const opening = samplesOf(format)[0]?.lines[0] ?? '';
    const match = format.opens.exec(opening);
    const reader = match === null ? null : format.begin(match, sink);
    reader?.line(text);
    reader?.end?.();
  }
}

describe('hostile lines', () => {
  it.each(sampled(LOG_FORMATS, 4).map((format) => [format.id, format] as const))(
    '%s come to their end',
    (_id, format) => {
      for (const unit of hostileUnits(format)) readLine(format, repeated(unit, LENGTH));
    },
  );
});
