/** The sentence of each kind of evidence. */

import { DRIVER_OWNER_WORDS, type DriverOwner } from '../../model/results/nsys.js';
import type { Item } from '../../model/statement.js';
import { formatBytes, formatCount } from '../../model/units.js';
import type { Evidence, EvidenceKind } from '../../model/verdict.js';
import { plain } from '../text-pieces.js';
import {
  ACTIVITY_WORDS,
  listed,
  PART_WORDS,
  requestOf,
  SITE_WORDS,
  shortOf,
  times,
  type View,
  viewOf,
  type Words,
  wordsOf,
} from './words.js';

export function evidenceText({ kind, ...figures }: Evidence): string {
  return EVIDENCE[kind](viewOf(figures));
}

/** `1.59 GiB (1,707,081,728 bytes) in wait core/…:32; 1.31 GiB free on the device`. */
export const requestText: Words = (v) => {
  const site = v.has('site') ? ` in ${v.name('site')}` : '';
  const free = v.has('device_free_bytes') ? `; ${v.bytes('device_free_bytes')} free on the device` : '';
  return `${v.bytes('requested_bytes')} (${v.count('requested_bytes')} bytes)${site}${free}`;
};

/** Owners named in one line; the verb `nsys` lists all. */
const MOST_OWNERS = 4;
const bytesOf = ({ numbers }: Item): string => formatBytes(numbers['bytes']!);
const ownerWords = (item: Item): string => `${DRIVER_OWNER_WORDS[item.name as DriverOwner]} ${bytesOf(item)}`;

const HOST_METRICS: Readonly<Record<string, Words>> = {
  host_limit: (v) => `may use ${v.bytes('bytes')} of host memory`,
  host_used: (v) => `${v.bytes('bytes')} of the host in use at most`,
  process_rss: (v) => `resident at most ${v.bytes('bytes')}`,
  process_max_rss: (v) => `resident at most ${v.bytes('bytes')}`,
};

const MEMORY_FIGURES: readonly (readonly [name: string, words: Words])[] = [
  ['peak_allocated_bytes', (v) => `peak allocated ${v.bytes('peak_allocated_bytes')}`],
  ['peak_reserved_bytes', (v) => `peak reserved ${v.bytes('peak_reserved_bytes')}`],
  ['inactive_split_bytes', (v) => `${v.bytes('inactive_split_bytes')} in unusable remainders of split blocks`],
];

const LIMITS: Readonly<Record<string, string>> = {
  fraction: 'its memory fraction allows',
  process: 'available to this process (reserved + device free)',
};

/** `73.84 GiB to 74.65 GiB`. */
function range(v: View, name: string): string {
  const [least, most] = [v.bytes(`least_${name}_bytes`), v.bytes(`most_${name}_bytes`)];
  return least === most ? least : `${least} to ${most}`;
}

/** `peak reserved 73.84 GiB to 74.65 GiB, headroom 561.15 MiB to 1.36 GiB`. */
export const replayedText: Words = (v) =>
  `peak reserved ${range(v, 'peak_reserved')}${v.has('least_headroom_bytes') ? `, headroom ${range(v, 'headroom')}` : ''}`;

const FAILS: Readonly<Record<string, string>> = { same_oom: 'the same request fails', earlier_oom: 'it fails earlier' };

/** What happens with the other kind of segments. */
export const otherSegmentsText: Words = (v) => {
  if (v.number('replays') === 0) return 'no other setting was replayed';
  const [setting, outcome] = [v.name('setting'), v.name('outcome')];
  const bounds = v.number('replays') > 1 ? ' (best and worst start)' : '';
  if (outcome === 'depends') return `with ${setting} it depends on the start: fits at best, fails at worst`;
  if (outcome === 'fits')
    return `with ${setting} this OOM does not occur: ${replayedText(v)}${bounds}${v.name('robustness') === 'robust' ? '' : ', not robust'}`;
  return `with ${setting} ${FAILS[outcome] ?? 'it fails later'}, ${range(v, 'short')} short${bounds}`;
};

const SIZES: Readonly<Record<string, Words>> = {
  beyond_device: (v) => `one tensor of ${v.bytes('request_bytes')}, which is larger than the device`,
  equal_ranks: (v) =>
    `${v.count('ranks')} ranks hold the same ${v.bytes('live_bytes')}, as they do where nothing is sharded`,
  like_live(v) {
    const is =
      v.has('activity') && v.name('activity') === 'gradient_buffers' ? 'a buffer for all of it' : 'a second copy of it';
    return `${v.bytes('request_bytes')} are about as much as all that was live (${v.bytes('live_bytes')}): ${is}`;
  },
  tokens: (v) =>
    `${v.bytes('request_bytes')} are about ${v.count('tokens')} tokens × a vocabulary of ${v.count('vocabulary')} × ${v.count('element_bytes')} bytes`,
  vocabulary: (v) =>
    `${v.bytes('request_bytes')} would be ${v.count('tokens')} tokens × a vocabulary of ${v.count('vocabulary')} × ${v.count('element_bytes')} bytes`,
  one_tensor: (v) => `one tensor of ${v.bytes('request_bytes')}`,
};

/** The file alone where its folders would take a line; the evidence names the whole path. */
const siteName = (site: string): string => (site.length > 50 ? site.replace(/ \S+\/(?=[^/]+$)/, ' …/') : site);

const WARNING = 'a warning: training goes on';
const SAVE_WARNING = `${WARNING}, and the saved file may be incomplete`;

/** `failed in forward mlp.py:31, while running an MLP; one tensor of 30.56 GiB`. */
function siteText(v: View): string {
  const who = v.has('of_rank') ? `rank ${v.name('of_rank')} ` : '';
  const where = v.has('site') ? [`${who}failed in ${siteName(v.name('site'))}`] : [];
  const code = v.has('code') ? ` (\`${v.name('code')}\`)` : '';
  const activity = v.has('activity') ? [`while ${wordsOf(SITE_WORDS, v.name('activity'))}`] : [];
  const what = [...(where.length === 0 && activity.length > 0 ? ['failed'] : where), ...activity].join(
    where.length === 0 ? ' ' : ', ',
  );
  const size = v.has('size') ? [wordsOf(SIZES, v.name('size'))(v)] : [];
  const warned = v.has('outcome') ? [v.name('activity') === 'checkpoint_save' ? SAVE_WARNING : WARNING] : [];
  return `${[...(what === '' ? [] : [what]), ...warned, ...size].join('; ')}${code}`;
}

const span = (v: View, last: string): string => `${v.count('first_iteration')} to ${v.count(last)}`;

const EVIDENCE: Readonly<Record<EvidenceKind, Words>> = {
  request: (v) => `failed allocation: ${requestText(v)}`,
  message: (v) => v.name('text'),
  failure_line: (v) => `${v.name('incident') === 'other' ? 'error' : plain(v.name('incident'))}: ${v.name('text')}`,
  failing_site: siteText,
  raised_in: (v) => `raised in ${v.name('frame')}`,
  dumped_later: () =>
    'the dump was written after the exception had freed memory: this is the state at the OOM, walked back',
  expandable_segments: (v) =>
    v.name('setting') === 'on' ? 'expandable segments were on already' : 'expandable segments were off',
  against_theory(v) {
    const surprise = v.number('surprise_bytes');
    const where = surprise > 0 ? "above the estimate's upper bound" : 'below its lower bound';
    const reading = v.has('reading') ? `: ${v.name('reading')}` : '';
    return `against theory: ${plain(v.name('component'))} ${formatBytes(Math.abs(surprise))} ${where}${reading}`;
  },
  whole_step(v) {
    const outcome = v.name('outcome');
    const peak = `a step like the last whole one peaks at ${v.bytes('projected_bytes')} live`;
    const limit = `available to the process: ${v.bytes('limit_bytes')}`;
    if (outcome === 'unlike')
      return `${peak}; this step requests other memory (${Math.floor(100 * v.number('alike_share'))} % alike), so that is not its need`;
    const by = formatBytes(Math.abs(v.number('projected_bytes') - v.number('limit_bytes')));
    if (outcome === 'beyond') return `${peak}; ${limit}: ${by} short`;
    return outcome === 'fits' ? `${peak}; ${limit}: it fits` : `${peak}; ${limit}: too close to decide`;
  },
  live_sites: (v) => `largest live sites: ${v.items.map((item) => `${bytesOf(item)} ${item.name}`).join('; ')}`,
  allocator_setting(v) {
    const set = v.has('value') ? `set to ${JSON.stringify(v.name('value'))}` : 'unset';
    const trouble = v.has('problem') ? `; torch refuses it: ${v.name('problem')}` : '';
    return `${v.name('variable')} is ${set} (${v.name('origin')}): expandable segments ${v.name('setting')}${trouble}`;
  },
  memory_line(v) {
    const when = v.has('iteration') ? ` (iteration ${v.count('iteration')})` : '';
    const parts = MEMORY_FIGURES.flatMap(([name, words]) => (v.has(name) ? [words(v)] : []));
    return `last memory line before it${when}: ${parts.join(', ')}`;
  },
  allocation_retries: (v) =>
    `the driver had refused memory ${times(v.number('times'))} before and the cache was flushed (allocation retries): near its limit already`,
  other_ranks(v) {
    const rank = `rank ${v.number('rank')}`;
    const who = v.number('ranks') === 1 ? rank : `${v.count('ranks')} other ranks (most: ${rank})`;
    const headroom = v.has('headroom_bytes') ? `, ${v.bytes('headroom_bytes')} below the device's total` : '';
    return `other ranks: ${who} reserved at most ${v.bytes('reserved_bytes')}${headroom}`;
  },
  refused_calls(v) {
    const counted = ({ name, numbers }: Item): string =>
      `${name}${numbers['times'] === 1 ? '' : ` (${formatCount(numbers['times']!)} times)`}`;
    const retries = v.number('retries');
    const tried =
      retries === 0
        ? ''
        : `; the allocator emptied its cache to try again ${times(retries)}, ${v.number('retry_ms').toFixed(1)} ms of frees`;
    return `the driver refused memory: ${listed(v.items, counted)}${tried}`;
  },
  profiled_outside(v) {
    const sum = v.items.reduce((bytes, item) => bytes + item.numbers['bytes']!, 0);
    const when = v.name('moment') === 'oom' ? 'when it failed' : "at the driver's peak";
    return `outside PyTorch the profiler saw ${formatBytes(sum)} ${when}: ${listed(v.items, ownerWords, MOST_OWNERS)}`;
  },
  device_in_use(v) {
    const all = v.has('total_bytes') ? ` of ${v.bytes('total_bytes')}` : '';
    const when =
      v.name('moment') === 'failure' ? 'when it failed' : 'in the largest sample, which may have missed the peak';
    const change = v.has('first_outside_bytes')
      ? `; outside PyTorch ${v.bytes('first_outside_bytes')} at first and ${v.bytes('last_outside_bytes')} at last`
      : '';
    return `the device had ${v.bytes('used_bytes')}${all} in use ${when}${change}`;
  },
  other_process_samples(v) {
    const [most] = v.items;
    const who = `pid ${most!.numbers['pid'] ?? 'unknown'}${most!.name === null ? '' : ` ${most!.name}`}`;
    const more = v.items.length === 1 ? '' : `, largest of ${formatCount(v.items.length)}`;
    return `other processes on this device held ${v.bytes('held_bytes')} when last seen: ${who}${more}`;
  },
  checkpoint_announced: (v) =>
    `a checkpoint of iteration ${v.count('iteration')} was announced last, and no iteration printed after it`,
  host_memory(v) {
    const who = v.has('process') ? `${v.name('process')}: ` : '';
    const where = v.has('host') ? ` on ${v.name('host')}` : '';
    const metric = v.name('metric');
    return `${who}${wordsOf(HOST_METRICS, metric)(v)}${where}${metric === 'host_limit' ? '' : ' (sampled)'}`;
  },
  run_finished: (v) => v.name('label'),
  last_iteration: (v) => `the last iteration printed is ${v.count('iteration')}`,
  peak(v) {
    const what = v.name('moment') === 'peak' ? 'peak' : 'at the dump';
    const exactness = v.name('walk') === 'exact' ? '' : ' (approximate: the trace contradicts itself)';
    return `${what}: ${v.bytes('live_bytes')} live, ${v.bytes('reserved_bytes')} reserved${exactness}`;
  },
  dumped_at_failure: (v) => `the file is named as a dump at a failure is (${v.name('origin')})`,
  handler_frame: (v) => `a handler of exceptions allocated at the end of the trace: ${v.name('frame')}`,
  process_refused: (v) =>
    `the driver refused memory to process ${v.has('pid') ? v.number('pid') : 'unknown'} ${times(v.number('times'))}, last at ${v.number('last_s').toFixed(3)} s (${v.name('api')})`,
  cache_flushes: (v) =>
    `the allocator emptied its cache to try again ${times(v.number('retries'))}: ${v.number('retry_ms').toFixed(1)} ms of frees`,
  held_at_refusal: (v) => `held then: ${listed(v.items, ownerWords, MOST_OWNERS)}`,
  nvtx_ranges: (v) => `in the ranges ${v.items.map(({ name }) => name).join(' › ')}`,
  request_beyond_device: (v) => `${v.bytes('asked_bytes')} requested of a device of ${v.bytes('total_bytes')}`,
  device_exceeded: (v) =>
    `${v.bytes('live_bytes')} live + ${requestOf(v)} requested exceed the whole device of ${v.bytes('total_bytes')}`,
  little_left_without_pools: (v) =>
    `${v.bytes('live_bytes')} live + ${requestOf(v)} requested leave ${v.bytes('spare_bytes')} of ${v.bytes('limit_bytes')}, less than the ${v.bytes('idle_in_pools_bytes')} that are free inside private pools`,
  little_left: (v) =>
    `${v.bytes('live_bytes')} live + ${requestOf(v)} requested leave ${v.has('short_bytes') ? 'nothing' : v.bytes('spare_bytes')} of ${v.bytes('limit_bytes')}, however the free memory is arranged`,
  limit_refused: (v) =>
    `the device had ${v.bytes('device_free_bytes')} free when ${v.bytes(v.has('segment_bytes') ? 'segment_bytes' : 'request_bytes')} were requested from it: ${v.has('allowed_bytes') ? `the limit of ${v.bytes('allowed_bytes')}` : 'a limit'} refused, not the device`,
  would_serve: (v) =>
    `would also have been enough: ${listed(v.items, ({ name, numbers }) => `${formatBytes(numbers['bytes']!)} ${wordsOf(PART_WORDS, name!)} (${formatBytes(numbers['left_bytes']!)} left)`)}`,
  limit_exceeded: (v) =>
    `${v.bytes('live_bytes')} live + ${requestOf(v)} requested exceed the ${v.bytes('limit_bytes')} ${LIMITS[v.name('limit')]} by ${shortOf(v)}`,
  rounding_waste: (v) =>
    `${v.bytes('rounding_waste_bytes')} of live memory was never requested: roundup_power2_divisions rounded the blocks up`,
  optimizer_states_made: () => "it failed while making the optimizer's states, born in the first optimizer step",
  in_checkpoint: (v) => `it failed while ${wordsOf(ACTIVITY_WORDS, v.name('activity'))}`,
  checkpoint_copies(v) {
    const otherBytes = v.number('live_bytes') + v.number('request_bytes') - v.number('spike_bytes');
    const size = v.has('sizes')
      ? ` ${v.bytes('spike_bytes')} are its own, ${formatBytes(otherBytes)} everything else.`
      : '';
    return `it failed while ${wordsOf(ACTIVITY_WORDS, v.name('activity'))}.${size}`;
  },
  second_copies: (v) =>
    `${v.bytes('second_copies_bytes')} of them are second copies: block by block as large as something that is live already`,
  logits_spike(v) {
    const spike = v.bytes('spike_bytes');
    const size = v.name('spike') === 'request' ? `the request alone is ${spike}` : `they hold and request ${spike}`;
    return `it failed in logits and loss: ${size}; in the ${v.count('completed_steps')} steps before no more than ${v.bytes('highest_before_bytes')} were live at once`;
  },
  one_tensor: (v) =>
    `one tensor of ${v.bytes('spike_bytes')}${v.has('site') ? ` in ${v.name('site')}` : ''}; without it ${v.bytes('live_bytes')} are live`,
  fullest_stage: (v) =>
    `stage ${v.number('failing_stage')} of ${v.count('stages')} held ${v.bytes('own_stage_bytes')} at its peak (rank ${v.number('own_rank')}), of the other stages none more than ${v.bytes('next_stage_bytes')} (stage ${v.number('next_stage')}, rank ${v.number('next_rank')}) in the same iterations`,
  job_process: (v) => `pid ${v.number('pid')} is ${v.name('process')} of this job: ${v.bytes('bytes')} of the device`,
  engine_sign: (v) => `${v.name('sign')}: this run trains and generates on the same devices`,
  impossible_figures: (v) =>
    `left out, since the rest of the message contradicts it: ${v.items.map(({ name }) => name).join(', ')} in use by a process or as a limit`,
  outside_pytorch: (v) =>
    `outside PyTorch: ${v.bytes('outside_bytes')} of the device's ${v.bytes('total_bytes')}${v.has('left_bytes') ? `; without it ${v.bytes('left_bytes')} would be left after the request` : ''}`,
  driver_owners: (v) => `outside PyTorch, by the driver: ${listed(v.items, ownerWords)}`,
  nccl_setting: (v) =>
    `${v.name('variable')}=${v.name('value')} (${v.name('origin')}): NCCL holds more memory than by default`,
  nccl_failure: (v) =>
    `an allocation${v.has('requested_bytes') ? ` of ${v.bytes('requested_bytes')}` : ''} by NCCL itself failed in the same launch`,
  oversize_slack: (v) =>
    `${v.bytes('oversize_slack_bytes')} inside live blocks of at least max_split_size were never requested; without them the request fits`,
  kept_for_larger: (v) =>
    `a free block of ${v.bytes('largest_usable_bytes')} exists, but max_split_size_mb reserves it for larger requests`,
  reserved_but_free: (v) =>
    `${v.bytes('cached_bytes')} are reserved by PyTorch but free; with the device's free memory that is ${v.bytes('spare_bytes')} more than was requested`,
  fits_in_pieces: (v) =>
    `${v.bytes('live_bytes')} live + ${requestOf(v)} requested fit in the ${v.bytes('limit_bytes')} available to this process; ${v.bytes('cached_bytes')} of it are free in pieces`,
  pinned_segments: (v) =>
    `${v.count('segments')} segments cannot be released to the driver (pinned by ${v.bytes('pinning_bytes')} of live blocks)`,
  free_in_pools: (v) =>
    `${v.bytes('idle_in_pools_bytes')} are free inside private pools, out of reach for this request`,
  pending_frees: (v) => `${v.bytes('pending_bytes')} were freed but still in use by another stream (record_stream)`,
  freed_by_wait: (v) =>
    `${v.bytes('freed_by_wait_bytes')} came free only while the allocator waited for other streams, a block of ${v.bytes('largest_usable_bytes')} with them that would have served the request; torch does not search again after that (pytorch issue 189504)`,
  kept_by_site: (v) =>
    `${v.bytes('kept_bytes')} in ${v.count('blocks')} blocks of ${v.name('site')} are from before the failing step: ${v.bytes('kept_bytes_per_step')} left over from each of ${v.count('steps')} whole steps (${v.name('steps_by')})`,
  step_ends: (v) => `live at the ends of the steps before: ${listed(v.items, bytesOf)}`,
  growth_in_lines(v) {
    const perStep = formatBytes(Math.round(v.number('bytes_per_iteration')));
    const grown = formatBytes(Math.max(0, v.number('grown_bytes')));
    return `allocated memory grew by ${perStep} an iteration over iterations ${span(v, 'last_iteration')}, ${grown} in all (fit ${v.number('r2').toFixed(2)})`;
  },
  early_growth(v) {
    const perStep = formatBytes(Math.round(v.number('grown_bytes_per_step')));
    const fullAt = formatCount(v.number('second_iteration') + v.number('full_after_steps'));
    const failed = formatCount(v.number('last_iteration') + 1);
    return `memory live after a step grew by ${perStep} from iteration ${span(v, 'second_iteration')}; growing on so, its peak of ${v.bytes('peak_bytes')} reaches ${v.bytes('limit_bytes')} in iteration ${fullAt}, and iteration ${failed} failed`;
  },
  replay(v) {
    const share = `${v.count('address_matches')} of ${v.count('address_total')} addresses`;
    if (v.name('status') === 'refused') return `refused (${share}): ${v.name('reason')}`;
    const repeats = v.name('oom') === 'repeated' ? 'OOM reproduced' : 'OOM not reproduced at a constant capacity';
    return `${v.name('status')}: ${share}, ${repeats}`;
  },
  other_segments: otherSegmentsText,
};
