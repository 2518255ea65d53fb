import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Segment } from '../../parsers/log/assembly.js';
import { isUserCode, readException } from '../../parsers/log/exception-line.js';
import { ANCHORS } from '../../parsers/log/find-messages.js';
import { SRUN_LABEL } from '../../parsers/log/prefix-rules.js';
import { stripPrefix } from '../../parsers/log/strip-prefix.js';
import { FRAME_ANCHORS, TRACEBACK_ANCHORS, type Traceback, TracebackAssembly } from '../../parsers/log/tracebacks.js';
import { eachOf, type Sample, type Texts, textOf } from './sample-files.js';

/** The segments of a text, as the reader cuts them (without carriage returns and overlong lines). */
function segmentsOf(text: string, srunLabelled = false): Segment[] {
  const lines = text.split('\n');
  let offset = 0;
  return lines.map((line, index) => {
    const prefix = stripPrefix(line, srunLabelled ? SRUN_LABEL : null);
    const nextOffset = offset + Buffer.byteLength(line) + 1;
    const mask = ANCHORS.reduce((bits, anchor) => (line.includes(anchor.literal) ? bits | anchor.mask : bits), 0);
    const segment: Segment = {
      text: line.slice(prefix.end),
      prefix,
      line: index + 1,
      offset,
      nextOffset,
      mask,
      deviceAssert: line.includes('device-side assert'),
      continues: false,
    };
    offset = nextOffset;
    return segment;
  });
}

function read(text: string, srunLabelled = false): Traceback[] {
  const tracebacks: Traceback[] = [];
  const assembly = new TracebackAssembly((traceback) => tracebacks.push(traceback));
  for (const segment of segmentsOf(text, srunLabelled)) {
    assembly.feed(
      segment,
      TRACEBACK_ANCHORS.some((anchor) => segment.text.includes(anchor)),
      FRAME_ANCHORS.some((anchor) => segment.text.includes(anchor)),
    );
  }
  assembly.end();
  return tracebacks.sort((a, b) => a.line - b.line);
}

const cases = parse(readFileSync(new URL('traceback-cases.yaml', import.meta.url), 'utf8')) as {
  readonly texts: Texts;
  readonly samples: readonly (Sample & { readonly srun?: boolean; readonly tracebacks: readonly object[] })[];
} & Readonly<Record<'user_code' | 'libraries' | 'no_exceptions', readonly string[]>>;
const { texts } = cases;
const LINES = textOf({ text: '«lines»' }, texts).trim().split('\n');

describe('tracebacks', () => {
  it.each(eachOf(cases.samples).map((sample) => [sample.is, sample] as const))('%s', (_, sample) => {
    const tracebacks = read(textOf(sample, texts), sample.srun).map((one) => ({
      ...one,
      innermost: one.inner[0] ?? null,
    }));
    expect(tracebacks).toMatchObject(sample.tracebacks);
  });

  it('have their last frames, innermost first, with the lines of code', () => {
    const frame = (i: number): string =>
      `  File "/srv/m${i}.py", line ${i}, in f${i}\n    y = g${i}(x)\n       ^^^^^\n`;
    const frames = Array.from({ length: 20 }, (_, i) => frame(i + 1)).join('');
    const [traceback] = read(`Traceback (most recent call last):\n${frames}ValueError: x`);
    expect(traceback?.inner).toHaveLength(16);
    expect(traceback?.inner[0]).toEqual({ file: '/srv/m20.py', line: 20, function: 'f20', source: 'y = g20(x)' });
    expect(traceback?.inner[15]).toMatchObject({ function: 'f5', source: 'y = g5(x)' });
  });

  it('without their header begin at a frame, or at the failing line of a box', () => {
    const frame = '  File "/srv/a.py", line 31, in load\n    model = whole(config)\n';
    expect(read(`step 1\n${frame}ValueError: x\nstep 2`)).toMatchObject([
      { headless: true, exception: 'ValueError', inner: [{ function: 'load', source: 'model = whole(config)' }] },
    ]);
    expect(read(`[rank4]: ${frame.replaceAll('\n    ', '\n[rank4]:     ')}[rank4]: ValueError: x`)).toMatchObject([
      { headless: true, prefix: { rank: 4 }, frames: 1 },
    ]);
    expect(read(`Current thread (most recent call first):\n  File "/srv/a.py", line 3 in load\nValueError: x`)).toEqual(
      [],
    );
    // The message before it may be theirs.
    expect(read(`Stack (most recent call last):\n${frame}done`)).toMatchObject([{ headless: true, exception: null }]);
    const box = '│    30 │   x = 1 │\n│ ❱  31 │   return t.to(device) │\n╰────╯\nRuntimeError: x';
    expect(read(box)).toMatchObject([
      { exception: 'RuntimeError', frame: null, inner: [{ file: '', line: 31, source: 'return t.to(device)' }] },
    ]);
    expect(
      read(`│ /srv/a.py:31 in load │\n${box}`.replace('│ /', 'Traceback (most recent call last):\n│ /')),
    ).toMatchObject([{ inner: [{ file: '/srv/a.py', source: 'return t.to(device)' }] }]);
    // Behind its header it is an ordinary one.
    expect(read(`Traceback (most recent call last):\n${frame}ValueError: x`)).toMatchObject([{ headless: false }]);
  });

  it('of interleaved ranks do not mix', () => {
    const otherLines = LINES.map((line) => line.replace('ValueError: the step', 'KeyError: the other'));
    const lines = LINES.flatMap((line, i) => [
      `[rank1]: ${line}`,
      ` iteration ${i}/ 90 |`,
      `[rank2]: ${otherLines[i]}`,
    ]);
    expect(read(lines.join('\n'))).toMatchObject([
      { exception: 'ValueError', frames: 3, prefix: { rank: 1 } },
      { exception: 'KeyError', frames: 3, prefix: { rank: 2 }, message: 'the other went wrong' },
    ]);
  });

  it('of ranks without prefixes are distinguished by their frames', () => {
    // The second one lags three lines behind.
    const lines: string[] = [];
    for (let i = 0; i < LINES.length + 3; i += 1) {
      if (i < LINES.length) lines.push(LINES[i]!);
      if (i >= 3) lines.push(LINES[i - 3]!.replace('ValueError', 'RuntimeError'));
    }
    const tracebacks = read(lines.join('\n'));
    expect(tracebacks.map(({ exception, frames }) => [exception, frames])).toEqual([
      ['ValueError', 3],
      ['RuntimeError', 3],
    ]);
  });

  it('cost bounded memory, however many or deep', () => {
    // A recursion, a thousand open ones, and a header on every line.
    const recursion = [
      LINES[0]!,
      ...Array.from({ length: 30_000 }, () => LINES.slice(1, 3)).flat(),
      'RecursionError: deep',
    ];
    expect(read(recursion.join('\n')).length).toBeLessThanOrEqual(2);
    const many = Array.from({ length: 3000 }, (_, rank) =>
      LINES.slice(0, 3).map((line) => `[rank${rank}]: ${line}`),
    ).flat();
    expect(read(many.join('\n')).length).toBe(3000);
    read(Array.from({ length: 50_000 }, () => LINES[0]!).join('\n'));
    const [long] = read([...LINES.slice(0, 8), `ValueError: ${'x'.repeat(1e6)}`].join('\n'));
    expect(long?.message.length).toBeLessThanOrEqual(4000);
  });

  it('have frames of the user: Megatron wherever it is, never torch or the standard library', () => {
    for (const file of cases.user_code) expect(isUserCode(file), file).toBe(true);
    for (const file of cases.libraries) expect(isUserCode(file), file).toBe(false);
  });

  it('end with exceptions, not with other words at the start of a line', () => {
    const [name, message] = ['torch.OutOfMemoryError', 'CUDA out of memory.'];
    expect(readException(`${name}: ${message}`, false)).toEqual({ name, message });
    expect(readException('queue.Empty', false)).not.toBeNull();
    expect(readException('MyProblem: x', true)).not.toBeNull();
    for (const text of cases.no_exceptions) expect(readException(text, false), text).toBeNull();
  });
});
