/**
 * Markdown of the generated pages, from our own texts: text between backticks stays code, everything else renders as
 * itself.
 */

export const NOTE = '<!-- Written by `npm run build` from src/knowledge and src/findings. -->';

/** On one line, also in the cell of a table. */
export function md(text: string): string {
  const parts = text.replaceAll(/\s+/g, ' ').trim().split('`');
  // An odd backtick opens nothing.
  if (parts.length % 2 === 0) return escaped(text.replaceAll('`', "'"));
  return parts.map((part, index) => (index % 2 === 1 ? code(part) : escaped(part))).join('');
}

function escaped(text: string): string {
  return (
    text
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll(/[\\*[\]|~$]/g, '\\$&')
      // Inside words a single underscore means nothing.
      .replaceAll(/(?<![a-z0-9])_|_(?![a-z0-9])/gi, '\\_')
  );
}

export function code(text: string): string {
  return text === '' ? '' : `\`${text.replaceAll('`', "'").replaceAll('|', '\\|')}\``;
}

export function codes(texts: readonly string[]): string {
  return texts.map(code).join(', ');
}

export function mdTable(titles: readonly string[], rows: readonly (readonly string[])[]): string[] {
  return [
    `| ${titles.join(' | ')} |`,
    `| ${titles.map(() => '---').join(' | ')} |`,
    ...rows.map((row) => `| ${row.join(' | ')} |`),
  ];
}

/** `- label: text`; nothing without a text. The text must be Markdown. */
export function item(label: string, text: string): string[] {
  return text === '' ? [] : [`- ${label}: ${text}`];
}

export function page(lines: readonly string[]): string {
  return `${[NOTE, ...lines].join('\n').trimEnd()}\n`;
}
