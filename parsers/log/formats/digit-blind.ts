/** Parts of a pattern: escapes, names of groups, counts, classes, all else. */
const PARTS =
  /\\x[\da-f]{2}|\\u[\da-f]{4}|\\u\{[^}]*\}|\\[\s\S]|\(\?<\w+>|\{\d+(?:,\d*)?\}|\[\^?(?:\\[\s\S]|[^\]\\]){0,999}\]|[\s\S]/gi;
const DIGITS = [...'0123456789'];

const known = new Map<string, boolean>();

/** Whether a pattern treats all digits alike: a text with other digits matches it in the same places. */
export function isDigitBlind({ source }: Pick<RegExp, 'source'>): boolean {
  let isBlind = known.get(source);
  if (isBlind === undefined) {
    isBlind = (source.match(PARTS) ?? []).every((part) => {
      if (/^(?:\d|\\[1-9k])/.test(part)) return false;
      if (!part.startsWith('[')) return true;
      const taken = DIGITS.filter((digit) => new RegExp(part).test(digit)).length;
      return taken === 0 || taken === DIGITS.length;
    });
    known.set(source, isBlind);
  }
  return isBlind;
}

const MOST_MORE = 20;
const anyWidth = new Map<RegExp, RegExp>();

/** A pattern that matches what another one does, and what differs from that in how many digits and blanks there are. */
export function withAnyWidth(pattern: RegExp): RegExp {
  let wide = anyWidth.get(pattern);
  if (wide === undefined) {
    wide = new RegExp(widened(pattern.source), pattern.flags);
    anyWidth.set(pattern, wide);
  }
  return wide;
}

function widened(source: string): string {
  const parts = source.match(PARTS) ?? [];
  let wide = '';
  for (let at = 0; at < parts.length; at += 1) {
    const part = parts[at]!;
    const isOne = /^(?:[^()|^$?*+{}]$|\\[^bBk]|\[)/.test(part);
    const takes = (character: string): boolean => isOne && new RegExp(`^(?:${part})$`).test(character);
    wide += part;
    if (!takes('5') && !takes(' ')) continue;
    const [count, low, high] = /^\{(\d+)(?:,(\d*))?\}$/.exec(parts[at + 1] ?? '') ?? [];
    const isOptional = parts[at + 1] === '?';
    if (parts[at + 1] === '*' || parts[at + 1] === '+') continue;
    if (count !== undefined || isOptional) at += 1;
    // `\d\d` as `\d`; the day of `[ \d]\d` may be blank.
    else while (parts[at + 1] === part && !/^[{?*+]/.test(parts[at + 2] ?? '')) at += 1;
    const least = isOptional || (count === undefined && takes('5') && takes(' ')) ? 0 : Math.min(1, Number(low ?? 1));
    wide += `{${least},${high === '' ? '' : Number(high ?? low ?? 1) + MOST_MORE}}`;
  }
  return wide;
}

export function groupNames({ source }: Pick<RegExp, 'source'>): string[] {
  return [...new Set([...source.matchAll(/\(\?<(\w+)>/g)].map(([, group]) => group!))];
}
