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
