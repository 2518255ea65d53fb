/** A page of the documentation as text for a terminal: the Markdown that our pages use, without its marks. */
import { maxOf } from '../../model/lists.js';
import { bold } from '../screen.js';
import { wrapped } from '../text-pieces.js';

const CELL_GAP = '  ';

/** Headings, wrapped paragraphs and lists, tables with aligned columns, code as it is. */
export function pageText(markdown: string): string {
  return `${blocksOf(markdown)
    .map((block) => blockLines(block).join('\n'))
    .join('\n\n')}\n`;
}

function blockLines(block: readonly string[]): readonly string[] {
  const [first = ''] = block;
  const heading = /^#+ (.*)$/.exec(first)?.[1];
  if (first.startsWith('```')) return block.slice(1, -1).map((line) => `    ${line}`.trimEnd());
  if (heading !== undefined) return [bold(plain(heading))];
  return first.startsWith('|') ? tableLines(block) : paragraphsOf(block).flat();
}

export const pageTitle = (markdown: string): string => plain(/^# (.*)$/m.exec(markdown)?.[1] ?? '');

function blocksOf(markdown: string): string[][] {
  const blocks: string[][] = [];
  let open: string[] = [];
  let isCode = false;
  const end = (): void => {
    if (open.length > 0) blocks.push(open);
    open = [];
  };
  for (const line of markdown.replaceAll(/<!--[\s\S]*?-->\n?/g, '').split(/\r?\n/)) {
    const isFence = line.startsWith('```');
    if (isFence && !isCode) end();
    if (isCode || isFence || line.trim() !== '') open.push(line);
    else end();
    if (isFence && isCode) end();
    else if (/^#+ /.test(line) && !isCode) end();
    if (isFence) isCode = !isCode;
  }
  end();
  return blocks;
}

/** Items of a list are paragraphs of their own, indented below their mark. */
function paragraphsOf(block: readonly string[]): string[][] {
  const paragraphs: string[] = [];
  for (const line of block) {
    if (paragraphs.length === 0 || /^\s*(?:[-*]|\d+\.) /.test(line)) paragraphs.push(line);
    else paragraphs.push(`${paragraphs.pop()!} ${line.trim()}`);
  }
  return paragraphs.map((text) => wrapped(plain(text), ' '.repeat(/^\s*(?:(?:[-*]|\d+\.) )?/.exec(text)![0].length)));
}

/** The last column is wrapped below itself. */
function tableLines(block: readonly string[]): string[] {
  const rows = block
    .filter((line) => !/^\|[\s|:-]+\|$/.test(line))
    .map((line) => line.replace(/^\|\s*|\s*\|$/g, '').split(/\s*(?<!\\)\|\s*/))
    .map((cells) => cells.map((cell) => plain(cell.replaceAll('\\|', '|'))));
  const columns = maxOf(rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, i) => maxOf(rows.map((row) => row[i]?.length ?? 0)));
  return rows.flatMap((row) => {
    const start = row.slice(0, -1).map((cell, i) => cell.padEnd(widths[i]!) + CELL_GAP);
    return wrapped(`${start.join('')}${row.at(-1) ?? ''}`.trimEnd(), ' '.repeat(Math.min(40, start.join('').length)));
  });
}

/** Links and pictures become their words, with the page that a link of another page names. */
function plain(text: string): string {
  return text
    .replaceAll(/!\[([^\]]*)\]\([^)]*\)/g, '($1)')
    .replaceAll(/\[([^\]]*)\]\(([^)#\s]*)(?:#[^)\s]*)?\)/g, (_, words: string, target: string) =>
      target === '' || words === target || words.endsWith(target) ? words : `${words} (${target})`,
    )
    .replaceAll(/\*\*([^*]+)\*\*/g, '$1')
    .replaceAll('`', '');
}
