/** Codes of the trace actions that change an allocator's state, as the `action` column of `event` holds them. */
import { ENUMS } from '../model/columns.js';

export const ALLOC = ENUMS.trace_action.indexOf('alloc');
export const FREE_REQUESTED = ENUMS.trace_action.indexOf('free_requested');
export const FREE_COMPLETED = ENUMS.trace_action.indexOf('free_completed');
export const SEGMENT_ALLOC = ENUMS.trace_action.indexOf('segment_alloc');
export const SEGMENT_FREE = ENUMS.trace_action.indexOf('segment_free');
export const SEGMENT_MAP = ENUMS.trace_action.indexOf('segment_map');
export const SEGMENT_UNMAP = ENUMS.trace_action.indexOf('segment_unmap');
export const OOM = ENUMS.trace_action.indexOf('oom');

/** Whether an entry is one of the allocator's calls to the driver. */
export function isDriverEntry(code: number): boolean {
  return code >= SEGMENT_ALLOC && code <= SEGMENT_UNMAP;
}
