/** How pools, streams and addresses of a state are shown to people. */
import type { ReserveShare } from '../../model/results/at.js';

export function hex(address: number | bigint): string {
  return address.toString(16);
}

interface Place {
  readonly pool_id_a: number | null;
  readonly pool_id_b: number | null;
  readonly segment_type: string | null;
  readonly stream: number | bigint | null;
}

/** `numbers`: streams as `readStreamNumbers` counts them. */
export function placeOf(row: Place, numbers: ReadonlyMap<number, number>) {
  const { pool_id_a: a, pool_id_b: b } = row;
  return {
    /** Null where unknown. */
    pool: a === null || b === null ? null : ([a, b] as const),
    segment_type: row.segment_type === 'small' ? ('small' as const) : ('large' as const),
    /** 0, 1, 2 … ; null where unknown. */
    stream: row.stream === null ? null : (numbers.get(Number(row.stream)) ?? null),
  };
}

export function shareOf(row: ReserveShare): ReserveShare {
  const { segments, reserved_bytes, active_bytes, pending_bytes, inactive_bytes, largest_hole_bytes } = row;
  return { segments, reserved_bytes, active_bytes, pending_bytes, inactive_bytes, largest_hole_bytes };
}
