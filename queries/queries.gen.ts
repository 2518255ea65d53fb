// Generated from queries/**/*.sql by `npm run generate`. Do not edit.

export interface Queries {
  /** Failure lines of a run, in the order of their files and lines */
  'incident.list': {
    params: {
      run_id: number;
    };
    row: {
      incident_id: number;
      display_path: string;
      kind: string;
      is_oom: boolean;
      /** from the line's prefix, else the file's */
      rank: number | null;
      device: number | null;
      line: number;
      /** entry of the grammar that matched */
      grammar: string;
      text: string;
    };
  };
  /** Byte figures of the failure lines of a run, as printed */
  'incident.values': {
    params: {
      run_id: number;
    };
    row: {
      incident_id: number;
      /** requested, total, free, ... ; process_named for `Process N has` */
      field: string;
      pid: number | null;
      bytes: number;
      /** half of the last printed digit */
      precision_bytes: number;
    };
  };
  /** Trace entries by action */
  'snapshot.actions': {
    params: {
      snapshot_id: number;
    };
    row: {
      device: number;
      action: string;
      count: number;
    };
  };
  /** What each device of a snapshot sums up to */
  'snapshot.devices': {
    params: {
      snapshot_id: number;
    };
    row: {
      device: number;
      segments: number;
      blocks: number;
      /** sum of the segments' total sizes */
      reserved_bytes: number;
      /** blocks in state active_allocated */
      allocated_bytes: number;
      /** these and active_pending_free */
      active_bytes: number;
      inactive_bytes: number;
      largest_inactive_block_bytes: number | null;
      /** NULL where the device has no trace */
      events: number | null;
      /** requested sizes */
      unmatched_free_bytes: number | null;
      /** active minus the trace's net growth in requested bytes: for parity with other tools only */
      start_anchored_bytes: number | null;
      /** that plus the largest prefix sum */
      peak_anchored_bytes: number | null;
      requested_delta_peak_seq: number | null;
      start_reserved_bytes: number | null;
      peak_reserved_bytes: number | null;
      first_action: string | null;
      invariants_hold: boolean;
    };
  };
  /** Trace entries of one device from one entry to before another */
  'snapshot.events': {
    params: {
      snapshot_id: number;
      device: number;
      /** first */
      from_seq: number;
      /** one past the last */
      to_seq: number;
    };
    row: {
      seq: number;
      /** code as in TRACE_ACTIONS */
      action: string;
      addr: number | bigint | null;
      /** requested on alloc and free, segment bytes on segment entries */
      size_bytes: number;
      stream: number | null;
      pool: number | null;
      stack_id: number | null;
    };
  };
  /** Features that date a snapshot */
  'snapshot.features': {
    params: {
      snapshot_id: number;
    };
    row: {
      feature: string;
    };
  };
  /** Active blocks of one device at the dump */
  'snapshot.final_blocks': {
    params: {
      snapshot_id: number;
      device: number;
    };
    row: {
      address: number | bigint;
      /** actual size */
      size_bytes: number;
      requested_bytes: number | null;
      state: string;
      stack_id: number | null;
    };
  };
  /** Segments of one device at the dump */
  'snapshot.final_segments': {
    params: {
      snapshot_id: number;
      device: number;
    };
    row: {
      address: number | bigint;
      total_bytes: number;
      stream: number | null;
      segment_type: string;
      pool: number | null;
      is_expandable: number | null;
    };
  };
  /** The trace entries of one device before one of them, last first */
  'snapshot.last_events': {
    params: {
      snapshot_id: number;
      device: number;
      before_seq: number;
      /** at most so many */
      count: number;
    };
    row: {
      seq: number;
      action: string;
      addr: number | bigint | null;
      /** requested on alloc and free, segment bytes on segment entries */
      size_bytes: number;
      time_us: number | null;
    };
  };
  /** Memory snapshots, by run and rank */
  'snapshot.list': {
    params: {
      /** only this run */
      run_id?: number | null | undefined;
      /** only this one */
      handle?: string | null | undefined;
    };
    row: {
      snapshot_id: number;
      source_id: number;
      /** name of the run */
      run: string;
      /** file, relative to the run */
      display_path: string;
      /** run/rank/snapshot#n */
      handle: string;
      /** global rank */
      rank: number | null;
      /** pickle protocol */
      protocol: number;
      /** dict, or list of segments */
      form: string;
      has_traces: boolean;
      /** some trace ends with its OOM: dumped by an observer */
      last_is_oom: boolean;
    };
  };
  /** OOM entries of the traces of a snapshot */
  'snapshot.ooms': {
    params: {
      snapshot_id: number;
    };
    row: {
      device: number;
      seq: number;
      /** rounded request, smaller than what the message prints */
      requested_bytes: number;
      /** cudaMemGetInfo at that moment */
      device_free_bytes: number | null;
      stream: number | null;
      /** stack of the failing allocation */
      stack_id: number | null;
      /** last entry of that device */
      last_seq: number;
    };
  };
  /** The two numbers of each pool id of a snapshot */
  'snapshot.pool_ids': {
    params: {
      snapshot_id: number;
    };
    row: {
      /** as `pool` of event and segment */
      pool: number;
      /** (0, 0) is the default pool, (n, 0) a CUDA graph's */
      pool_id_a: number;
      /** (0, n) a MemPool's */
      pool_id_b: number;
    };
  };
  /** Segments of the final state by pool, size class, stream and kind */
  'snapshot.pools': {
    params: {
      snapshot_id: number;
    };
    row: {
      device: number;
      pool_id_a: number | null;
      pool_id_b: number | null;
      segment_type: string;
      stream: number | null;
      is_expandable: number | null;
      segments: number;
      reserved_bytes: number;
      /** allocated and pending free */
      active_bytes: number;
    };
  };
  /** Allocator settings of a snapshot, nested keys flattened */
  'snapshot.settings': {
    params: {
      snapshot_id: number;
    };
    row: {
      key: string;
      value: string;
    };
  };
  /** Frames of some stacks, innermost first */
  'snapshot.stack_frames': {
    params: {
      /** ids, separated by commas */
      stack_ids: string;
    };
    row: {
      stack_id: number;
      /** 0 = where the allocator was called */
      pos: number;
      name: string;
      filename: string;
      /** 0 = unknown */
      line: number;
    };
  };
  /** Everything odd that was noted while reading a source */
  'store.notes': {
    params: {
      /** the source */
      source_id: number;
    };
    row: {
      source_id: number;
      /** stable word */
      kind: string;
      /** info or warning */
      severity: string;
      text: string;
      /** how often */
      count: number;
      byte_offset: number | null;
      line: number | null;
      device: number | null;
      /** trace entry */
      seq: number | null;
    };
  };
  /** The runs of this store, the latest first */
  'store.runs': {
    params: {
      /** only this run */
      run_id?: number | null | undefined;
    };
    row: {
      /** synthetic */
      run_id: number;
      /** what the user calls it */
      name: string;
      label: string | null;
      commit_sha: string | null;
      /** the path given to ingest */
      root_path: string;
      /** when it was first ingested */
      created_at: string;
      /** files seen, whatever became of them */
      sources: number;
      /** of these, files that could not be read */
      failed: number;
      /** memory snapshots read */
      snapshots: number;
      /** failure lines found in logs */
      incidents: number;
    };
  };
  /** The files of a run, or of all runs, and what became of each */
  'store.sources': {
    params: {
      /** only this run */
      run_id?: number | null | undefined;
    };
    row: {
      /** synthetic */
      source_id: number;
      /** name of the run */
      run: string;
      /** path relative to the run */
      display_path: string;
      /** NULL where no parser knew the file */
      format: string | null;
      /** ingested, unchanged, failed or skipped */
      status: string;
      /** size on disk */
      file_bytes: number;
      /** global rank */
      rank: number | null;
      /** the rule that told the rank */
      rank_origin: string | null;
      /** of the bytes on disk */
      sha256: string | null;
      /** MBF code if it failed */
      error_code: string | null;
      /** what failed */
      error_text: string | null;
      /** distinct oddities noted while reading */
      notes: number;
    };
  };
}
