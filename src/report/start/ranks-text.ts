/** A comparison of the ranks, one phrase for each remarkable fact. */
import type { DiagnoseResult, RankFragmentation, StageSpread } from '../../model/results/common.js';
import { formatBytes, formatCount, GIB } from '../../model/units.js';
import { printable } from '../plain-text.js';
import { rankWords } from '../text-pieces.js';

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

export function rankPhrases(result: DiagnoseResult): string[] {
  const { ranks } = result;
  const phrases = firstFailurePhrases(result);
  if (ranks === null) return phrases;
  const stages = ranks.stages.filter((stage) => stage.peak_allocated_bytes !== null);
  const count = stages.reduce((sum, stage) => sum + stage.ranks.length, 0);
  if (count > 1) phrases.push(stagePhrase(stages, count));
  // Where the device is full, a small reserve that is not in use explains nothing.
  const isAsked = ASKS_WHETHER_ALONE.has(result.verdicts[0]?.cause ?? '');
  if (ranks.fragmentation !== null && isAsked) phrases.push(fragmentationPhrase(ranks.fragmentation));
  const [site] = ranks.pinning?.sites ?? [];
  if (ranks.pinning !== null && site !== undefined && ranks.pinning.ranks.length > 1)
    phrases.push(
      `holes pinned by ${printable(site.site)} on ${formatCount(site.ranks)} of ${formatCount(ranks.pinning.ranks.length)} ranks`,
    );
  if (ranks.snapshots_left_out > 0)
    phrases.push(`${formatCount(ranks.snapshots_left_out)} snapshots of other ranks not walked`);
  return phrases;
}

/** Only where there is more than one rank. */
function firstFailurePhrases({ first_failure: first, verdicts }: DiagnoseResult): string[] {
  if (first === null) return [];
  const phrases: string[] = [];
  if (first.also_failed.length > 0) phrases.push(`failed too: ${rankWords(first.also_failed, RANGES)}`);
  if (first.victims.length > 0) phrases.push(`only waited for it: ${rankWords(first.victims, RANGES)}`);
  const isHeadline = verdicts[0] === undefined || first.rank === null || verdicts[0].rank === first.rank;
  if (phrases.length === 0 && isHeadline) return [];
  const who = first.rank === null ? 'a rank that is not named' : `rank ${first.rank}`;
  return [`${who} failed first (${first.why})`, ...phrases];
}

const gib = (bytes: number): string => (bytes / GIB).toFixed(2);

function stagePhrase(stages: readonly StageSpread[], count: number): string {
  const peaks = stages.map((stage) => ({ name: nameOf(stage), ...stage.peak_allocated_bytes! }));
  const most = peaks.reduce((best, peak) => (peak.most > best.most ? peak : best));
  const least = peaks.reduce((best, peak) => (peak.least < best.least ? peak : best));
  if (peaks.length === 1)
    return `peak allocated of ${formatCount(count)} ranks: ${spreadText(least.least, most.most)} GiB (most: rank ${most.most_rank})`;
  if (peaks.length > MOST_STAGES)
    return `peak allocated of ${peaks.length} stages: from ${gib(least.least)} (${least.name}) to ${gib(most.most)} GiB (${most.name}, rank ${most.most_rank})`;
  const list = peaks.map((peak) => `${peak.name} ${spreadText(peak.least, peak.most)}`).join(', ');
  return `peak allocated by stage: ${list} GiB (most: rank ${most.most_rank})`;
}

function nameOf(stage: StageSpread): string {
  return stage.pp === null ? 'all' : `PP${stage.pp}`;
}

function spreadText(least: number, most: number): string {
  return gib(least) === gib(most) ? gib(most) : `${gib(least)}–${gib(most)}`;
}

function fragmentationPhrase({ failed, others, only_failed, from }: RankFragmentation): string {
  const basis = from === 'log' ? ' by their memory lines' : '';
  const failedText = `rank ${failed.rank} has ${formatBytes(failed.gap_bytes)} reserved but not in use`;
  const othersText = `${others.ranks === 1 ? `rank ${others.most_rank}` : `${formatCount(others.ranks)} others`} ${
    gib(others.least) === gib(others.most) ? gib(others.most) : `${gib(others.least)}–${gib(others.most)}`
  } GiB`;
  if (only_failed === true) return `only one is fragmented: ${failedText}, ${othersText}${basis}`;
  if (only_failed === false) return `not it alone: ${failedText}, ${othersText}${basis}`;
  return `${failedText}, ${othersText}${basis}`;
}
