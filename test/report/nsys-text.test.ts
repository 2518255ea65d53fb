/** What `nsys` prints of texts that a program chose: they can be long, deep and hostile. */
import { describe, expect, it } from 'vitest';
import type { NsysResult } from '../../src/model/results/nsys.js';
import { documentText } from '../../src/report/render/text.js';
import { nsysDocument } from '../../src/report/run/nsys-document.js';

const nsysText = (result: NsysResult): string => documentText(nsysDocument(result, { limit: 8 }));

const at = (texts: readonly string[]): NsysResult => {
  const times = { start_ns: 155_357_596_302, end_ns: null };
  const ranges = texts.map((text) => ({ text, type: 'push_pop' as const, domain: null, ...times }));
  const stacks = [{ pid: 111, tid: 111, thread: 'pt_main_thread', rank: 0, ranges }];
  const moment = { path: 'report.sqlite', time_ns: 155_657_596_302, stacks };
  return { schema: 'mbforensics/nsys@1', run: 'run', reports: [], at: [moment] };
};

describe('ranges at a moment', () => {
  it('stay on the screen however deep and long they are', () => {
    const deep = Array.from({ length: 60 }, (_, i) => `transformer.layer.${i}.${'attention.'.repeat(20)}`);
    const lines = nsysText(at(deep)).split('\n');
    expect(lines).toHaveLength(3 + deep.length);
    for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(110);
    // Each is deeper than the one around it for as long as that can be shown.
    const indents = lines.slice(2, -1).map((line) => line.search(/\S/));
    expect(indents.slice(0, 10)).toEqual([2, 4, 6, 8, 10, 12, 14, 16, 18, 20]);
    for (const line of lines.slice(2, -1)) expect(line).toMatch(/transformer\.layer\.\d+/);
  });

  it('cannot move the cursor', () => {
    const shown = nsysText(at(['step\u001b[2J\r\n1', '\u0000']));
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    expect(shown).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
    expect(shown.split('\n')).toHaveLength(5);
  });
});
