import type { Head, Sniff } from '../../src/model/parser.js';

const NAME = /(?:^|[._-])(?:raw|mem(?:ory)?|timeline)(?=[._-])[^/]*\.json$/i;

/** `[timestamp, action 1-4, bytes, category 0-7]` first in a list, and the next event or the end behind it. */
const RAW =
  /^\s{0,64}\[\s{0,8}\[\s{0,8}(?:-1|\d{1,19}),\s{0,8}[1-4],\s{0,8}-?\d{1,16},\s{0,8}[0-7]\s{0,8}\]\s{0,8}(?:,\s{0,8}\[\s{0,8}-?\d|\]\s{0,64}$)/;
const LISTS = /^\s{0,64}\[\s{0,8}\[\s{0,8}-?\d/;
/** Follows the times: the first row of sums, which begins with a 0 for the plot's baseline. */
const SUMS = /^\]\s{0,8},\s{0,8}\[\s{0,8}\[\s{0,8}0\s{0,8},/;
const EMPTY = /^\s{0,64}\[\s{0,8}(?:\[\s{0,8}\]\s{0,8},\s{0,8}\[\s{0,8}\]\s{0,8})?\]\s{0,64}$/;
/** 2001 in microseconds: what a list of times begins with. */
const LEAST_EPOCH_US = 1e15;

/**
 * Both forms are lists of lists of numbers, nothing else; that alone is any JSON of arrays, so the first event, or the
 * step from the times to the sums, decides. Never throws.
 */
export function sniffTimeline(head: Head): Sniff {
  const { bytes, name } = head;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  if (RAW.test(text))
    return { score: 0.97, why: 'JSON events of torch.profiler: [timestamp, action, bytes, category]' };
  if (EMPTY.test(text) && NAME.test(name)) {
    return { score: 0.6, why: 'an empty list, named like a memory timeline of torch.profiler' };
  }
  if (!LISTS.test(text)) return { score: 0, why: 'no list of lists of numbers' };
  const end = text.indexOf(']');
  if (end >= 0) {
    return SUMS.test(text.slice(end, end + 64))
      ? { score: 0.97, why: 'JSON of torch.profiler: [times, [sums by category]]' }
      : { score: 0.05, why: 'lists of numbers that are not a memory timeline of torch.profiler' };
  }
  // More points in time than the head holds.
  const times = text
    .slice(text.lastIndexOf('[') + 1, text.lastIndexOf(','))
    .split(',', 100)
    .map(Number);
  const ordered = times.every((time, i) => time >= LEAST_EPOCH_US && (i === 0 || time >= times[i - 1]!));
  return ordered
    ? { score: 0.9, why: 'a list of lists that begins with times in order, as those of torch.profiler do' }
    : { score: 0.05, why: 'a long list of numbers that are not ordered times' };
}
