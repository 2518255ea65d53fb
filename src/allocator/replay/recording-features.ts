/**
 * Which rules a recording makes use of that no recording of a real device has confirmed yet, as far as it shows before
 * it is replayed.
 */
import { DEFAULT_LARGE_SEGMENT_BYTES } from '../settings.js';
import type { Recording } from './recording.js';
import type { UnconfirmedFeature } from './replay-outcome.js';

/** Index in BLOCK_STATES. */
const PENDING = 1;

export function recordingFeatures({ settings, streams, start, poolOf }: Recording): Set<UnconfirmedFeature> {
  const features = new Set<UnconfirmedFeature>();
  if (streams.length > 1) features.add('several_streams');
  if (Number.isFinite(settings.maxSplitBytes)) features.add('max_split_size');
  if (settings.garbageCollectionThreshold > 0) features.add('garbage_collection');
  if (settings.roundupPower2Divisions.some((division) => division > 1)) features.add('roundup_power2');
  if (settings.largeSegmentBytes !== DEFAULT_LARGE_SEGMENT_BYTES) features.add('large_segment_size');
  if (poolOf.size > 0 || start.segments.pool.some((pool) => pool !== 0)) features.add('private_pools');
  if (start.blocks.state.includes(PENDING)) features.add('pending_frees');
  return features;
}
