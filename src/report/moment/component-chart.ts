/** A stacked area of components in letters, to print with the chart of allocated and reserved memory. */
import { maxOf } from '../../model/lists.js';
import type { TimelineComponents } from '../../model/results/timeline.js';
import { type Component, STACKING_ORDER } from '../../model/vocabulary.js';
import { wordOf } from '../words/fill.js';

const componentLetter = wordOf('codes', 'component_letters');

interface LegendEntry {
  readonly sign: string;
  readonly component: Component;
  /** At most. */
  readonly bytes: number;
}

/** Rows from the top down, without gutter; `topBytes` is the upper edge. */
export function componentRows(
  series: TimelineComponents,
  width: number,
  height: number,
): { readonly rows: readonly string[]; readonly topBytes: number; readonly legend: readonly LegendEntry[] } {
  const order = STACKING_ORDER.filter((component) => series.components.includes(component));
  const places = order.map((component) => series.components.indexOf(component));
  const slices = fold(series.bytes, width);
  const topBytes = Math.max(1, maxOf(slices.map((bytes) => bytes.reduce((sum, part) => sum + part, 0))));
  const columns = slices.map((bytes) => {
    let below = 0;
    const edges = places.map((place) => {
      below += bytes[place] ?? 0;
      return below;
    });
    return Array.from({ length: height }, (_, row) => {
      const middle = ((row + 0.5) / height) * topBytes;
      const at = edges.findIndex((edge) => edge > middle);
      return at < 0 ? ' ' : componentLetter(order[at]!);
    });
  });
  const rows = Array.from({ length: height }, (_, i) =>
    columns
      .map((column) => column[height - 1 - i])
      .join('')
      .trimEnd(),
  );
  const largest = (place: number): number => Math.max(0, maxOf(series.bytes.map((bytes) => bytes[place] ?? 0)));
  const legend = order.map((component, i) => ({
    sign: componentLetter(component),
    component,
    bytes: largest(places[i]!),
  }));
  return { rows, topBytes, legend };
}

/** Exactly `width` columns: stretched, or of several slices the one with the most. */
function fold(slices: readonly (readonly number[])[], width: number): (readonly number[])[] {
  const total = (bytes: readonly number[]): number => bytes.reduce((sum, part) => sum + part, 0);
  return Array.from({ length: width }, (_, i) => {
    const from = Math.floor((i * slices.length) / width);
    const to = Math.max(from + 1, Math.ceil(((i + 1) * slices.length) / width));
    return slices.slice(from, to).reduce((most, bytes) => (total(bytes) > total(most) ? bytes : most));
  });
}
