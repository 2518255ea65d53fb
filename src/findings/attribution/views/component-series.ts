/** Live bytes by component over a trace: at the moment of each slice at which most is live. */

import { NEVER } from '../../../attribution/blocks/lives.js';
import { COMPONENTS, type Component } from '../../../model/vocabulary.js';
import type { DeviceAttribution } from '../attribute-device.js';

export interface ComponentSeries {
  /** Those that are live at any of the moments, in order of their largest bytes. */
  readonly components: readonly Component[];
  /** Per slice: bytes by component, in that order; a slice without an entry has those before it. */
  readonly bytes: readonly (readonly number[])[];
}

/** A slice of the trace, by entries; null = no entry falls into it. Slices come in order. */
export interface SeriesSlice {
  readonly first_seq: number | null;
  readonly last_seq: number | null;
}

/** One pass over the entries. */
export function componentSeries(of: DeviceAttribution, slices: readonly SeriesSlice[]): ComponentSeries {
  const { lives } = of;
  const componentOfLabel = of.table.labels.map(({ component }) => COMPONENTS.indexOf(component));
  const endsAt = new Int32Array(lives.events).fill(-1);
  const now = new Float64Array(COMPONENTS.length);
  let total = 0;
  const add = (row: number, sign: 1 | -1): void => {
    const component = componentOfLabel[of.label[row]!]!;
    now[component] = now[component]! + sign * lives.bytes[row]!;
    total += sign * lives.bytes[row]!;
  };
  for (let row = 0; row < lives.count; row += 1) {
    if (lives.freedSeq[row] !== NEVER) endsAt[lives.freedSeq[row]!] = row;
    if (row < lives.starts) add(row, 1);
  }
  const found: Float64Array[] = [];
  let seq = 0;
  let born = lives.starts;
  const passTo = (end: number, best: Float64Array | undefined): void => {
    let most = best === undefined ? Number.POSITIVE_INFINITY : total;
    best?.set(now);
    for (; seq <= end && seq < lives.events; seq += 1) {
      if (lives.allocSeq[born] === seq) add(born++, 1);
      else if (endsAt[seq]! >= 0) add(endsAt[seq]!, -1);
      if (total <= most) continue;
      most = total;
      best?.set(now);
    }
  };
  let isFirst = true;
  for (const { first_seq: first, last_seq: last } of slices) {
    const best = new Float64Array(COMPONENTS.length);
    if (first === null || last === null) best.set(now);
    else {
      // What was live before a slice's first entry belongs to the slice before; to the first one if there is none.
      passTo(isFirst ? first - 1 : first, undefined);
      isFirst = false;
      passTo(last, best);
    }
    found.push(best);
  }
  const largest = COMPONENTS.map((_, i) => found.reduce((most, bytes) => Math.max(most, bytes[i]!), 0));
  const order = COMPONENTS.map((_, i) => i)
    .filter((i) => largest[i]! > 0)
    .sort((a, b) => largest[b]! - largest[a]!);
  return {
    components: order.map((i) => COMPONENTS[i]!),
    bytes: found.map((bytes) => order.map((i) => bytes[i]!)),
  };
}
