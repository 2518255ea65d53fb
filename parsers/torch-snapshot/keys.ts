/**
 * The dict keys a snapshot uses, numbered so that a dict's key set is a bit mask. Upstream: torch
 * `torch/csrc/cuda/Module.cpp`, `THCPModule_memorySnapshot`.
 */
import {
  ACTION_KEY,
  ADDR_KEY,
  CONTEXT_KEY,
  FRAMES_KEY,
  METADATA_KEY,
  POOL_KEY,
  SIZE_KEY,
  STREAM_KEY,
  TIME_KEY,
} from '../../src/wasm/assembly/value-kinds.js';

export const KEY = {
  action: ACTION_KEY,
  addr: ADDR_KEY,
  size: SIZE_KEY,
  stream: STREAM_KEY,
  time_us: TIME_KEY,
  compile_context: CONTEXT_KEY,
  user_metadata: METADATA_KEY,
  frames: FRAMES_KEY,
  name: 9,
  filename: 10,
  line: 11,
  address: 12,
  requested_size: 13,
  state: 14,
  blocks: 15,
  total_size: 16,
  allocated_size: 17,
  active_size: 18,
  device: 19,
  segment_type: 20,
  segment_pool_id: 21,
  is_expandable: 22,
  device_free: 23,
  pool_id: POOL_KEY,
  history: 25,
  stage: 26,
} as const;

export type KeyName = keyof typeof KEY;

export const KEY_NAMES = Object.keys(KEY) as KeyName[];

export function bit(name: KeyName): number {
  return 1 << KEY[name];
}

export const FRAME_MASK = bit('name') | bit('filename') | bit('line');

/** Keys with a column of their own, by kind of dict. Anything else is kept as an extra and reported. */
export const ENTRY_KEYS: number =
  bit('action') |
  bit('addr') |
  bit('size') |
  bit('stream') |
  bit('time_us') |
  bit('compile_context') |
  bit('user_metadata') |
  bit('frames') |
  bit('device_free') |
  bit('pool_id');
