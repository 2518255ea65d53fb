import { describe, expect, it } from 'vitest';
import { PARSERS } from '../../parsers/index.js';
import { detect, MIN_SCORE } from '../../src/ingest/discover/detect.js';
import { recogniseWrong } from '../../src/ingest/discover/known-wrong.js';
import { MbfError } from '../../src/model/errors.js';
import type { Head, ParserSpec } from '../../src/model/parser.js';

function head(name: string, content: string | Uint8Array): Head {
  const bytes = typeof content === 'string' ? Buffer.from(content, 'latin1') : content;
  return { name, bytes, sizeBytes: bytes.length };
}

function parser(title: string, score: number): ParserSpec {
  return {
    id: 'log',
    title,
    sniff: (seen) => ({ score, why: `${title} looked at ${seen.bytes.length} bytes of ${seen.name}` }),
    parse: async () => {
      throw new Error('detection must not parse');
    },
  };
}

const ZIP = 'PK\x03\x04\x00\x00\x08\x08';
const LFS = 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 4321\n';
const MEMORY_VIZ =
  '\n<!DOCTYPE html>\n<html><head></head><body><script type="module">import {add_local_files} from "x"';
const MEMORY_VIZ_ARRAYS =
  '<!DOCTYPE html>\n<html><head></head><body><script type="module">\nimport * as d3 from "x";\nlet alloc_data = {"actions": [0, 1';
const PLAIN_PAGE = '<!doctype html><html><head><title>Loss curves</title>';
const JSON_DICT = '{"segments": [{"device": 0, "address": 1, "total_size": 2, "allocated_size": 2, "active_size": 2';
const PROTOCOL_0 = '(dp0\nVsegments\np1\n(lp2\n(dp3\nVtotal_size\np4\nI2\nsVactive_size\np5\n';
const PROTOCOL_1 = ']q\x00(}q\x01(X\x0a\x00\x00\x00total_sizeq\x02K\x02X\x0b\x00\x00\x00active_size';

describe('files known to be something else', () => {
  it.each<readonly [name: string, content: string | Uint8Array, rule: string, code: string, status: string]>([
    ['snapshot.pickle', '', 'empty-input', 'MBF2004', 'failed'],
    ['stderr.log', '', 'empty', 'MBF2004', 'skipped'],
    ['snapshot.pickle', new Uint8Array(65536), 'only-zeros', 'MBF2006', 'failed'],
    ['train.log', new Uint8Array(1), 'only-zeros', 'MBF2006', 'failed'],
    ['scratch.dat', new Uint8Array(65536), 'only-zeros', 'MBF2006', 'skipped'],
    ['snapshot.pickle', LFS, 'git-lfs-pointer', 'MBF2001', 'failed'],
    ['weights', LFS, 'git-lfs-pointer', 'MBF2001', 'skipped'],
    ['snapshot.html', MEMORY_VIZ_ARRAYS, 'memory-viz-arrays', 'MBF2303', 'skipped'],
    ['snapshot.pickle', MEMORY_VIZ_ARRAYS, 'memory-viz-arrays', 'MBF2303', 'skipped'],
    ['snapshot.pickle', PLAIN_PAGE, 'error-page', 'MBF2002', 'failed'],
    ['train.log', '\xef\xbb\xbf <HTML><body>', 'error-page', 'MBF2002', 'failed'],
    ['download', '<html><head><title>Sign in - SSO</title>', 'error-page', 'MBF2002', 'skipped'],
    ['curves.html', PLAIN_PAGE, 'html', 'MBF2008', 'skipped'],
    ['s.pickle', '<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code>', 'object-store-error', 'MBF2002', 'failed'],
    ['run.nsys-rep', '\x01\x02', 'nsys-report', 'MBF2003', 'skipped'],
    ['run.qdrep', '\x01\x02', 'nsys-report', 'MBF2003', 'skipped'],
    ['run.arrows', 'ARROW1', 'nsys-arrow', 'MBF2003', 'skipped'],
    ['KERNEL.arrow', 'ARROW1', 'nsys-arrow', 'MBF2003', 'skipped'],
    ['run.h5', '\x89HDF\r\n\x1a\n', 'nsys-hdf5', 'MBF2003', 'skipped'],
    ['run', '\x89HDF\r\n\x1a\n CUPTI_ACTIVITY_KIND_KERNEL', 'nsys-hdf5', 'MBF2003', 'skipped'],
    ['weights', '\x89HDF\r\n\x1a\n', 'hdf5', 'MBF2008', 'skipped'],
    ['StringIds.parquet', 'PAR1', 'parquet', 'MBF2008', 'skipped'],
    ['cache.db', 'SQLite format 3\0', 'sqlite', 'MBF2703', 'skipped'],
    ['run.sqlite', LFS, 'git-lfs-pointer', 'MBF2001', 'failed'],
    ['run.sqlite', '', 'empty-input', 'MBF2004', 'failed'],
    ['x', 'abcdefghDUCK', 'duckdb', 'MBF2008', 'skipped'],
    ['s.pickle', `${ZIP}archive/data.pkl\x80\x02}segments device_traces`, 'torch-saved-snapshot', 'MBF2010', 'skipped'],
    ['model', `${ZIP}archive/data.pkl\x80\x02ctorch._utils`, 'torch-save', 'MBF2008', 'skipped'],
    ['model', '\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02', 'torch-save', 'MBF2008', 'skipped'],
    ['x', `${ZIP}readme.txt`, 'zip', 'MBF2008', 'skipped'],
    ['memory_snapshot_time1.5_rank3_x.pickle', 'memray\0\x0b\0', 'memray', 'MBF2008', 'skipped'],
    ['s.pickle', PROTOCOL_0, 'old-pickle-protocol', 'MBF2103', 'failed'],
    ['s.pickle', PROTOCOL_1, 'old-pickle-protocol', 'MBF2103', 'failed'],
    [
      't.json',
      '{\n "schemaVersion": 1, "deviceProperties": [], "traceEvents": [',
      'chrome-trace',
      'MBF2008',
      'skipped',
    ],
    ['a.log', '\x28\xb5\x2f\xfd\x04', 'nested-zstd', 'MBF2010', 'skipped'],
    ['a.log', '\xfd7zXZ\0', 'xz', 'MBF2010', 'skipped'],
    ['a.log', 'BZh91AY&SY', 'bzip2', 'MBF2010', 'skipped'],
    ['a.log', '\x04\x22\x4d\x18', 'lz4', 'MBF2010', 'skipped'],
    ['a.log', '\x1f\x8b\x08', 'nested-gzip', 'MBF2010', 'skipped'],
    ['a', `${'a'.repeat(257)}ustar\0`, 'tar', 'MBF2008', 'skipped'],
    ['a', '\x7fELF', 'elf', 'MBF2008', 'skipped'],
  ])('%s, %j: %s %s %s', (name, content, rule, code, status) => {
    const wrong = recogniseWrong(head(name, content));
    expect([wrong?.rule, wrong?.error.code, wrong?.status]).toEqual([rule, code, status]);
    expect(wrong?.error).toBeInstanceOf(MbfError);
  });

  it('gives the size of the file behind a Git LFS pointer', () => {
    expect(recogniseWrong(head('s.pickle', LFS))?.error.message).toContain('4321 bytes');
  });

  it.each([
    ['snapshot.pickle', '\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x08segments\x94]\x94'],
    ['snapshot.pickle', '\x80\x02}q\x00(X\x08\x00\x00\x00segments]device_traces'],
    ['train.log', ' iteration 1/10 | lm loss: 1.0'],
    ['train.log', 'fetched <html> page; see MemoryViz.js and {"device_traces"'],
    ['train.log', '{"message": "step 1", "total_size": 3}\n'],
    ['train.log', '\0\0\0\0late text after a hole'],
    ['train.log', 'version https://example.org'],
    ['train.log', '(dp0\n is what it printed'],
    ['snapshot.html', MEMORY_VIZ],
    ['s.json', JSON_DICT],
    ['run.sqlite', 'SQLite format 3\0'],
    ['run.db', 'SQLite format 3\0 CREATE TABLE TARGET_INFO_GPU'],
    ['run.sqlite', '\x91\xd2\x00\xf7'],
  ])('leaves everything else to the parsers: %s', (name, content) => {
    expect(recogniseWrong(head(name, content))).toBeUndefined();
  });
});

/** The parser and its reason, or the rule. */
const chosen = (name: string, content: string): string => {
  const detection = detect(PARSERS, head(name, content));
  if (detection.status !== 'recognised') return detection.rule ?? 'nobody';
  return `${detection.parser.id}: ${detection.claims[0]!.why}`;
};

describe('snapshots in other encodings', () => {
  it('go to the parser of the pickles, whatever they are called', () => {
    for (const name of ['snapshot.html', 'snapshot.pickle', 'rank0.txt']) {
      expect(chosen(name, `${MEMORY_VIZ}\nconst local_files = [{"name": "snapshot.pickle", "base64": "gASV`)).toBe(
        'torch-snapshot: a memory_viz page with an embedded snapshot',
      );
      expect(chosen(name, MEMORY_VIZ)).toMatch(/^torch-snapshot: a memory_viz page; no embedded snapshot begins/);
    }
    for (const name of ['s.json', 's.pickle', 'snapshot']) {
      const keys = 'segments, total_size, allocated_size, active_size';
      expect(chosen(name, JSON_DICT)).toBe(`torch-snapshot: JSON with the keys ${keys}`);
      expect(chosen(name, ` [${JSON_DICT.slice(14)}`)).toBe(`torch-snapshot: JSON with the keys ${keys.slice(10)}`);
    }
  });

  it('are not seen in configurations, traces, exports and logs', () => {
    const none: readonly (readonly [string, string])[] = [
      ['ds_config.json', '{"train_batch_size": 32, "zero_optimization": {"stage": 3}}'],
      ['trace.json', '{"schemaVersion": 1, "deviceProperties": [], "device_traces": 1, "traceEvents": ['],
      ['nsys.json', '{"NsysVersion": "2022.4", "segments": [], "blocks": []}\n{"Type": 48, "total_size": 1}'],
      ['train.log', '[default0]: [{"device_traces" and {"total_size", "active_size", "blocks"\n'.repeat(50)],
      ['notes.html', PLAIN_PAGE],
    ];
    for (const [name, content] of none) expect(chosen(name, content)).not.toMatch(/^torch-snapshot/);
  });
});

describe('exports of Nsight Systems', () => {
  const event = '{"Type":79,"CudaEvent":{"startNs":"1"}}\n';
  it.each<readonly [name: string, content: string, expected: string]>([
    // By their tables, or by their name.
    ['a.db', 'SQLite format 3\0 CREATE TABLE TARGET_INFO_GPU (', 'nsys'],
    ['a.sqlite', 'SQLite format 3\0 CREATE TABLE users (', 'nsys'],
    ['a.nsys-sqlite', 'SQLite format 3\0', 'nsys'],
    ['a.sqlite3', 'SQLite format 3\0 CREATE TABLE users (', 'sqlite'],
    // Encrypted or damaged: its parser reports why it cannot be read.
    ['a.sqlite', '\x91\xd2\x00\xf7\x13', 'nsys'],
    ['a.db', '\x91\xd2\x00\xf7\x13', 'nobody'],
    // As lines of JSON, in both spellings.
    ...['a.json', 'a.jsonl', 'a.txt'].map((name) => [name, event, 'nsys'] as const),
    ['a.json', `{"data": ["aten::mm"]}\n${event}`, 'nsys'],
    ['a.jsonl', `{"data": ["${'aten::mm", "'.repeat(5000)}`, 'nsys'],
    ['a.jsonl', '{"type":"String","id":"0","value":"aten::mm"}\n', 'nsys'],
  ])('%s, %j: %s', (name, content, expected) => {
    expect(chosen(name, content).replace(/:.*/s, '')).toBe(expected);
  });

  it('are not lines of JSON of another kind', () => {
    expect(chosen('a.jsonl', '{"step": 1, "loss": 2.5}\n{"step": 2, "loss": 2.25}\n')).not.toMatch(/^nsys/);
  });

  it('in forms that are not read come with the command that makes one that is', () => {
    const command = (name: string, content: string): string =>
      recogniseWrong(head(name, content))!.error.message.replace(/^.*(?=nsys export)/, '');
    expect(command('run.nsys-rep', 'x')).toBe('nsys export --type sqlite run.nsys-rep');
    expect(command('run 1.nsys-rep', 'x')).toBe("nsys export --type sqlite 'run 1.nsys-rep'");
    expect(command('run.arrows', 'ARROW1')).toBe('nsys export --type sqlite run.nsys-rep');
    expect(command('run.h5', '\x89HDF\r\n\x1a\n')).toBe('nsys export --type sqlite run.nsys-rep');
  });
});

describe('the choice of parser', () => {
  const log = head('a.txt', 'some text');

  it('goes to the highest score', () => {
    const detection = detect([parser('low', 0.4), parser('high', 0.9)], log);
    expect(detection.status === 'recognised' && detection.parser.title).toBe('high');
    expect(detection.claims.map((claim) => `${claim.parser.title} ${claim.score}`)).toEqual(['high 0.9', 'low 0.4']);
    expect(detection.claims[0]?.why).toBe('high looked at 9 bytes of a.txt');
  });

  it('is settled by the registry order between equals', () => {
    const detection = detect([parser('low', 0.3), parser('first', 0.5), parser('second', 0.5)], log);
    expect(detection.status === 'recognised' && detection.parser.title).toBe('first');
  });

  it(`needs ${MIN_SCORE}`, () => {
    expect(detect([parser('p', MIN_SCORE)], log).status).toBe('recognised');
    const detection = detect([parser('p', MIN_SCORE - 0.01)], log);
    expect(detection.status).toBe('skipped');
    expect(detection.claims).toHaveLength(1);
  });

  it('fails with MBF2008 for a named file that nothing knows', () => {
    const detection = detect([], log, { isNamed: true });
    expect(detection.status === 'failed' && detection.error.code).toBe('MBF2008');
  });

  it('turns a skipped kind into a failure if the file was named, keeping its own error', () => {
    const page = head('x.html', MEMORY_VIZ_ARRAYS);
    const met = detect([parser('p', 1)], page);
    const named = detect([parser('p', 1)], page, { isNamed: true });
    expect(met.status === 'skipped' && met.error.code).toBe('MBF2303');
    expect(named.status === 'failed' && named.error.code).toBe('MBF2303');
    // --explain still shows what the parsers thought.
    expect(named.claims.map((claim) => claim.score)).toEqual([1]);
  });
});
