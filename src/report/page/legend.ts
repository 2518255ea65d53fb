/** Legends below the drawings: a swatch and a text for each colour. */
import { element } from './dom.js';
import { cssOf } from './palette.js';
import { darker } from './raster.js';

export type LegendItem =
  | { readonly kind: 'swatch'; readonly text: string; readonly color: number; readonly hatched: boolean }
  | { readonly kind: 'outline'; readonly text: string; readonly color: number }
  | { readonly kind: 'ramp'; readonly from: string; readonly to: string; readonly gradient: string };

export const swatch = (text: string, color: number, hatched = false): LegendItem => ({
  kind: 'swatch',
  text,
  color,
  hatched,
});

/** Replaces the content of `root`. */
export function showLegend(root: HTMLElement, items: readonly LegendItem[]): void {
  root.replaceChildren(
    ...items.map((item) => {
      const entry = element('span', 'legend-item');
      const sign = element('span', item.kind === 'ramp' ? 'legend-ramp' : 'legend-swatch');
      sign.setAttribute('aria-hidden', 'true');
      if (item.kind === 'ramp') {
        sign.style.setProperty('background-image', item.gradient);
        entry.append(element('span', '', item.from), sign, element('span', '', item.to));
        return entry;
      }
      const color = cssOf(item.color);
      if (item.kind === 'outline') sign.style.setProperty('box-shadow', `inset 0 0 0 2px ${color}`);
      else if (item.hatched) {
        const stripes = `${color} 0 3px, ${cssOf(darker(item.color))} 3px 6px`;
        sign.style.setProperty('background-image', `repeating-linear-gradient(135deg, ${stripes})`);
      } else sign.style.setProperty('background-color', color);
      entry.append(sign, element('span', '', item.text));
      return entry;
    }),
  );
}
