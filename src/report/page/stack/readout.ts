/** Figures at the cursor: a line, a table that is also the legend of the stack, and a line for screen readers. */
import { formatBytes } from '../../../model/units.js';
import { scaleOf } from '../axis.js';
import { announcer, element, setText } from '../dom.js';
import { paintSign } from '../legend.js';
import { componentName, exactBytes, momentName, stepOf } from '../names.js';
import { cssOf, type Palette } from '../palette.js';
import { type StateAt, stateAt } from '../state-at.js';
import { timeText } from '../ticks.js';
import type { Loaded, ViewState } from '../view-state.js';

export interface Readout {
  show(state: ViewState, palette: Palette): void;
}

/** `line` gets the sentence, `list` the table. */
export function mountReadout(line: HTMLElement, list: HTMLElement, loaded: Loaded): Readout {
  const { page } = loaded;
  const sentence = element('p', 'readout');
  // The page has a line for it; one that is made later is not announced by all browsers.
  const spoken = document.getElementById('readout') ?? line.appendChild(element('p'));
  const speak = announcer(spoken);
  line.append(sentence);
  const table = element('table', 'at-cursor');
  table.append(element('caption', '', 'At the cursor'));
  const body = element('tbody');
  table.append(body);
  list.append(table);

  const addRow = (name: string, isSum = false): Row => {
    const row = element('tr', isSum ? 'sum' : '');
    const sign = element('span', 'sign');
    sign.setAttribute('aria-hidden', 'true');
    const head = element('th');
    head.scope = 'row';
    head.append(sign, name);
    const bytes = element('td');
    row.append(head, bytes);
    body.append(row);
    return { root: row, sign, bytes };
  };
  // In the order of the picture, from the top down.
  const reserved = addRow('reserved', true);
  const cached = addRow('cached, free');
  const privateFree = addRow('private pools, free');
  const active = addRow('active', true);
  const components = [...page.components.keys()].reverse().map((c) => ({
    c,
    row: addRow(componentName(page.components[c]!)),
  }));
  const pending = addRow('of it pending free');

  let shownPalette: Palette | null = null;
  const paint = (palette: Palette): void => {
    shownPalette = palette;
    const { free, ink, background } = palette;
    reserved.sign.style.setProperty('background', cssOf(ink));
    reserved.sign.classList.add('thin');
    active.sign.style.setProperty('background', 'none');
    cached.sign.style.setProperty('background', cssOf(free));
    paintSign(privateFree.sign, palette.privateFree, true);
    paintSign(pending.sign, palette.pending, true, background, 45);
    for (const { c, row } of components) paintSign(row.sign, palette.component[c]!, palette.hatched[c] === 1);
  };

  let shownCursor = Number.NaN;
  return {
    show: (state, palette) => {
      if (palette !== shownPalette) paint(palette);
      if (state.cursor === shownCursor) return;
      shownCursor = state.cursor;
      const at = stateAt(loaded, Math.floor(state.cursor));
      const text = at === null ? 'The page has no figures for this entry.' : sentenceOf(loaded, at);
      setText(sentence, text);
      speak(text);
      const set = ({ root, bytes: cell }: Row, bytes: number): void => {
        setText(cell, formatBytes(bytes), exactBytes(bytes));
        root.classList.toggle('none', bytes === 0);
      };
      if (at === null) {
        for (const cell of body.querySelectorAll('td')) setText(cell, '—');
        return;
      }
      const ofPrivate = Math.max(0, at.privateReserved - at.privateActive);
      set(reserved, at.reserved);
      set(cached, at.reserved - at.active - ofPrivate);
      set(privateFree, ofPrivate);
      set(active, at.active);
      for (const { c, row } of components) set(row, at.components[c]!);
      set(pending, at.pending);
    },
  };
}

interface Row {
  readonly root: HTMLElement;
  readonly sign: HTMLElement;
  readonly bytes: HTMLElement;
}

/** `After entry 1,024, step 3, about 1.25 s: 3.00 GiB active, 4.00 GiB reserved.` */
export function sentenceOf({ page, columns }: Loaded, at: StateAt): string {
  const moment = momentName(page, at);
  const step = stepOf(page, at.at);
  const us = page.firstTimeUs === null ? null : scaleOf(page, columns, 'time').valueOf(at.at);
  const where = [
    moment.charAt(0).toUpperCase() + moment.slice(1),
    ...(step === null ? [] : [`step ${step}`]),
    ...(us === null ? [] : [`about ${timeText(us)} after the first entry`]),
  ].join(', ');
  return `${where}: ${formatBytes(at.active)} active, ${formatBytes(at.reserved)} reserved.`;
}
