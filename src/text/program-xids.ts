/**
 * Xids that report what the program did, not what the device suffers: exceptions of kernels, page faults, channels torn
 * down. In logs and in DCGM's series. Upstream: docs.nvidia.com/deploy/xid-errors.
 */
const PROGRAM_XIDS: ReadonlySet<number> = new Set([13, 31, 43, 45, 66, 68, 69]);

/** What an Xid is as a failure. */
export function kindOfXid(xid: number): 'other' | 'hardware' {
  return PROGRAM_XIDS.has(xid) ? 'other' : 'hardware';
}
