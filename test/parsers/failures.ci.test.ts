import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { classifyException } from '../../parsers/log/classify-exception.js';
import { applyBlock, applyLine } from '../../parsers/log/formats/apply.js';
import { FAILURE_FORMATS } from '../../parsers/log/formats/index.js';
import { constraintOf, constraintTexts } from '../../src/knowledge/constraint-texts.js';
import { samplesOf } from '../support/log-samples.js';

const cases = parse(readFileSync(new URL('exception-cases.yaml', import.meta.url), 'utf8')) as Readonly<
  Record<'constraints' | 'exceptions', readonly (readonly [name: string, message: string, expected: string])[]>
>;

describe('blocks of failures', () => {
  it('take every line of their samples', () => {
    for (const format of FAILURE_FORMATS) {
      if (format.form !== 'block') continue;
      for (const { lines } of samplesOf(format)) expect(applyBlock(format, lines, () => {})).toBe(lines.length);
    }
  });
});

describe('patterns of failures', () => {
  it('cannot be stalled by a line', () => {
    const hostile = [
      '[Rank 1] '.repeat(8000),
      '[PG ID 0 '.repeat(8000),
      'a.'.repeat(40_000),
      `srun: error: n1: tasks ${'1,'.repeat(40_000)}`,
      '\t'.repeat(80_000),
      '['.repeat(80_000),
    ];
    for (const format of FAILURE_FORMATS) {
      const ofFormat = format.anchors.flatMap((anchor) => [
        `${anchor} `.repeat(3000),
        `${anchor}${' '.repeat(50_000)}`,
        `${anchor}${'('.repeat(50_000)}`,
      ]);
      for (const text of [...ofFormat, ...hostile]) {
        if (format.form === 'line') applyLine(format, text, () => {});
        else applyBlock(format, [samplesOf(format)[0]!.lines[0]!, text, text], () => {});
      }
    }
  });

  it('have fields for their groups, anchors of eight bytes and unique ids', () => {
    expect(new Set(FAILURE_FORMATS.map(({ id }) => id)).size).toBe(FAILURE_FORMATS.length);
    for (const format of FAILURE_FORMATS) {
      for (const anchor of format.anchors) expect(anchor.length, anchor).toBeGreaterThanOrEqual(8);
      if (format.form !== 'line') continue;
      const groups = [...format.pattern.source.matchAll(/\(\?<(\w+)>/g)].map(([, name]) => name!);
      expect(Object.keys(format.fields).sort(), format.id).toEqual([...new Set(groups)].sort());
    }
  });
});

describe('constraints', () => {
  it('are known by their texts, wrapped, quoted and in other case', () => {
    for (const { id, texts } of constraintTexts()) {
      for (const text of texts) {
        expect(constraintOf(`x ${text} y`)?.id, text).toBeTruthy();
        expect(constraintOf(text.toUpperCase().replaceAll(' ', '\n  '))?.id, text).toBeTruthy();
      }
      expect(
        texts.some((text) => constraintOf(text)?.id === id),
        id,
      ).toBe(true);
    }
    expect(constraintOf('list index out of range')).toBeNull();
    expect(constraintOf('CUDA out of memory. Tried to allocate 20.00 MiB')).toBeNull();
  });

  it.each(cases.constraints)('%s: %s', (name, message, id) => {
    expect(classifyException(name, message)).toEqual({ kind: 'config_error', constraint: id });
  });
});

describe('exceptions', () => {
  it.each(cases.exceptions)('%s: %s is %s', (name, message, kind) => {
    expect(classifyException(name, message)?.kind).toBe(kind);
  });

  it('that are not failures get no kind', () => {
    expect(classifyException('KeyboardInterrupt', '')).toBeNull();
    expect(classifyException('SystemExit', '0')).toBeNull();
    expect(classifyException('torch.distributed.elastic.multiprocessing.errors.ChildFailedError', '')).toBeNull();
  });
});
