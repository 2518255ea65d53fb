/**
 * One axis for two devices. Steps of the same name are at the same place; where none have the same name, entries are
 * counted from the first one of each. Places begin with 0. Pure.
 */
import { visibleText } from '../../../model/escape-controls.js';
import type { PageDevice } from '../../../model/picture/page-data.js';
import { formatCount } from '../../../model/units.js';
import { roundStep } from '../../axis-labels.js';
import { interpolate } from '../axis.js';

import type { Tick } from '../ticks.js';

export interface PairAxis {
  readonly by: 'step' | 'entry';
  readonly end: number;
  /** Places at which a step of both begins. */
  readonly starts: readonly number[];
  /** Entry of device 0 or 1. */
  seqOf(device: 0 | 1, place: number): number;
  placeOf(device: 0 | 1, seq: number): number;
  ticks(from: number, to: number, most: number): Tick[];
  /** `step 3`, or `entry 1,024`. */
  nameAt(place: number): string;
}

export function pairAxis(a: PageDevice, b: PageDevice): PairAxis {
  const common = commonSteps(a, b);
  return common.length === 0 ? byEntry(a, b) : byStep(a, b, common);
}

type Step = PageDevice['steps'][number];

/** Steps of the same name, in the order of both. */
function commonSteps(a: PageDevice, b: PageDevice): (readonly [Step, Step])[] {
  const places = new Map(b.steps.map((step, i) => [step.name, i]));
  const pairs: (readonly [Step, Step])[] = [];
  let last = -1;
  for (const step of a.steps) {
    const place = places.get(step.name);
    if (place === undefined || place <= last) continue;
    last = place;
    pairs.push([step, b.steps[place]!]);
  }
  return pairs;
}

function byEntry(a: PageDevice, b: PageDevice): PairAxis {
  const firsts = [a.firstSeq, b.firstSeq] as const;
  return {
    by: 'entry',
    end: Math.max(a.lastSeq - a.firstSeq, b.lastSeq - b.firstSeq) + 1,
    starts: [],
    seqOf: (device, place) => firsts[device] + place,
    placeOf: (device, seq) => seq - firsts[device],
    ticks: (from, to, most) => {
      const step = Math.max(1, Math.ceil(roundStep(to - from, most)));
      const ticks: Tick[] = [];
      for (let at = Math.ceil(from / step) * step; at < to; at += step) ticks.push({ at, text: formatCount(at) });
      return ticks;
    },
    nameAt: (place) => `entry ${formatCount(Math.floor(place))} from the first one`,
  };
}

/** A step of both is 1 wide. What is around steps is as wide as its entries are of a mean step, at most 1. */
function byStep(a: PageDevice, b: PageDevice, common: readonly (readonly [Step, Step])[]): PairAxis {
  const means = [meanEntries(common.map(([step]) => step)), meanEntries(common.map(([, step]) => step))] as const;
  const seqs: readonly [number[], number[]] = [[a.firstSeq], [b.firstSeq]];
  const knots = { places: [0], seqs };
  const add = (toA: number, toB: number, width: number): void => {
    if (width <= 0) return;
    knots.places.push(knots.places.at(-1)! + width);
    knots.seqs[0].push(toA);
    knots.seqs[1].push(toB);
  };
  const addGap = (toA: number, toB: number): void => {
    const share = Math.max((toA - knots.seqs[0].at(-1)!) / means[0]!, (toB - knots.seqs[1].at(-1)!) / means[1]!);
    add(toA, toB, Math.min(1, share));
  };
  const starts: number[] = [];
  for (const [stepA, stepB] of common) {
    addGap(stepA.first, stepB.first);
    starts.push(knots.places.at(-1)!);
    add(stepA.last + 1, stepB.last + 1, 1);
  }
  addGap(a.lastSeq + 1, b.lastSeq + 1);
  const places = Float64Array.from(knots.places);
  const columns = [Float64Array.from(seqs[0]), Float64Array.from(seqs[1])] as const;
  const end = knots.places.at(-1)!;
  const names = common.map(([step]) => visibleText(step.name));
  return {
    by: 'step',
    end,
    starts,
    seqOf: (device, place) => interpolate(places, columns[device], place),
    placeOf: (device, seq) => Math.min(end, interpolate(columns[device], places, seq)),
    ticks: (from, to, most) => {
      const shown = starts
        .map((start, i) => ({ left: Math.max(from, start), right: Math.min(to, start + 1), text: names[i]! }))
        .filter(({ left, right }) => left < right);
      const every = Math.max(1, Math.ceil(shown.length / Math.max(1, most)));
      return shown
        .filter((_, i) => i % every === 0)
        .map(({ left, right, text }) => ({ at: (left + right) / 2, text, isMiddle: true }));
    },
    nameAt: (place) => {
      const i = starts.findLastIndex((start) => start <= place);
      if (i < 0) return `before step ${names[0]!}`;
      return place < starts[i]! + 1 ? `step ${names[i]!}` : `after step ${names[i]!}`;
    },
  };
}

function meanEntries(steps: readonly Step[]): number {
  return Math.max(1, steps.reduce((sum, { first, last }) => sum + last - first + 1, 0) / steps.length);
}
