/** Markdown as GitHub renders it, from untrusted texts. */
import { maxOf } from '../model/lists.js';
import { printable } from './plain-text.js';

/** A column of a table. */
interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
}

/** Longer texts are cut: a job summary holds 1 MiB in all. */
const LONGEST = 2_000;

/**
 * Text on one line that renders as itself. Signs of Markdown get a backslash. Signs that GitHub interprets in any
 * position (mathematics, mentions, addresses) become entities.
 */
export function mdText(text: string): string {
  const line = printable(text.replaceAll(/\s+/g, ' ').trim());
  const cut = line.length <= LONGEST ? line : `${line.slice(0, LONGEST - 1).replace(/[\ud800-\udbff]$/, '')}…`;
  return cut
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll(/[\\`*_{}[\]#|~^!]/g, '\\$&')
    .replaceAll('$', '&#36;')
    .replaceAll('@', '&#64;')
    .replaceAll('://', '&#58;//')
    .replaceAll(/www\./gi, (www) => `${www.slice(0, 3)}&#46;`);
}

/** {@link mdText} at the beginning of a line, where more signs mean something. */
export function mdLine(text: string): string {
  return mdText(text)
    .replace(/^([-+=])/, '\\$1')
    .replace(/^(\d+)([.)])(?=\s|$)/, '$1\\$2');
}

/** The same in a fixed-width face; a fence of backticks could be closed from inside. */
export function mdCode(text: string): string {
  const inside = mdText(text);
  return inside === '' ? '' : `<code>${inside}</code>`;
}

/** Lines as they are, in a fence longer than any that they hold. `indent`: of the list item they belong to. */
export function mdFence(lines: readonly string[], language: string, indent = ''): string[] {
  const plain = lines.map((line) => printable(line.replaceAll('\t', '  ')));
  const runs = plain.flatMap((line) => [...line.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(Math.max(2, maxOf(runs)) + 1);
  return [`${fence}${language}`, ...plain.map((line) => line.slice(0, LONGEST)), fence].map((line) => indent + line);
}

/** Cells must have gone through {@link mdText}. */
export function mdTable(columns: readonly Column[], rows: readonly (readonly string[])[]): string[] {
  return [
    `| ${columns.map(({ title }) => mdText(title)).join(' | ')} |`,
    `| ${columns.map(({ align }) => (align === 'right' ? '---:' : '---')).join(' | ')} |`,
    ...rows.map((row) => `| ${row.join(' | ')} |`),
  ];
}

/** A collapsed section; empty if it would contain no lines. `title` must have gone through {@link mdText}. */
export function mdDetails(title: string, lines: readonly string[]): string[] {
  if (lines.length === 0) return [];
  return ['', `<details><summary>${title}</summary>`, '', ...lines, '', '</details>'];
}
