/** The head of the page: what happened, in the largest letters, and what is known next to it. Pure. */
import type { Document, Paragraph, Part, Tone } from '../document/document.js';
import { partsHtml } from '../render/html.js';
import { plainText } from '../render/plain.js';
import { type Child, element, text, textElement } from './html.js';

export interface PageHead {
  readonly tone: Tone;
  /** One word or two: `OOM`. */
  readonly badge: string;
  /** `run night-shift`, `rank 3`. */
  readonly places: readonly string[];
  readonly title: string;
  readonly summary: Child;
  /** Boxes next to each other: what to do, and why. */
  readonly boxes: readonly Child[];
  readonly below: Child;
}

/** Its lead or title, and the other paragraphs that it begins with. */
export function documentHead(badge: string, tone: Tone, shown: Document): PageHead {
  const left = documentRest(shown);
  const words = shown.parts.slice(0, shown.parts.length - left.length) as Paragraph[];
  const lead = words.find(({ style }) => style === 'lead');
  return {
    ...{ tone, badge, title: plainText(lead?.text ?? shown.title), boxes: [], below: null },
    places: lead === undefined ? [] : [plainText(shown.title)],
    summary: partsHtml(words.filter((one) => one !== lead)),
  };
}

/** What {@link documentHead} leaves. */
export function documentRest({ parts }: Document): readonly Part[] {
  const first = parts.findIndex(({ type }) => type !== 'paragraph');
  return first < 0 ? [] : parts.slice(first);
}

/** A titled box; nothing without content. */
export function box(kind: string, title: string, ...children: readonly Child[]): Child {
  if (children.every((child) => child === null || child === false || child === undefined || child.length === 0))
    return null;
  const id = `box-${kind}`;
  return element(
    'div',
    { class: `box ${kind}`, role: 'group', 'aria-labelledby': id },
    textElement('h2', title, { id }),
    children,
  );
}

export function headHtml({ tone, badge, places, title, summary, boxes, below }: PageHead, name = 'header'): Child {
  const shown = boxes.filter((child) => child !== null && child !== false);
  return element(
    name,
    { class: `head ${tone}`, id: name === 'header' ? 'verdict' : 'diagnosis' },
    element(
      'p',
      { class: 'places' },
      textElement('strong', badge, { class: 'badge' }),
      places.map((place) => element('span', {}, text(place))),
    ),
    textElement(name === 'header' ? 'h1' : 'h2', title, { class: 'title' }),
    summary,
    shown.length > 0 && element('div', { class: 'boxes' }, shown),
    below,
  );
}
