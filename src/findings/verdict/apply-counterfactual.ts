/** Adds the replayed counterfactual to a verdict as evidence, and changes its advice; `verdict` has the confidence. */

import { maxOf, minOf } from '../../model/lists.js';
import { type Place, placeText } from '../../model/place.js';
import type { Counterfactual, Evidence } from '../../model/results/common.js';
import type { WhatIfSetting } from '../../model/results/replay.js';
import { formatBytes, formatCount } from '../../model/units.js';
import type { Step } from './causes/words.js';
import type { Draft } from './judge-message.js';

const ON = 'expandable_segments:True';

/** Adds evidence about the replay; the numbers of the existing evidence stay. `source`: file and entry of the OOM. */
export function applyCounterfactual(verdict: Draft, counterfactual: Counterfactual, place: Place): Draft {
  const { replay, rows } = counterfactual;
  const counterfactuals = rows.filter((row) => row.setting !== 'recorded');
  const evidence: Evidence[] = [...verdict.evidence];
  const combination = [...verdict.combination];
  const add = (text: string): void => {
    evidence.push({ id: `E${evidence.length + 1}`, text, source: placeText(place), place, about: 'replay' });
  };
  add(replayWords(counterfactual));
  const base = { ...verdict, evidence, combination, replay, what_if: rows };
  if (replay.status === 'refused') return base;
  if (!replay.repeats_oom) {
    combination.push(
      'The model does not repeat the OOM at a constant capacity: memory outside the allocator came and went, and no counterfactual is drawn from it.',
    );
    return base;
  }
  add(otherWords(counterfactuals));
  const served = counterfactuals.length > 0 && counterfactuals.every((row) => row.outcome === 'fits');
  const robust = counterfactuals.every((row) => row.robust);
  const isOn = counterfactuals.some((row) => row.setting === ON);
  if (verdict.cause === 'fragmentation' && isOn) {
    if (served && robust) {
      combination.push('Replayed with expandable segments every request is served: the memory was there.');
      return { ...base, steps: withProof(verdict.steps, counterfactuals) };
    }
    const isRefuted = counterfactuals.every((row) => row.outcome !== 'fits');
    combination.push(
      !isRefuted
        ? 'Whether expandable segments would have served the request depends on how what was live before the recording lay.'
        : 'Replayed with expandable segments the run fails all the same: that setting alone is no cure.',
    );
    return isRefuted ? { ...base, steps: withoutCure(verdict.steps, counterfactuals) } : base;
  }
  if (verdict.cause === 'capacity' && isOn && served && robust) {
    combination.push('Against it: replayed with expandable segments every request is served; one step less sure.');
    const text = `PYTORCH_CUDA_ALLOC_CONF=${ON}: replayed with it, this OOM does not happen (${rangeWords(counterfactuals)})`;
    return { ...base, steps: [{ text, isExpandable: true }, ...verdict.steps.slice(1)] };
  }
  if (verdict.cause === 'capacity' && !served) {
    combination.push('Replayed with the other kind of segments the run fails too: no layout would have made room.');
    return base;
  }
  return base;
}

function replayWords({ replay }: Counterfactual): string {
  const share = `${formatCount(replay.address_matches)} of ${formatCount(replay.address_total)} addresses`;
  if (replay.status === 'refused') return `refused (${share}): ${replay.reason}`;
  const oom = replay.repeats_oom ? 'the OOM happens again' : 'the OOM does not happen again at a constant capacity';
  return `${replay.status}: ${share}, ${oom}`;
}

/** `peak reserved 73.84–74.65 GiB, headroom 0.55–1.36 GiB`. */
function rangeWords(rows: readonly WhatIfSetting[]): string {
  const peak = spread(rows.map((row) => row.peak_reserved_bytes));
  const headroom = rows.flatMap((row) => (row.headroom_bytes === null ? [] : [row.headroom_bytes]));
  return `peak reserved ${peak}${headroom.length === 0 ? '' : `, headroom ${spread(headroom)}`}`;
}

function spread(values: readonly number[]): string {
  const least = formatBytes(minOf(values));
  const most = formatBytes(maxOf(values));
  return least === most ? least : `${least} to ${most}`;
}

function otherWords(rows: readonly WhatIfSetting[]): string {
  const [first] = rows;
  if (first === undefined) return 'no other setting was replayed';
  const bounds = rows.length > 1 ? ' (best and worst start)' : '';
  const outcomes = new Set(rows.map((row) => row.outcome));
  if (outcomes.size > 1) return `with ${first.setting} it depends on the start: fits at best, fails at worst`;
  if (first.outcome === 'fits')
    return `with ${first.setting} this OOM does not happen: ${rangeWords(rows)}${bounds}${rows.every((row) => row.robust) ? '' : ', not robust'}`;
  const short = rows.flatMap((row) => (row.short_bytes === null ? [] : [row.short_bytes]));
  const how =
    first.outcome === 'same_oom'
      ? 'the same request fails'
      : first.outcome === 'earlier_oom'
        ? 'it fails earlier'
        : 'it fails later';
  return `with ${first.setting} ${how}, ${spread(short)} short${bounds}`;
}

function withProof(steps: readonly Step[], rows: readonly WhatIfSetting[]): Step[] {
  return steps.map((step) =>
    step.isExpandable === true ? { ...step, text: `${step.text}; replayed: ${rangeWords(rows)}` } : step,
  );
}

function withoutCure(steps: readonly Step[], rows: readonly WhatIfSetting[]): Step[] {
  const text = `${otherWords(rows)}: look at what pins the segments first`;
  return [{ text }, ...steps.filter(({ isExpandable }) => isExpandable !== true)];
}
