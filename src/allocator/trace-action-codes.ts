/** Codes of the trace actions that change an allocator's state, as the `action` column of `event` holds them. */
import { TRACE_ACTIONS } from '../model/vocabulary.js';

export const ALLOC = TRACE_ACTIONS.indexOf('alloc');
export const FREE_REQUESTED = TRACE_ACTIONS.indexOf('free_requested');
export const FREE_COMPLETED = TRACE_ACTIONS.indexOf('free_completed');
export const SEGMENT_ALLOC = TRACE_ACTIONS.indexOf('segment_alloc');
export const SEGMENT_FREE = TRACE_ACTIONS.indexOf('segment_free');
export const SEGMENT_MAP = TRACE_ACTIONS.indexOf('segment_map');
export const SEGMENT_UNMAP = TRACE_ACTIONS.indexOf('segment_unmap');
export const OOM = TRACE_ACTIONS.indexOf('oom');

/** Whether an entry is one of the allocator's calls to the driver. */
export function isDriverEntry(code: number): boolean {
  return code >= SEGMENT_ALLOC && code <= SEGMENT_UNMAP;
}
