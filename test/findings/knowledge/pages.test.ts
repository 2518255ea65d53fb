/** The pages that are made from data are valid Markdown. */
import { describe, expect, it } from 'vitest';
import { PAGES } from '../../../src/findings/flows/explain/pages/index.js';
import { md } from '../../../src/findings/flows/explain/pages/markdown.js';

const headings = new Map(
  Object.entries(PAGES).map(([name, page]) => {
    const titles = [...page().matchAll(/^#+ (.*)$/gm)].map(([, title = '']) => title.toLowerCase());
    return [name, new Set(titles)];
  }),
);

describe('generated pages', () => {
  it.each(Object.entries(PAGES))('%s has tables with equal rows, and links that resolve', (name, page) => {
    const lines = page().split('\n');
    const cells = (line: string): number => line.replaceAll('\\|', '').split('|').length;
    for (const [index, line] of lines.entries()) {
      const before = lines[index - 1];
      if (line.startsWith('|') && before?.startsWith('|')) expect(cells(line), line).toBe(cells(before));
    }
    for (const [, file = '', anchor = ''] of page().matchAll(/\]\(([\w-]*\.md|)#([\w.-]+)\)/g)) {
      expect(headings.get(file === '' ? name : file)?.has(anchor), `${file}#${anchor}`).toBe(true);
    }
  });

  it('name no file that only we have', () => {
    for (const page of Object.values(PAGES)) expect(page()).not.toMatch(/(?<!-)guides\.md|megatron\.md|\/work\//);
  });
});

describe('md', () => {
  it('keeps code and escapes the rest', () => {
    expect(md('`a|b_c` ~704 <r> x_y [z]')).toBe('`a\\|b_c` \\~704 &lt;r&gt; x_y \\[z\\]');
    expect(md('an odd ` tick')).toBe("an odd ' tick");
  });
});
