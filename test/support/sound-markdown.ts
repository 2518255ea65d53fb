/** What every Markdown report keeps, whatever texts are in it. */
import { expect } from 'vitest';

/** Tags the reports write themselves. */
const OWN_TAGS = /<\/?(?:details|summary|code|br)>/g;

/** Tables with as many cells in every row, tags that close, and no markup that is not ours outside fenced code. */
export function expectSoundMarkdown(text: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: none may come through
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]|\p{Cs}/u);
  expect(text).not.toMatch(/undefined|NaN|\[object/);
  const open: string[] = [];
  let cells: number | undefined;
  let fence: string | undefined;
  for (const line of text.split('\n')) {
    const [, marks] = /^ *(`{3,})/.exec(line) ?? [];
    if (marks !== undefined && (fence === undefined || marks === fence)) {
      fence = fence === undefined ? marks : undefined;
      continue;
    }
    if (fence !== undefined) continue;
    for (const [tag] of line.matchAll(OWN_TAGS)) {
      if (tag === '<br>') continue;
      if (tag.startsWith('</')) expect(open.pop(), line).toBe(tag.replace('/', ''));
      else open.push(tag);
    }
    const bare = line
      .replaceAll(OWN_TAGS, '')
      .replaceAll(/\\[\p{P}\p{S}]/gu, '')
      .replaceAll('`--json`', '');
    expect(bare, line).not.toMatch(/[<>`@$]|:\/\/|\]\(/);
    const bars = bare.split('|').length - 1;
    if (!line.startsWith('|')) {
      expect(bars, line).toBe(0);
      cells = undefined;
    } else {
      cells ??= bars;
      expect(bars, line).toBe(cells);
    }
  }
  expect(open).toEqual([]);
  expect(fence).toBeUndefined();
}
