/** What a walk back over a trace is given, and the peaks that it finds. */

/** The final state of one device, as columns. Order does not matter; addresses and sizes are below 2^53. */
export interface FinalState {
  readonly segments: {
    readonly count: number;
    readonly address: Float64Array;
    readonly totalBytes: Float64Array;
    /** NaN where unknown. */
    readonly stream: Float64Array;
    /** Index in ENUMS.segment_type: 0 small, 1 large, anything else unknown. */
    readonly type: Uint8Array;
    /** The caller's number of the pool id; 0 and −1 = default pool. */
    readonly pool: Int32Array;
    /** 1 = expandable; anything else is not (files without the field are older than expandable segments). */
    readonly expandable: Uint8Array;
  };
  /** Inactive blocks may be left out. */
  readonly blocks: {
    readonly count: number;
    readonly address: Float64Array;
    readonly sizeBytes: Float64Array;
    /** NaN or negative where unknown. */
    readonly requestedBytes: Float64Array;
    /** Index in ENUMS.block_state. */
    readonly state: Uint8Array;
    /** −1 where unknown. */
    readonly stackId: Int32Array;
  };
}

/** A run of trace entries of one device in ascending order of `seq`. */
export interface WalkEvents {
  readonly count: number;
  readonly seq: Int32Array;
  /** Index in ENUMS.trace_action. */
  readonly action: Uint8Array;
  readonly address: Float64Array;
  readonly sizeBytes: Float64Array;
  /** NaN where unknown. */
  readonly stream: Float64Array;
  /** −1 where unknown. */
  readonly stackId: Int32Array;
  /** The caller's number of the pool id, −1 where the entry lacks it (before torch 2.12). */
  readonly pool?: Int32Array | undefined;
  /** µs, NaN where unknown; the walks do not use it. */
  readonly timeUs?: Float64Array | undefined;
}

/** A peak, and the earliest event after which it held; null = it held before the first event already. */
export interface Peak {
  readonly bytes: number;
  readonly seq: number | null;
}
