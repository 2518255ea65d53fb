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

/** Hatching as a raster has it: stripes of the colour and of `other`. */
export function paintSign(
  sign: HTMLElement,
  color: number,
  hatched: boolean,
  other = darker(color),
  degrees = 135,
): void {
  const stripes = `${cssOf(color)} 0 3px, ${cssOf(other)} 3px 6px`;
  sign.style.setProperty('background', hatched ? `repeating-linear-gradient(${degrees}deg, ${stripes})` : cssOf(color));
}

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
      if (item.kind === 'outline') sign.style.setProperty('box-shadow', `inset 0 0 0 2px ${cssOf(item.color)}`);
      else paintSign(sign, item.color, item.hatched);
      entry.append(sign, element('span', '', item.text));
      return entry;
    }),
  );
}
