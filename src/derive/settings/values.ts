/** Values of settings as text: flags, numbers and lists, however Python, YAML and shells write them. */

export function isOn(value: string | null): boolean {
  return !['null', 'false', '0', 'none', 'off', 'no'].includes(plainWord(value));
}

export function plainWord(value: string | null): string {
  if (value === null) return 'null';
  const text = value
    .trim()
    .replace(/^(["'])(.*)\1$/s, '$2')
    .toLowerCase();
  return text === 'none' || text === '' || text === '~' ? 'null' : /^\d+\.0+$/.test(text) ? String(Number(text)) : text;
}

export function asNumber(value: string | null): number | null {
  if (value === null || !/^\s*[-+]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:e[-+]?\d{1,3})?\s*$/i.test(value)) return null;
  return Number(value.replaceAll('_', ''));
}

/** A list as JSON text, as Python writes it, or as words with commas; null for None. */
export function asList(value: string | null): readonly string[] | null {
  if (value === null || plainWord(value) === 'null') return null;
  const text = value.trim().replace(/^\[(.*)\]$/s, '$1');
  return text
    .split(',')
    .map((item) => item.trim().replace(/^(["'])(.*)\1$/, '$2'))
    .filter((item) => item !== '');
}

/** `expandable_segments:True,max_split_size_mb:512` → its parts, without blanks. */
export function allocatorParts(text: string | null): readonly string[] {
  if (text === null) return [];
  return text
    .split(/,(?![^[\]]{0,400}\])/)
    .map((part) => part.replaceAll(/\s+/g, ''))
    .filter((part) => part !== '');
}
