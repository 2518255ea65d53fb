/** Sentences on free memory: why it is not with the driver, and what would have to be free. Pure. */
import type { DeviceColumns } from '../../../model/picture/page-data.js';
import { counted, formatBytes, formatCount } from '../../../model/units.js';
import { addressOf, siteOf } from '../names.js';
import { type Enlargement, enlarged, largestFor, type Request, serves } from './free-to-fit.js';
import type { Hole, LayoutAt } from './holes-at.js';
import { holesBySize, type PinningStack, type StackShare, sharesOf } from './pin-ranks.js';

/** Stacks that are named; more are counted. */
const MOST_NAMED = 2;

/** `layers.py:459 _linear_forward, and 3 more stacks`. */
export function namesOf(columns: DeviceColumns, shares: readonly StackShare[], most = MOST_NAMED): string {
  const named = [...new Set(shares.map(({ stack }) => siteOf(columns, stack)))];
  const more = named.length - most;
  return `${named.slice(0, most).join('; ')}${more > 0 ? `; ${counted(more, 'more call site')}` : ''}`;
}

/** `1.20 GiB in segment 0x7f…: kept by 3 blocks, 12.00 MiB: …`. */
export function holeLine(columns: DeviceColumns, at: LayoutAt, hole: Hole, request: Request | null): string {
  const segment = at.segments[hole.segment]!;
  const where = `in segment ${addressOf(columns, segment.place)}`;
  return `${formatBytes(hole.bytes)} ${where}: ${holeReason(columns, at, hole, request)}`;
}

function holeReason(columns: DeviceColumns, at: LayoutAt, hole: Hole, request: Request | null): string {
  const segment = at.segments[hole.segment]!;
  if (segment.isPrivate) return 'in a private pool, which only its own requests use';
  const requestStream = streamName(request?.stream ?? -1);
  const unused =
    request === null || serves(segment, request)
      ? ''
      : segment.isSmall !== request.isSmall
        ? `of the ${segment.isSmall ? 'small' : 'large'} pool, which the failed request does not use; `
        : `of stream ${streamName(segment.stream)}, and the failed request is for stream ${requestStream}; `;
  if (hole.reason === 'releasable') return `${unused}no block keeps it: a flush of the cache gives it back`;
  const shares = sharesOf(columns, at, hole.firstPin, hole.endPin);
  const blocks = hole.endPin - hole.firstPin;
  const bytes = shares.reduce((sum, share) => sum + share.bytes, 0);
  const part =
    hole.releasableBytes > 0
      ? `${formatBytes(hole.bytes - hole.releasableBytes)} of it in pages that are kept by `
      : 'kept by ';
  if (blocks === 0) return `${unused}${part}the mapped size of its pages`;
  return `${unused}${part}${counted(blocks, 'block')}, ${formatBytes(bytes)}: ${namesOf(columns, shares)}`;
}

/** A pointer is a number that no one reads in decimal. */
export const streamName = (stream: number): string =>
  stream < 0 ? 'unknown' : stream > 0xffff ? `0x${stream.toString(16)}` : String(stream);

/** `Free these 3 blocks (12.00 MiB) and the hole is 1.60 GiB`. */
export function freeingSentence({ first, end, liveBytes, holeBytes }: Enlargement): string {
  const count = end - first;
  const what = count === 1 ? 'this block' : `these ${formatCount(count)} blocks`;
  return `Free ${what} (${formatBytes(liveBytes)}) → ${formatBytes(holeBytes)} hole`;
}

/** Whether the failed request would fit, and the largest hole that it could use. */
export function fitSentence(at: LayoutAt, request: Request): string {
  const largest = largestFor(at, request);
  const failed = `The request that fails at entry ${formatCount(request.seq)} is for ${formatBytes(request.bytes)}.`;
  if (largest === null) return `${failed} No hole is of its pool and stream.`;
  const result = largest.bytes >= request.bytes ? 'it would fit' : 'it does not fit';
  return `${failed} The largest hole that it could use is ${formatBytes(largest.bytes)}: ${result}.`;
}

/** What a flush of the cache gives back to the driver: `5.20 GiB in 7 holes …`; '' for nothing. */
export function releasableSentence({ holes }: LayoutAt): string {
  const released = holes.filter(({ releasableBytes }) => releasableBytes > 0);
  if (released.length === 0) return '';
  const bytes = released.reduce((sum, hole) => sum + hole.releasableBytes, 0);
  const what = `${formatBytes(bytes)} in ${counted(released.length, 'hole')}`;
  return `No block keeps ${what}: a flush of the cache gives it back to the driver.`;
}

/** What to free without a failed request: neighbours of the largest hole that blocks keep. */
export function enlargeLargest(columns: DeviceColumns, at: LayoutAt, blocks: number): Enlargement | null {
  const hole = holesBySize(at).find(({ segment, reason }) => {
    return reason !== 'releasable' && !at.segments[segment]!.isPrivate;
  });
  return hole === undefined ? null : enlarged(columns, at, hole, blocks);
}

/** `keeps 1.20 GiB (0.90 GiB alone) with 14 blocks, 33.60 MiB`. */
export function pinningWords({ keptBytes, aloneBytes, blocks, bytes }: PinningStack): string {
  const alone =
    aloneBytes === keptBytes
      ? 'alone'
      : aloneBytes === 0
        ? 'together with other stacks'
        : `${formatBytes(aloneBytes)} alone`;
  return `keeps ${formatBytes(keptBytes)} (${alone}) with ${counted(blocks, 'block')}, ${formatBytes(bytes)}`;
}
