/**
 * Builds HTML from untrusted texts. Only {@link text} and {@link element} make a {@link SafeHtml}, so a string that was
 * not escaped does not compile. Pure.
 */

import { visibleLines } from '../../model/escape-controls.js';

declare const isSafe: unique symbol;
/** Markup whose texts and attributes are escaped. */
export type SafeHtml = string & { readonly [isSafe]: true };

/** Null and false are left out. */
export type Child = SafeHtml | null | false | undefined | readonly Child[];
export type Attributes = Readonly<Record<string, string | number | boolean | null | undefined>>;

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** A text or an attribute's value that renders as itself. */
export function text(value: string | number): SafeHtml {
  return visibleLines(String(value)).replaceAll(/[&<>"']/g, (sign) => ENTITIES[sign]!) as SafeHtml;
}

/** Elements without an end tag. */
const VOID: ReadonlySet<string> = new Set(['br', 'hr', 'link', 'meta', 'wbr']);
/** Elements of SVG that rarely have children. */
const EMPTY: ReadonlySet<string> = new Set(['rect', 'path', 'circle', 'line', 'use']);

/** `name` and the names of attributes are literals of the caller. True: no value. */
export function element(name: string, attributes: Attributes = {}, ...children: readonly Child[]): SafeHtml {
  let start = name;
  for (const [key, value] of Object.entries(attributes))
    if (value === true) start += ` ${key}`;
    else if (value !== false && value !== null && value !== undefined) start += ` ${key}="${text(value)}"`;
  if (VOID.has(name)) return `<${start}>` as SafeHtml;
  const content = join(children);
  return (content === '' && EMPTY.has(name) ? `<${start}/>` : `<${start}>${content}</${name}>`) as SafeHtml;
}

/** One after the other. */
export function join(children: readonly Child[]): SafeHtml {
  let joined = '';
  for (const child of children)
    if (typeof child === 'string') joined += child;
    else if (Array.isArray(child)) joined += join(child);
  return joined as SafeHtml;
}

/** `separator` is a text. */
export function joinWith(separator: string, children: readonly SafeHtml[]): SafeHtml {
  return children.join(text(separator)) as SafeHtml;
}

/** Markup of the generator itself, such as a bundled script: never a text of the input. */
export function trusted(markup: string): SafeHtml {
  return markup as SafeHtml;
}

/** An element that holds one text. */
export function textElement(name: string, value: string | number, attributes: Attributes = {}): SafeHtml {
  return element(name, attributes, text(value));
}

/** Lines to paste or to quote, as they are. */
export function preformatted(lines: readonly string[], attributes: Attributes = {}): SafeHtml {
  return element('pre', attributes, text(lines.join('\n')));
}

/** Nothing without items. */
export function list(items: readonly SafeHtml[], attributes: Attributes = {}, name: 'ul' | 'ol' = 'ul'): Child {
  return (
    items.length > 0 &&
    element(
      name,
      attributes,
      items.map((item) => element('li', {}, item)),
    )
  );
}

/** A list of texts. */
export function textList(texts: readonly string[], attributes: Attributes = {}): Child {
  return list(
    texts.map((one) => text(one)),
    attributes,
  );
}
