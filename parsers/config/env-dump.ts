/** Environments: `env`, `printenv`, `export -p`, `declare -x`, and copies of /proc/PID/environ. */

export interface EnvEntry {
  readonly name: string;
  readonly value: string;
  /** Index of the name in the text. */
  readonly at: number;
}

const LINE = /^(?:declare -[a-z-]{0,6}x[a-z-]{0,6} |export |setenv )?([A-Za-z_]\w{0,199})[= ]/;

/**
 * One entry per line; lines that begin no entry belong to a value with line breaks, or to a function, and are passed
 * over.
 */
export function readEnvLines(text: string): EnvEntry[] {
  const entries: EnvEntry[] = [];
  for (let from = 0; from < text.length; ) {
    const feed = text.indexOf('\n', from);
    const end = feed < 0 ? text.length : feed;
    const line = text.slice(from, text[end - 1] === '\r' ? end - 1 : end);
    const match = LINE.exec(line);
    const isAssignment = match !== null && (line[match[0].length - 1] === '=' || line.startsWith('setenv '));
    if (isAssignment) {
      entries.push({
        name: match[1]!,
        value: unquoted(line.slice(match[0].length)),
        at: from + match[0].length - 1 - match[1]!.length,
      });
    }
    from = end + 1;
  }
  return entries;
}

/** `export -p` of bash quotes with `"` and escapes, that of dash and ksh with `'`. */
function unquoted(value: string): string {
  const double = /^"([\s\S]*)"$/.exec(value);
  if (double !== null) return double[1]!.replace(/\\([\\"$`])/g, '$1');
  const ansi = /^\$?'([\s\S]*)'$/.exec(value);
  return ansi === null ? value : ansi[1]!.replaceAll("'\\''", "'");
}

/** Entries end with NUL: the kernel's own form. */
export function readEnviron(text: string): EnvEntry[] {
  const entries: EnvEntry[] = [];
  for (let from = 0; from < text.length; ) {
    const nul = text.indexOf('\0', from);
    const end = nul < 0 ? text.length : nul;
    const equals = text.indexOf('=', from);
    if (equals > from && equals < end) {
      const name = text.slice(from, equals);
      if (/^[A-Za-z_]\w{0,199}$/.test(name)) entries.push({ name, value: text.slice(equals + 1, end), at: from });
    }
    from = end + 1;
  }
  return entries;
}
