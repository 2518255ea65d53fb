/**
 * The data blocks of the page: documents of JSON that no text can break out of, and bytes as base64 of gzip. The same
 * input gives the same bytes. Pure.
 */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { visibleJson } from '../../model/escape-controls.js';
import { element, type SafeHtml, trusted } from './html.js';

/**
 * A document of JSON in which no character ends the element or a line of script, and none reorders what a reader of the
 * source sees.
 */
export function jsonBlock(id: string, value: unknown): SafeHtml {
  const json = visibleJson(JSON.stringify(value)).replaceAll(
    /[<>&]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return element('script', { type: 'application/json', id }, trusted(json));
}

/** Byte 9 of a gzip header: the operating system that wrote it. 255: unknown. */
const OS = 9;

export function bytesBlock(id: string, bytes: Uint8Array): SafeHtml {
  const compressed = gzipSync(bytes, { level: 9 });
  // The time in the header is 0. The system would differ from one machine to another.
  compressed[OS] = 255;
  return element('script', { type: 'application/octet-stream', id }, trusted(compressed.toString('base64')));
}

/** `'sha256-…'` of an inline script or style, as a source of a content security policy. */
export function hashSource(content: string): string {
  return `'sha256-${createHash('sha256').update(content, 'utf8').digest('base64')}'`;
}

/**
 * Nothing is loaded, no script but this one runs, no markup is made from a string. `img-src data:`: the empty icon, so
 * that a browser does not ask a server for one.
 */
export function contentSecurityPolicy(script: string, style: string): string {
  return [
    "default-src 'none'",
    `script-src ${hashSource(script)}`,
    `style-src ${hashSource(style)}`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
}
