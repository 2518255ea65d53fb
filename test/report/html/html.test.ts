/** The builder of the page: what comes from a file is a text, whatever it contains. */
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { bytesBlock, jsonBlock } from '../../../src/report/html/data-blocks.js';
import { element, text } from '../../../src/report/html/html.js';
import { readHtml, textOf } from './sound-html.js';

const HOSTILE = '</script><img src=x onerror="alert(1)"> & \'q\'';

describe('text and element', () => {
  it('escape what would end a text or an attribute', () => {
    const html = element('p', { title: HOSTILE, hidden: true, id: null }, text(HOSTILE));
    expect(html).not.toMatch(/<(?!\/?p[ >])/);
    const node = readHtml(html).children[0]!;
    expect(textOf(node)).toBe(HOSTILE);
    expect(typeof node === 'string' ? null : Object.fromEntries(node.attributes)).toEqual({
      title: HOSTILE,
      hidden: '',
    });
  });

  it('show control characters, marks of direction and halves of surrogate pairs', () => {
    expect(text('a\u202eb\u0000c\ud800d\u2066\u001b[31m\u2028')).toBe(
      'a\\u{202e}b\\u{0}c\\u{d800}d\\u{2066}\\u{1b}[31m\\u{2028}',
    );
    expect(text('tab\tline\nend 😀 ü')).toBe('tab\tline\nend 😀 ü');
  });

  it('do not take a string that was not escaped', () => {
    // @ts-expect-error: a string is not SafeHtml
    element('p', {}, HOSTILE);
  });
});

describe('data blocks', () => {
  it('hold JSON that no text can break out of', () => {
    const value = { title: `${HOSTILE}<!--\u2028\u202e` };
    const block = jsonBlock('page', value);
    const json = /^<script type="application\/json" id="page">(.*)<\/script>$/.exec(block)![1]!;
    expect(json).not.toMatch(/[<>&\u2028\u2029\u202e]/);
    expect(JSON.parse(json)).toEqual(value);
  });

  it('hold bytes as gzip without time and system', () => {
    const bytes = Uint8Array.from({ length: 10_000 }, (_, i) => (i * 7) % 256);
    const base64 = />([^<]*)</.exec(bytesBlock('device-0', bytes))![1]!;
    const compressed = Buffer.from(base64, 'base64');
    expect([...compressed.subarray(4, 10)]).toEqual([0, 0, 0, 0, 2, 255]);
    expect(new Uint8Array(gunzipSync(compressed))).toEqual(bytes);
  });
});
