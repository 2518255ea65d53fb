/** The one way out of the program, and what comes through. */
import { afterEach, describe, expect, it } from 'vitest';
import { escapeControls, shellWord, visibleJson, visibleLines, visibleText } from '../../src/model/escape-controls.js';
import { toJson } from '../../src/report/json.js';
import { bold, forTerminal, red, setScreen } from '../../src/report/screen.js';
import { csvLine, jsonLine } from '../../src/report/store/sql-text.js';

/** Names with what they do, if anything, at a terminal. */
const INVISIBLE = [
  ...[
    '\u0000',
    '\u0007',
    '\b',
    '\u001b',
    '\u007f',
    '\u0080',
    '\u009b',
    '\u009d',
    '\u00ad',
    '\u061c',
    '\u115f',
    '\u180e',
  ],
  ...['\u200b', '\u200d', '\u200e', '\u200f', '\u2028', '\u2029', '\u202a', '\u202e', '\u2060', '\u2066', '\u2069'],
  ...[
    '\u3164',
    '\ufeff',
    '\uffa0',
    '\ufdd0',
    '\ufffe',
    '\ue000',
    '\ud800',
    '\udc00',
    '\u{e0001}',
    '\u{e0041}',
    '\u{10ffff}',
  ],
];
const VISIBLE = [
  'Zürich',
  'e\u0301',
  '日本語',
  'שלום',
  'سلام',
  'हिन्दी',
  'ไทย',
  '👍🏽',
  '❤️',
  '·–…█▒',
  '\u00a0',
  '\u3000',
];

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
