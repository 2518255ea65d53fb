import { type Literal, type LiteralEntry, readLiteral } from '../../src/knowledge/literal.js';
import type { Trees } from '../../src/text/plain-yaml.js';

/** A list whose end is on a later line. */
interface Pending {
  readonly key: string;
  readonly at: number;
  text: string;
  lines: number;
}

/**
 * The TOML that torchtitan reads: sections, and one value per line; lists may go over lines. Dates and inline tables
 * stay text.
 */
export function readToml(text: string): Trees {
  const entries: LiteralEntry[] = [];
  let section = '';
  const lines = /^.*$/gm;
  let pending: Pending | null = null;
  for (let match = lines.exec(text); match !== null; match = lines.exec(text)) {
    if (match[0] === '') lines.lastIndex += 1;
    const line = withoutComment(match[0]);
    if (pending !== null) {
      pending.text += ` ${line}`;
      pending.lines += 1;
      if (!closes(line) && pending.lines < 1000) continue;
      entries.push({ key: pending.key, at: pending.at, value: readLiteral(pending.text) });
      pending = null;
      continue;
    }
    const header = /^\s{0,64}\[{1,2}([^\]]{1,200})\]{1,2}\s{0,64}$/.exec(line);
    if (header !== null) {
      section = header[1]!.trim();
      continue;
    }
    const setting = /^\s{0,64}("?[\w.-]{1,200}"?)\s{0,64}=\s{0,64}(\S.{0,8000})$/.exec(line);
    if (setting === null) continue;
    const key = [section, setting[1]!.replaceAll('"', '')].filter((part) => part !== '').join('.');
    const at = match.index + match[0].indexOf(setting[1]!);
    const value = setting[2]!.trim();
    if (value.startsWith('[') && !closes(value)) pending = { key, at, text: value, lines: 1 };
    else entries.push({ key, at, value: value.startsWith('{') ? scalar(value, at) : readLiteral(value) });
  }
  return { trees: [{ kind: 'map', entries, at: 0 }], notes: [] };
}

function scalar(text: string, at: number): Literal {
  return { kind: 'scalar', text, isQuoted: false, at };
}

function closes(text: string): boolean {
  return text.trimEnd().endsWith(']');
}

function withoutComment(line: string): string {
  let quote = '';
  for (let index = 0; index < line.length; index += 1) {
    const char = line[index]!;
    if (quote !== '') {
      if (char === quote) quote = '';
    } else if (char === '"' || char === "'") quote = char;
    else if (char === '#') return line.slice(0, index);
  }
  return line;
}
