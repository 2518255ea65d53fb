/**
 * Rows of a TSV file by column name. The first line has the names; `#` begins a comment line; an empty cell is null.
 */
export function parseTsv(text: string): Record<string, string | null>[] {
  const [header = [], ...rows] = text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split('\t'));
  return rows.map((cells) => Object.fromEntries(header.map((name, index) => [name, cells[index] || null])));
}
