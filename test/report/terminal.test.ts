/** The one way out of the program, and what comes through. */
import { afterEach, describe, expect, it } from 'vitest';
import { escapeControls, shellWord, visibleJson, visibleLines, visibleText } from '../../src/model/escape-controls.js';
import { toJson } from '../../src/report/json.js';
import { bold, forTerminal, red, setScreen } from '../../src/report/screen.js';
import { csvLine, jsonLine } from '../../src/report/store/sql-text.js';

/** Code points that cannot be seen, or that do something at a terminal. */
const INVISIBLE = (
  '0 7 8 1b 7f 80 9b 9d ad 61c 115f 180e 200b 200d 200e 200f 2028 2029 202a 202e 2060 2066 2069 3164 ' +
  'feff ffa0 fdd0 fffe e000 d800 dc00 e0001 e0041 10ffff'
)
  .split(' ')
  .map((hex) => String.fromCodePoint(Number.parseInt(hex, 16)));
const VISIBLE = 'Zürich|e\u0301|日本語|שלום|سلام|हिन्दी|ไทย|👍🏽|❤️|·–…█▒|\u00a0|\u3000'.split('|');

afterEach(() => setScreen({ width: 100, color: false }));

describe('characters', () => {
  it.each(INVISIBLE.map((sign) => [sign.codePointAt(0)!.toString(16), sign]))('U+%s is shown escaped', (hex, sign) => {
    for (const shown of [visibleText(sign), visibleLines(sign), forTerminal(sign, false)])
      expect([`\\u{${hex}}`, '']).toContain(shown);
    expect(escapeControls(sign)).toBe(hex.length > 2 ? `\\u{${hex}}` : `\\x${hex.padStart(2, '0')}`);
    const json = toJson({ [sign]: sign });
    expect(json).toMatch(/^[\n -~]+$/);
    expect(JSON.parse(json)).toEqual({ [sign]: sign });
    expect(jsonLine([{ name: sign }], [sign])).toMatch(/^[\n -~]+$/);
    expect(shellWord(sign)).toMatch(/^\$'[ -~]+'$/);
    expect(csvLine([sign])).toBe(`\\u{${hex}}\n`);
    expect(csvLine([sign], true)).toBe(`${sign}\n`);
  });

  it.each(VISIBLE)('%s stays', (text) => {
    for (const show of [visibleText, visibleLines, escapeControls, visibleJson]) expect(show(text)).toBe(text);
    expect(forTerminal(text, true)).toBe(text);
    expect(csvLine([text])).toBe(`${text}\n`);
  });

  it('of a line end are blanks in a line, and stay in lines', () => {
    expect(escapeControls('a\tb\nc\rd')).toBe('a b c d');
    expect(visibleLines('a\tb\nc\rd')).toBe('a\tb\nc\\u{d}d');
  });
});

describe('colours', () => {
  it('are ours alone: an escape sequence in a text is none', () => {
    setScreen({ width: 100, color: true });
    const text = bold(`a ${red('b')} \u001b[31mc`);
    expect(forTerminal(text, true)).toBe('\u001b[1ma \u001b[31mb\u001b[39m \\u{1b}[31mc\u001b[22m');
    expect(forTerminal(text, false)).toBe('a b \\u{1b}[31mc');
    expect(forTerminal(escapeControls(bold('x')), true)).toBe('\\u{fdd0}x\\u{fdd1}');
  });

  it('are not in a text without them', () => {
    expect(bold(red('a'))).toBe('a');
  });
});

describe('cells of CSV', () => {
  it.each(['=1+1', '+1+1', '-1+1', '@SUM(A1)', '\t=1', '\n=1', '-', '=', '＝1', '－x', "=cmd|'/C calc'!A0"])(
    'that begin with a sign of formulas: %j',
    (text) => {
      expect(csvLine([text, text]).startsWith(/[",\n]/.test(text) ? `"'` : "'")).toBe(true);
      expect(csvLine([text], true)).not.toContain(`'${text}`);
    },
  );

  it.each([-1, -1.5, -1n, 1, '-1', '-1.5e-05', '+2', '12', 'a=1', '', null, true, "'x"])('others stay: %s', (cell) => {
    expect(csvLine([cell])).toBe(`${cell ?? ''}\n`);
  });
});
