/** A comparison of the ranks, one phrase for each remarkable fact. */
import { maxBy } from '../../model/lists.js';
import type { DiagnoseResult, StageSpread } from '../../model/results/common.js';
import { GIB } from '../../model/units.js';
import { rankWords } from '../text-pieces.js';
import { textsOf } from '../words/fill.js';

/** Stages named one by one. */
const MOST_STAGES = 8;
const RANGES = 4;
/** Verdicts that make one ask whether the other ranks look alike. */
const ASKS_WHETHER_ALONE: ReadonlySet<string> = new Set([
  'fragmentation',
  'graph_pools',
  'synchronisation',
  'undecided',
]);

const textOf = textsOf('start', 'ranks');

export function rankPhrases(result: DiagnoseResult): string[] {
  const { ranks } = result;
  const phrases = firstFailurePhrases(result);
  if (ranks === null) return phrases;
  const stages = ranks.stages.filter((stage) => stage.peak_allocated_bytes !== null);
  const count = stages.reduce((sum, stage) => sum + stage.ranks.length, 0);
  if (count > 1) phrases.push(stagePhrase(stages, count));
  // Where the device is full, a small reserve that is not in use explains nothing.
  if (ranks.fragmentation !== null && ASKS_WHETHER_ALONE.has(result.verdicts[0]?.cause ?? '')) {
    const { failed, others, only_failed: only, from } = ranks.fragmentation;
    const spread = spreadText(others.least, others.most);
    const alone = only === true ? 'only' : only === false ? 'not_alone' : 'fragmentation';
    phrases.push(textOf(alone, { ...failed, others: others.ranks, other: others.most_rank, spread, from }));
  }
  const [site] = ranks.pinning?.sites ?? [];
  if (ranks.pinning !== null && site !== undefined && ranks.pinning.ranks.length > 1)
    phrases.push(textOf('pinned', { ...site, of: ranks.pinning.ranks.length }));
  if (ranks.snapshots_left_out > 0) phrases.push(textOf('left_out', ranks));
  return phrases;
}

/** Only where there is more than one rank. */
function firstFailurePhrases({ first_failure: first, verdicts }: DiagnoseResult): string[] {
  if (first === null) return [];
  const phrases = [
    ...(first.also_failed.length > 0 ? [textOf('failed_too', { who: rankWords(first.also_failed, RANGES) })] : []),
    ...(first.victims.length > 0 ? [textOf('waited', { who: rankWords(first.victims, RANGES) })] : []),
  ];
  const isHeadline = verdicts[0] === undefined || first.rank === null || verdicts[0].rank === first.rank;
  return phrases.length === 0 && isHeadline ? [] : [textOf('failed_first', first), ...phrases];
}

const gib = (bytes: number): string => (bytes / GIB).toFixed(2);

function stagePhrase(stages: readonly StageSpread[], count: number): string {
  const peaks = stages.map(({ pp, peak_allocated_bytes: peak }) => {
    const name = pp === null ? 'all' : `PP${pp}`;
    return { ...peak!, name, spread: spreadText(peak!.least, peak!.most) };
  });
  const most = maxBy(peaks, (peak) => peak.most)!;
  const least = maxBy(peaks, (peak) => -peak.least)!;
  const figures = {
    count,
    stages: peaks.length,
    most_rank: most.most_rank,
    low: gib(least.least),
    high: gib(most.most),
  };
  if (peaks.length === 1) return textOf('one_stage', { ...figures, spread: most.spread });
  if (peaks.length > MOST_STAGES)
    return textOf('many_stages', { ...figures, low_name: least.name, high_name: most.name });
  return textOf('stages', { ...figures, peaks: peaks.map(({ name, spread }) => `${name} ${spread}`) });
}

const spreadText = (least: number, most: number): string =>
  gib(least) === gib(most) ? gib(most) : `${gib(least)}–${gib(most)}`;
