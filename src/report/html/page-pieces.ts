/** Pieces that several sections of the page write alike. Pure. */
import { formatCount } from '../../model/units.js';
import { type Child, element, join, type SafeHtml, text, textElement } from './html.js';

/** One part of the page with its place in the list of contents. */
export interface PageSection {
  readonly id: string;
  /** In the list of contents; short. */
  readonly name: string;
  readonly html: SafeHtml;
}

/** A section with a heading, one sentence of what it shows, and its content. Null without content. */
export function section(
  id: string,
  { name, title = name, about }: { readonly name: string; readonly title?: string; readonly about?: string | null },
  ...children: readonly Child[]
): PageSection | null {
  const content = join(children);
  if (content === '') return null;
  const html = element(
    'section',
    { id, 'aria-labelledby': `${id}-title` },
    textElement('h2', title, { id: `${id}-title` }),
    about !== undefined && about !== null && textElement('p', about, { class: 'about' }),
    content,
  );
  return { id, name, html };
}

/** The table that holds the figures of a drawing; closed until a reader opens it, open in print. Nothing if empty. */
export function twin(title: string, ...children: readonly Child[]): SafeHtml | null {
  return folded('twin', title, ...children);
}

/** Details of class `kind`. */
export function folded(kind: string, title: string | SafeHtml[], ...children: readonly Child[]): SafeHtml | null {
  const content = join(children);
  if (content === '') return null;
  const summary = typeof title === 'string' ? text(title) : join(title);
  return element('details', { class: kind }, element('summary', {}, summary), content);
}

/** `64 more are left out`; null if none is. */
export function leftOut(more: number, what: string, where: string): string | null {
  return more > 0 ? `${formatCount(more)} more ${what} not shown: ${where}` : null;
}

/** Titled lists of facts: `<dl>`. Nothing without facts. */
export function facts(entries: readonly (readonly [name: string, value: Child])[], className = 'facts'): Child {
  return (
    entries.length > 0 &&
    element(
      'dl',
      { class: className },
      entries.map(([name, value]) => element('div', {}, textElement('dt', name), element('dd', {}, value))),
    )
  );
}
