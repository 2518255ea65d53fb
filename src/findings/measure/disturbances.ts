/**
 * What makes a run slow, or its memory odd, without its code being to blame: a bisection must not blame a commit for
 * them.
 */

import { threshold } from '../../knowledge/thresholds/threshold.js';
import { maxOf } from '../../model/lists.js';
import type { Disturbance, MeasuredRank, MeasuredSteps } from '../../model/measurement.js';
import type { LogIncident } from '../../model/results/log.js';
import { formatCount } from '../../model/units.js';

interface Figure {
  readonly name: string;
  readonly value: number | null;
  readonly rank: number | null;
  readonly text: string | null;
  readonly file: string;
  readonly line: number;
}

const STRAGGLER_RATIO = threshold('disturbances.straggler_factor');
const CLOCK_RATIO = threshold('disturbances.clock_share');
const LOW_SCORE = threshold('disturbances.low_score');
const UNEVEN = threshold('disturbances.uneven_share');

export function findDisturbances(
  values: readonly Figure[],
  steps: MeasuredSteps | null,
  ranks: readonly MeasuredRank[],
  incidents: readonly LogIncident[],
): Disturbance[] {
  const disturbances: Disturbance[] = [];
  const figure = (name: string): Figure | undefined => values.find((value) => value.name === name);
  const place = ({ file, line }: Figure): string => `${file} line ${formatCount(line)}`;
  for (const name of ['straggler.detected_relative', 'straggler.detected_individual']) {
    const detected = figure(name);
    if (detected === undefined) continue;
    const who = detected.rank === null ? (detected.text ?? 'some ranks') : `rank ${detected.rank}`;
    disturbances.push({ kind: 'straggler', text: `straggler detection names ${who} (${place(detected)})` });
  }
  const slowest = figure('straggler.max_round_trip');
  const fastest = figure('straggler.min_round_trip');
  if (slowest?.value != null && fastest?.value != null && slowest.value > STRAGGLER_RATIO * fastest.value)
    disturbances.push({
      kind: 'straggler',
      text: `rank ${slowest.rank ?? 'unknown'} takes ${slowest.value} ms a step, rank ${fastest.rank ?? 'unknown'} ${fastest.value} ms (${place(slowest)})`,
    });
  const [low, high] = [figure('straggler.min_clock'), figure('straggler.max_clock')];
  if (low?.value != null && high?.value != null && low.value < CLOCK_RATIO * high.value)
    disturbances.push({
      kind: 'throttling',
      text: `rank ${low.rank ?? 'unknown'} runs at ${low.value} MHz, rank ${high.rank ?? 'unknown'} at ${high.value} MHz (${place(low)})`,
    });
  const scores = values.filter(
    ({ name, value }) => name.startsWith('straggler.score.') && value !== null && value < LOW_SCORE,
  );
  if (scores[0] !== undefined && !disturbances.some(({ kind }) => kind === 'straggler'))
    disturbances.push({
      kind: 'straggler',
      text: `rank ${scores[0].rank ?? 'unknown'} has a performance score of ${scores[0].value} (${place(scores[0])})`,
    });
  const hot = incidents.find(({ kind, text }) => kind === 'hardware' && /thrott|slowdown|power brake|Xid/i.test(text));
  if (hot !== undefined)
    disturbances.push({
      kind: 'throttling',
      text: `${hot.text.split('\n')[0]!.slice(0, 160)} (${hot.file} line ${formatCount(hot.line)})`,
    });
  const retries = Math.max(0, maxOf(ranks.map((rank) => rank.alloc_retries ?? 0)));
  if (retries > 0)
    disturbances.push({
      kind: 'alloc_retries',
      text: `the allocator had to flush its cache ${formatCount(retries)} times, each a stop of the device`,
    });
  if (steps !== null && steps.spread_ms > UNEVEN * steps.median_ms)
    disturbances.push({
      kind: 'uneven_steps',
      text: `steps of one run differ by ±${Math.round((100 * steps.spread_ms) / steps.median_ms)} %`,
    });
  return disturbances;
}
