/** The sentences of what disturbed a run. */
import type { Disturbance } from '../../model/measurement.js';
import { formatCount } from '../../model/units.js';
import type { QueryRow } from '../../store/query-catalog.js';

type Sign = QueryRow<'measure.disturbances'>;

export function disturbanceOf(sign: Sign): Disturbance {
  return { kind: sign.kind as Disturbance['kind'], text: SIGNS[sign.sign]!(sign) };
}

const placeOf = ({ file, line }: Sign): string => `(${file} line ${formatCount(line!)})`;
const rankOf = (rank: number | null): string => `rank ${rank ?? 'unknown'}`;

const SIGNS: Readonly<Record<string, (sign: Sign) => string>> = {
  detected: (sign) =>
    `straggler detection names ${sign.rank === null ? (sign.text ?? 'some ranks') : rankOf(sign.rank)} ${placeOf(sign)}`,
  round_trip: (sign) =>
    `${rankOf(sign.rank)} takes ${sign.value} ms a step, ${rankOf(sign.other_rank)} ${sign.other_value} ms ${placeOf(sign)}`,
  clock: (sign) =>
    `${rankOf(sign.rank)} runs at ${sign.value} MHz, ${rankOf(sign.other_rank)} at ${sign.other_value} MHz ${placeOf(sign)}`,
  score: (sign) => `${rankOf(sign.rank)} has a performance score of ${sign.value} ${placeOf(sign)}`,
  failure: (sign) => `${sign.text!.split('\n')[0]!.slice(0, 160)} ${placeOf(sign)}`,
  retries: ({ value }) =>
    `the allocator had to flush its cache ${formatCount(value!)} times, each a stop of the device`,
  spread: ({ value }) => `steps of one run differ by ±${Math.round(value!)} %`,
};
