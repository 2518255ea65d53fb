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
      /** launch of the run */
      attempt: number;
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
  /** The launches of a run: when, how far each came, how many failure lines it left */
  'log.attempts': {
    params: {
      run_id: number;
    };
    row: {
      attempt: number;
      /** why it is taken for a launch; assumed where nothing says it */
      origin: string;
      time_us: number | null;
      iteration_lines: number;
      /** of the first line, in the order of files and lines */
      first_iteration: number | null;
      last_iteration: number | null;
      incidents: number;
      last_phase: string | null;
    };
  };
  /** Memory figures as Megatron Bridge's performance script would pick them from the same logs */
  'log.bridge_memory': {
    params: {
      run_id: number;
    };
    row: {
      /** first of the first file, decimal GB as printed */
      alloc: number | null;
      max_alloc: number | null;
      /** largest of all */
      max_reserved: number | null;
    };
  };
  /** Step values in the order in which Megatron Bridge's performance script would collect them */
  'log.bridge_steps': {
    params: {
      run_id: number;
    };
    row: {
      /** iteration, lm loss, elapsed time per iteration (ms), GPU utilization */
      kind: string;
      value: number;
      /** the line's own, where it has one */
      iteration: number | null;
      display_path: string;
    };
  };
  /** Settings as found, one row for each source, origin, spelling and value */
  'log.config': {
    params: {
      run_id: number;
    };
    row: {
      /** canonical */
      key: string;
      raw_key: string;
      value: string | null;
      origin: string;
      /** 0 is strongest */
      precedence: number;
      attempt: number;
      display_path: string;
      /** the last one, for of equal origins the later wins */
      line: number;
      lines: number;
    };
  };
  /** Total memory of the device as memory lines print it */
  'log.device_total': {
    params: {
      run_id: number;
    };
    row: {
      /** the commonest value */
      bytes: number;
    };
  };
  /** Environment variables as found, with the ranks and hosts that have them */
  'log.env': {
    params: {
      run_id: number;
    };
    row: {
      key: string;
      value: string | null;
      origin: string;
      /** 0 is strongest */
      precedence: number;
      attempt: number;
      /** those known */
      ranks: readonly (number)[] | null;
      /** those known */
      hosts: readonly (string)[] | null;
      display_path: string;
      line: number;
    };
  };
  /** Failure lines of a run with their figures, and the last iteration printed before each */
  'log.incidents': {
    params: {
      run_id: number;
    };
    row: {
      incident_id: number;
      kind: string;
      is_oom: boolean;
      rank: number | null;
      rank_origin: string | null;
      local_rank: number | null;
      host: string | null;
      device: number | null;
      pid: number | null;
      exit_code: number | null;
      exception: string | null;
      frame_file: string | null;
      frame_line: number | null;
      frame_function: string | null;
      traceback_line: number | null;
      time_text: string | null;
      time_us: number | null;
      attempt: number;
      /** last one printed before it in the same attempt of the same file */
      iteration: number | null;
      /** highest one of that attempt in any file */
      attempt_iteration: number | null;
      display_path: string;
      line: number;
      last_line: number;
      grammar: string;
      text: string;
    };
  };
  /** Statistics of iteration lines, per attempt and (attempt NULL) of the whole run */
  'log.iteration_summary': {
    params: {
      run_id: number;
    };
    row: {
      attempt: number | null;
      /** lines */
      count: number;
      /** of them in other files */
      copies: number;
      distinct_iterations: number;
      /** iteration of the first line, in the order of attempts, files and lines */
      first: number | null;
      last: number | null;
      lowest: number | null;
      highest: number | null;
      /** as the last line has it */
      target: number | null;
      /** every iteration is above the one before it in its attempt */
      rises_in_attempts: boolean | null;
      /** and above the one before it anywhere */
      rises: boolean | null;
      /** lines with a step time */
      timed: number;
      median_ms: number | null;
      mean_ms: number | null;
      p95_ms: number | null;
      min_ms: number | null;
      max_ms: number | null;
      /** without the first line of each attempt */
      steady_timed: number;
      steady_median_ms: number | null;
      steady_mean_ms: number | null;
      steady_p95_ms: number | null;
      steady_min_ms: number | null;
      steady_max_ms: number | null;
      /** first lines of attempts */
      left_out: number;
      median_tflops: number | null;
      steady_median_tflops: number | null;
      steady_mean_tflops: number | null;
      last_loss: number | null;
      skipped_iterations: number | null;
      nan_iterations: number | null;
    };
  };
  /** Iteration lines in the order of attempts, files and lines */
  'log.iterations': {
    params: {
      run_id: number;
      /** only so many of the last ones */
      newest?: number | bigint | null | undefined;
    };
    row: {
      attempt: number;
      iteration: number;
      target_iterations: number | null;
      rank: number | null;
      step_ms: number | null;
      tflops_per_gpu: number | null;
      loss: number | null;
      learning_rate: number | null;
      grad_norm: number | null;
      loss_scale: number | null;
      global_batch_size: number | null;
      consumed_samples: number | null;
      skipped_iterations: number | null;
      nan_iterations: number | null;
      time_us: number | null;
      display_path: string;
      line: number;
    };
  };
  /** Memory figures per attempt, rank, device and metric: last, largest, growth */
  'log.memory_ranks': {
    params: {
      run_id: number;
      /** only of this rank */
      rank?: number | null | undefined;
    };
    row: {
      attempt: number;
      rank: number | null;
      device: number | null;
      metric: string;
      samples: number;
      first_iteration: number | null;
      last_iteration: number | null;
      /** NULL for counts */
      last_bytes: number | null;
      max_bytes: number | null;
      /** as printed */
      last_value: number;
      max_value: number;
      /** where the last figure stands */
      display_path: string;
      line: number;
      /** iterations sampled after the first one */
      growth_samples: number;
      /** of these */
      growth_first_iteration: number | null;
      growth_first_bytes: number | null;
      /** per iteration, least squares over these */
      growth_bytes: number | null;
      growth_r2: number | null;
    };
  };
  /** Figures of memory lines in the order of files and lines */
  'log.memory_records': {
    params: {
      run_id: number;
      /** only of this rank */
      rank?: number | null | undefined;
      /** only so many */
      most?: number | bigint | null | undefined;
    };
    row: {
      rank: number | null;
      device: number | null;
      iteration: number | null;
      metric: string;
      /** NULL for counts */
      bytes: number | null;
      /** as printed */
      value: number;
      /** as printed */
      unit: string;
      moment: string | null;
      attempt: number;
      display_path: string;
      line: number;
    };
  };
  /** Phases of each attempt: how often announced, and where first */
  'log.phases': {
    params: {
      run_id: number;
    };
    row: {
      attempt: number;
      phase: string;
      /** words of the first line */
      label: string;
      count: number;
      /** of the last line that has one */
      iteration: number | null;
      /** earliest */
      time_us: number | null;
      display_path: string;
      line: number;
    };
  };
  /** Ranks, hosts and files of which text rows tell */
  'log.presence': {
    params: {
      run_id: number;
    };
    row: {
      /** rank or host */
      kind: string;
      rank: number | null;
      host: string | null;
    };
  };
  /** Allocator settings that the snapshots of a run recorded */
  'log.snapshot_settings': {
    params: {
      run_id: number;
    };
    row: {
      key: string;
      value: string;
      rank: number | null;
    };
  };
  /** Figures and words by name: the last one, and how many there are */
  'log.values': {
    params: {
      run_id: number;
      /** only names that begin so */
      prefix?: string | null | undefined;
      /** only so many names */
      most?: number | bigint | null | undefined;
    };
    row: {
      name: string;
      value: number | null;
      unit: string | null;
      text: string | null;
      count: number;
      attempt: number;
      rank: number | null;
      display_path: string;
      line: number;
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
      /** pickle protocol; NULL for JSON, which has none */
      protocol: number | null;
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
