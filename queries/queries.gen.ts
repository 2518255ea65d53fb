// Generated from queries/**/*.sql by `npm run generate`. Do not edit.

export interface Queries {
  /** Allocations of one device as rows */
  'allocation.list': {
    params: {
      snapshot_id: number;
      device: number;
      /** only those live after this entry; -1 = before the first */
      at_seq?: number | null | undefined;
      address?: number | bigint | null | undefined;
      min_bytes?: number | bigint | null | undefined;
      /** only stacks with this text in a frame */
      site?: string | null | undefined;
      /** bytes, lifetime or entry */
      sort: string;
      /** at most so many */
      count: number;
    };
    row: {
      address: number | bigint;
      /** traced, or before_trace */
      origin: string;
      alloc_seq: number | null;
      free_requested_seq: number | null;
      free_completed_seq: number | null;
      requested_bytes: number | null;
      actual_bytes: number | null;
      uncertain_bytes: number | null;
      alloc_us: number | null;
      free_us: number | null;
      lifetime_us: number | null;
      lifetime_entries: number | null;
      stream: number | null;
      pool: number | null;
      stack_id: number | null;
      stack_origin: string;
      compile_context_id: number | null;
      user_metadata_id: number | null;
    };
  };
  /** How many allocations of one device there are, and their bytes */
  'allocation.totals': {
    params: {
      snapshot_id: number;
      device: number;
      /** only those live after this entry; -1 = before the first */
      at_seq?: number | null | undefined;
      address?: number | bigint | null | undefined;
      min_bytes?: number | bigint | null | undefined;
      /** only stacks with this text in a frame */
      site?: string | null | undefined;
    };
    row: {
      count: number;
      actual_bytes: number;
      requested_bytes: number;
    };
  };
  /** Allocations of one device's trace, from one entry to before another */
  'attribution.allocs': {
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
      /** requested */
      size_bytes: number;
      stack_id: number | null;
    };
  };
  /** Frees of one device's trace with the allocations they end, from one entry to before another */
  'attribution.frees': {
    params: {
      snapshot_id: number;
      device: number;
      /** first */
      from_seq: number;
      /** one past the last */
      to_seq: number;
      /** the action that ends a block: free_completed, or free_requested where completions were not recorded */
      free: string;
    };
    row: {
      seq: number;
      alloc_seq: number | null;
    };
  };
  /** Devices of snapshots whose blocks are not attributed yet */
  'attribution.missing': {
    params: {
      /** version of the rules */
      rules: number;
    };
    row: {
      snapshot_id: number;
      device: number;
    };
  };
  /** Frees of one device's trace whose allocations are older than it */
  'attribution.older_frees': {
    params: {
      snapshot_id: number;
      device: number;
      /** the action that ends a block */
      free: string;
    };
    row: {
      seq: number;
      addr: number | bigint;
    };
  };
  /** When the trace of each snapshot of a run ends */
  'diff.snapshot_times': {
    params: {
      run_id: number;
    };
    row: {
      snapshot_id: number;
      /** Unix epoch; NULL where no entry has a time */
      last_time_us: number | null;
    };
  };
  /** Annotations of a snapshot as JSON text */
  'export.annotations': {
    params: {
      snapshot_id: number;
      /** first */
      from_ordinal: number;
      /** one past the last */
      to_ordinal: number;
      /** leaves out what is later */
      until_us?: number | bigint | null | undefined;
    };
    row: {
      json: string;
    };
  };
  /** Blocks of some segments as JSON text, without frames and their closing brace */
  'export.blocks': {
    params: {
      snapshot_id: number;
      /** first */
      from_segment: number;
      /** one past the last */
      to_segment: number;
      /** only this one */
      device?: number | null | undefined;
      /** torch 2.1 and newer write it */
      has_address: boolean;
      /** and this */
      has_requested: boolean;
      /** what older ones write instead */
      has_history: boolean;
    };
    row: {
      segment: number;
      /** NULL where the block has no frames key */
      stack_id: number | null;
      head: string;
      /** the beginning of its history entry, where it has one */
      history: string | null;
    };
  };
  /** The time of one trace entry */
  'export.entry_time': {
    params: {
      snapshot_id: number;
      device: number;
      seq: number;
    };
    row: {
      /** microseconds since 1970 */
      time_us: number | null;
    };
  };
  /** How many segments and annotations a snapshot has */
  'export.extents': {
    params: {
      snapshot_id: number;
    };
    row: {
      segments: number;
      annotations: number;
    };
  };
  /** Some frames as JSON text */
  'export.frames': {
    params: {
      /** ids, separated by commas */
      frame_ids: string;
    };
    row: {
      frame_id: number;
      json: string;
    };
  };
  /** Who made the segments that stand at a moment of a trace, by address */
  'export.segment_stacks': {
    params: {
      snapshot_id: number;
      device: number;
      /** entries before this one */
      to_seq: number;
    };
    row: {
      address: number | bigint;
      stack_id: number;
    };
  };
  /** Segments of a snapshot as JSON text, without frames, blocks and their closing brace */
  'export.segments': {
    params: {
      snapshot_id: number;
      /** first */
      from_segment: number;
      /** one past the last */
      to_segment: number;
      /** only this one */
      device?: number | null | undefined;
    };
    row: {
      segment: number;
      /** NULL where the segment has no frames key */
      stack_id: number | null;
      head: string;
    };
  };
  /** Frame ids of every stack of a snapshot, innermost first */
  'export.stacks': {
    params: {
      snapshot_id: number;
    };
    row: {
      stack_id: number;
      frame_id: number;
    };
  };
  /** Trace entries of one device as JSON text, without their frames and their closing brace */
  'export.trace_entries': {
    params: {
      snapshot_id: number;
      device: number;
      /** first */
      from_seq: number;
      /** one past the last */
      to_seq: number;
    };
    row: {
      /** NULL where the entry has no frames key */
      stack_id: number | null;
      head: string;
    };
  };
  /** What was live after one entry of a trace, by stack */
  'finding.live_stacks': {
    params: {
      snapshot_id: number;
      device: number;
      /** -1 = before the first entry */
      at_seq: number;
    };
    row: {
      /** actual sizes; NULL until the history is kept in the store */
      bytes: number | bigint | null;
      blocks: number;
      /** requested bytes, where they were recorded */
      requested: number | bigint | null;
      stack_id: number | null;
      /** free_event: only the stack of the free is known */
      stack_origin: string;
      /** the four innermost */
      frames: string | null;
    };
  };
  /** Everything that was read from one line of a text */
  'finding.log_line': {
    params: {
      run_id: number;
      /** as sources name it */
      path: string;
      line: number | bigint;
    };
    row: {
      /** failure, memory, setting, variable or figure */
      read_as: string;
      name: string;
      value: string | null;
      bytes: number | null;
      rank: number | null;
      ordinal: number;
    };
  };
  /** One memory figure of one rank, line by line */
  'finding.memory_series': {
    params: {
      run_id: number;
      /** NULL: lines without a rank */
      rank?: number | null | undefined;
      metric: string;
    };
    row: {
      iteration: number | null;
      bytes: number | null;
      attempt: number;
      display_path: string;
      line: number;
    };
  };
  /** One entry of a trace, with what was live and reserved just before it and who asked */
  'finding.oom_entry': {
    params: {
      snapshot_id: number;
      device: number;
      seq: number;
    };
    row: {
      seq: number;
      action: string;
      requested_bytes: number | null;
      /** cudaMemGetInfo at that moment; only on OOM entries */
      device_free_bytes: number | null;
      /** actual sizes, pending frees included; NULL until the history is kept in the store */
      active_bytes: number | null;
      /** NULL too where a row of derived_bucket stands for more than one entry */
      reserved_bytes: number | null;
      stream: number | null;
      time_us: number | null;
      /** innermost first */
      frames: string | null;
    };
  };
  /** Segments after one entry of a trace, with what is live in each */
  'finding.segments_at': {
    params: {
      snapshot_id: number;
      device: number;
      /** -1 = before the first entry */
      at_seq: number;
    };
    row: {
      /** hexadecimal */
      address: string;
      total_bytes: number | bigint;
      /** actual sizes, pending frees included */
      active_bytes: number | bigint;
      free_bytes: number | bigint;
      blocks: number;
      /** a mapped run */
      is_expandable: boolean;
    };
  };
  /** Where a file of a run lies, and what it was when it was read */
  'finding.source': {
    params: {
      run_id: number;
      /** as sources name it */
      path: string;
    };
    row: {
      path: string;
      file_bytes: number;
      /** of the bytes on disk */
      sha256: string | null;
    };
  };
  /** Runs kept as golden values, by name and position */
  'golden.runs': {
    params: {
      /** only of this name */
      name?: string | null | undefined;
    };
    row: {
      name: string;
      /** from 0, in the order in which they were added */
      position: number;
      added_at: string;
      /** measurement, or upstream: a golden file of Megatron-LM or Megatron Bridge */
      form: string;
      /** run or file */
      source: string;
      /** JSON */
      document: string;
    };
  };
  /** Allocations that are not what their trace entry says */
  'history.alloc_facts': {
    params: {
      snapshot_id: number;
      device: number;
    };
    row: {
      seq: number;
      /** actual bytes beyond the request rounded up to 512 */
      excess_bytes: number;
      uncertain_bytes: number;
      pool: number | null;
      stack_id: number | null;
      /** code as in STACK_ORIGINS */
      stack_origin: string;
    };
  };
  /** One entry of a trace */
  'history.entry': {
    params: {
      snapshot_id: number;
      device: number;
      seq: number;
    };
    row: {
      action: string;
      addr: number | bigint | null;
      size_bytes: number;
      time_us: number | null;
      stack_id: number | null;
    };
  };
  /** Trace entries of one device from one entry to before another */
  'history.events': {
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
      stack_id: number | null;
    };
  };
  /** Whether the frees of a trace carry the stacks of their allocations, from its first entries */
  'history.free_stacks': {
    params: {
      snapshot_id: number;
      device: number;
      /** entries looked at */
      before_seq: number;
    };
    row: {
      /** frees with a stack whose allocation is in the trace */
      pairs: number;
      /** of these, with another stack than their allocation */
      differing: number;
      /** different stacks among them */
      stacks: number;
    };
  };
  /** Completed frees at some addresses */
  'history.frees_at': {
    params: {
      snapshot_id: number;
      /** decimal, separated by commas */
      addresses: string;
    };
    row: {
      addr: number | bigint;
      seq: number;
    };
  };
  /** Whose memory each segment entry brought */
  'history.growth_facts': {
    params: {
      snapshot_id: number;
      device: number;
    };
    row: {
      seq: number;
      /** code as in SEGMENT_TYPES */
      segment_type: string;
      pool: number | null;
      is_inferred: number;
    };
  };
  /** Whether entries of a device name another pool than the default one */
  'history.has_pools': {
    params: {
      snapshot_id: number;
      device: number;
    };
    row: {
      pooled: boolean;
    };
  };
  /** The last entry of a trace at or before a time */
  'history.last_before': {
    params: {
      snapshot_id: number;
      device: number;
      /** microseconds of the epoch */
      time_us: number | bigint;
    };
    row: {
      /** NULL if none is that old */
      seq: number | null;
    };
  };
  /** Frees that were requested and never completed, of blocks that are not pending in the dump */
  'history.lone_requests': {
    params: {
      snapshot_id: number;
      device: number;
    };
    row: {
      count: number;
    };
  };
  /** Devices of snapshots whose history is not derived yet */
  'history.missing': {
    params: {
      rules: number;
    };
    row: {
      snapshot_id: number;
      device: number;
    };
  };
  /** Trace entries of one device with their pools */
  'history.pooled_events': {
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
  /** Blocks of one device that were live before the first entry of its trace */
  'history.start_blocks': {
    params: {
      snapshot_id: number;
      device: number;
    };
    row: {
      address: number | bigint;
      size_bytes: number;
      least_bytes: number;
      most_bytes: number;
      requested_bytes: number | null;
      /** code as in BLOCK_STATES */
      state: string;
      stack_id: number | null;
      /** code as in STACK_ORIGINS */
      stack_origin: string;
    };
  };
  /** Segments of one device before the first entry of its trace */
  'history.start_segments': {
    params: {
      snapshot_id: number;
      device: number;
    };
    row: {
      address: number | bigint;
      total_bytes: number;
      stream: number | null;
      /** code as in SEGMENT_TYPES */
      segment_type: string;
      pool: number | null;
      is_expandable: number;
      is_inferred: number;
    };
  };
  /** What the walk over a device's trace found out */
  'history.summary': {
    params: {
      snapshot_id: number;
      device: number;
      /** version of the rules; what older ones derived does not count */
      rules: number;
    };
    row: {
      events: number;
      /** nothing contradicts the allocator's rules, a skew of the last few entries aside */
      holds: boolean;
      /** forward from the start the trace ends in the dumped state */
      ends_in_dump: boolean;
      starts_empty: boolean;
      violations: number;
      implied_completions: number;
      /** actual sizes */
      peak_active_bytes: number;
      /** NULL: before the first entry */
      peak_active_seq: number | null;
      peak_reserved_bytes: number;
      peak_reserved_seq: number | null;
      /** of the start state */
      uncertain_blocks: number;
      uncertain_bytes: number;
      /** entries a row of derived_bucket */
      bucket_entries: number;
    };
  };
  /** Times of the trace entries of one device */
  'history.times': {
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
      time_us: number | null;
    };
  };
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
      /** of the first sampled iteration */
      first_bytes: number | null;
      /** iterations sampled after the first one */
      growth_samples: number;
      /** of these */
      growth_first_iteration: number | null;
      growth_first_bytes: number | null;
      /** per iteration, least squares over these */
      growth_bytes: number | null;
      growth_r2: number | null;
      /** of the later half of these iterations; NULL with fewer than four */
      growth_late_bytes: number | null;
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
  /** Memory lines of the newest attempt that printed any, by rank: the first line's peak, and the largest of all */
  'measure.memory_ranks': {
    params: {
      run_id: number;
    };
    row: {
      rank: number | null;
      /** of the first memory line */
      first_iteration: number | null;
      last_iteration: number | null;
      /** max_allocated (max_active where that is not printed) of the first line */
      first_peak_bytes: number | null;
      /** of all lines */
      peak_bytes: number | null;
      /** of the first line */
      first_allocated_bytes: number | null;
      /** of the last line */
      allocated_bytes: number | null;
      peak_reserved_bytes: number | null;
      alloc_retries: number | null;
      /** the coarsest of the figures used */
      precision_bytes: number;
    };
  };
  /** Snapshots of a run whose trace ends with an OOM, or holds one */
  'measure.oom_snapshots': {
    params: {
      run_id: number;
    };
    row: {
      snapshot_id: number;
    };
  };
  /** Memory and counters that metrics hold at every step of the newest launch that has iterations */
  'measure.step_metrics': {
    params: {
      run_id: number;
    };
    row: {
      iteration: number;
      allocated_bytes: number | null;
      max_allocated_bytes: number | null;
      num_zeros: number | null;
    };
  };
  /** Allocations of the driver, with the call, the thread and the library call that made each */
  'nsys.allocations': {
    params: {
      source_id: number;
    };
    row: {
      pid: number | null;
      device: number | null;
      kind: string;
      address: number;
      bytes: number;
      /** NULL: held since before the capture */
      alloc_ns: number | null;
      free_ns: number | null;
      /** freed, free_lost (another allocation took its address), open */
      fate: string;
      /** traced, before_capture, allocation_lost */
      origin: string;
      pc: number | null;
      /** of a static variable */
      name: string | null;
      pool_address: number | null;
      api: string | null;
      api_ns: number | null;
      tid: number | null;
      thread: string | null;
      /** innermost traced library call around it */
      library: string | null;
      library_call: string | null;
      /** modules of its call chain, innermost first; of the call that freed it where that is all there is */
      modules: string | null;
    };
  };
  /** Times in which a device was computing, communicating or copying, overlaps joined */
  'nsys.busy_islands': {
    params: {
      source_id: number;
    };
    row: {
      /** -1: not known */
      pid: number;
      /** -1: not known */
      device: number;
      /** 0 compute, 1 communication, 2 copy */
      class: number;
      start_ns: number;
      end_ns: number;
    };
  };
  /** Copies by direction and by the kinds of memory at both ends */
  'nsys.copies': {
    params: {
      source_id: number;
    };
    row: {
      operation: string;
      copy_kind: string | null;
      source_kind: string | null;
      target_kind: string | null;
      count: number;
      bytes: number;
      /** union of their times on each device, added up over devices */
      busy_ns: number;
    };
  };
  /** Ranges, kernels and copies of a report; NULL where they were not captured */
  'nsys.counts': {
    params: {
      source_id: number;
    };
    row: {
      ranges: number | null;
      marks: number | null;
      kernels: number | null;
      copies: number | null;
      sets: number | null;
      calls: number | null;
      syncs: number | null;
      graphs: number | null;
      memory_events: number | null;
      /** end of the last event */
      last_ns: number | null;
      /** of a device */
      first_work_ns: number | null;
      last_work_ns: number | null;
    };
  };
  /** Memory that the driver gave, by process, device and kind: the most at once, and at the end */
  'nsys.device_memory': {
    params: {
      source_id: number;
    };
    row: {
      pid: number | null;
      device: number | null;
      kind: string;
      peak_bytes: number;
      peak_ns: number;
      end_bytes: number;
      /** freed without having been allocated in the capture: held since before, at least */
      before_bytes: number;
      allocations: number;
      frees: number;
    };
  };
  /** What the profiler itself found wrong with a capture */
  'nsys.diagnostics': {
    params: {
      source_id: number;
    };
    row: {
      severity: string;
      text: string;
      count: number;
      first_ns: number | null;
    };
  };
  /** CUDA calls that returned an error */
  'nsys.failed_calls': {
    params: {
      source_id: number;
    };
    row: {
      api: string;
      return_value: number;
      pid: number | null;
      count: number;
      first_ns: number;
      last_ns: number;
    };
  };
  /** Bursts of calls that give memory back: the allocator empties its cache */
  'nsys.free_storms': {
    params: {
      source_id: number;
      /** calls of one thread further apart than this are two bursts */
      gap_ns: number | bigint;
      least_calls: number | bigint;
    };
    row: {
      pid: number | null;
      tid: number | null;
      start_ns: number;
      end_ns: number;
      calls: number;
      busy_ns: number;
      /** a call for memory failed on this thread just before: the allocator retried */
      failed_before: boolean;
    };
  };
  /** GPUs of a report */
  'nsys.gpus': {
    params: {
      source_id: number;
    };
    row: {
      /** number in the report, not the CUDA ordinal of a process */
      gpu: number;
      name: string | null;
      total_bytes: number | null;
      bus_location: string | null;
      uuid: string | null;
    };
  };
  /** Kernels by name */
  'nsys.kernels': {
    params: {
      source_id: number;
      /** only those that begin from here on */
      from_ns?: number | bigint | null | undefined;
      /** and before here */
      to_ns?: number | bigint | null | undefined;
      most: number | bigint;
    };
    row: {
      name: string;
      count: number;
      /** sum of durations; kernels of several streams overlap */
      total_ns: number;
      median_ns: number;
      /** most that one of them reserves for spills */
      local_memory_bytes: number | null;
    };
  };
  /** Calls that take memory from the driver and give it back, and the time they cost */
  'nsys.memory_calls': {
    params: {
      source_id: number;
      /** window in which calls are also counted */
      from_ns?: number | bigint | null | undefined;
      to_ns?: number | bigint | null | undefined;
    };
    row: {
      api: string;
      pid: number | null;
      count: number;
      failed: number;
      /** union of the calls' times over the threads of the process */
      busy_ns: number;
      longest_ns: number;
      /** calls that begin in the window */
      in_window: number;
    };
  };
  /** Memory held at the driver over time, by process, device and kind */
  'nsys.memory_curve': {
    params: {
      source_id: number;
      /** equal slices of time, each with the most that was held in it */
      columns: number | bigint;
    };
    row: {
      pid: number | null;
      device: number | null;
      kind: string;
      /** from 0 */
      slice: number;
      /** of the slice */
      start_ns: number;
      /** the most held in it */
      bytes: number;
    };
  };
  /** Pools of cudaMallocAsync: how much they held and how much of it was in use */
  'nsys.pools': {
    params: {
      source_id: number;
    };
    row: {
      pid: number | null;
      device: number | null;
      /** of the pool */
      address: number;
      /** held from the driver, at the most */
      peak_bytes: number;
      peak_used_bytes: number | null;
      end_bytes: number;
      end_used_bytes: number | null;
    };
  };
  /** What pools of cudaMallocAsync keep beyond what is in use, at one moment */
  'nsys.pools_at': {
    params: {
      source_id: number;
      time_ns: number | bigint;
      pid?: number | null | undefined;
      device?: number | null | undefined;
    };
    row: {
      /** with something unused */
      pools: number;
      /** held from the driver and not in use */
      bytes: number;
    };
  };
  /** Processes of a report, and the devices they worked on */
  'nsys.processes': {
    params: {
      source_id: number;
    };
    row: {
      pid: number;
      name: string | null;
      rank: number | null;
      rank_origin: string | null;
      /** CUDA ordinals inside the process, most work first */
      devices: string | null;
    };
  };
  /** NVTX ranges by their text, numbers in it aside */
  'nsys.range_groups': {
    params: {
      source_id: number;
    };
    row: {
      pid: number | null;
      tid: number | null;
      type: string;
      domain_name: string | null;
      /** the text with # for each number */
      template: string;
      example: string;
      /** ended ones */
      count: number;
      unfinished: number;
      /** of the first */
      start_ns: number;
      /** of the last that ended */
      end_ns: number | null;
      /** sum of their durations */
      total_ns: number | null;
      /** of their durations */
      median_ns: number | null;
      /** one begins before another has ended */
      overlaps: boolean;
    };
  };
  /** Kernels and copies launched inside the NVTX ranges of a text */
  'nsys.range_work': {
    params: {
      source_id: number;
      /** part of a range's text, in whatever case */
      text: string;
      most: number | bigint;
    };
    row: {
      /** kernel, memcpy, memset */
      work: string;
      /** of the kernel, or the direction of the copy */
      name: string;
      count: number;
      /** sum of durations */
      total_ns: number;
      /** of copies */
      bytes: number | null;
    };
  };
  /** Push/pop ranges in the order in which each thread opened them */
  'nsys.ranges': {
    params: {
      source_id: number;
    };
    row: {
      pid: number;
      tid: number;
      start_ns: number;
      end_ns: number | null;
      text_id: number;
      /** its domain is NCCL's */
      is_nccl: boolean;
    };
  };
  /** NVTX ranges open at a moment, outermost first */
  'nsys.ranges_at': {
    params: {
      source_id: number;
      time_ns: number | bigint;
      /** NULL: of every process */
      pid?: number | null | undefined;
    };
    row: {
      pid: number | null;
      tid: number | null;
      thread: string | null;
      type: string;
      domain_name: string | null;
      text: string;
      start_ns: number;
      end_ns: number | null;
    };
  };
  /** The ranges of one text on one thread, in order */
  'nsys.ranges_of_group': {
    params: {
      source_id: number;
      pid?: number | null | undefined;
      /** NULL for ranges that belong to no thread */
      tid?: number | null | undefined;
      type: string;
      /** the text with # for each number */
      template: string;
    };
    row: {
      start_ns: number;
      end_ns: number | null;
      text: string;
    };
  };
  /** Processes to which the driver refused device memory, and how that ended */
  'nsys.refused_memory': {
    params: {
      source_id: number;
    };
    row: {
      pid: number | null;
      refusals: number;
      first_ns: number;
      last_ns: number;
      /** of the last refusal */
      api: string;
      /** calls for device memory that succeeded after the last refusal */
      served_after: number;
    };
  };
  /** Nsight Systems exports of a run, and what each of them holds */
  'nsys.reports': {
    params: {
      run_id: number;
    };
    row: {
      source_id: number;
      display_path: string;
      rank: number | null;
      rank_origin: string | null;
      form: string;
      product_version: string | null;
      schema_version: string | null;
      /** UTC of the start of the collection, µs since 1970 */
      clock_offset_us: number | null;
      clock_origin: string | null;
      duration_ns: number | null;
      host: string | null;
      /** NULL: not known */
      memory_events_collected: boolean | null;
      graph_trace: string | null;
      is_partial: boolean;
    };
  };
  /** Memory snapshots of a run, by device, with the span of each recording */
  'nsys.snapshots': {
    params: {
      run_id: number;
    };
    row: {
      snapshot_id: number;
      handle: string;
      rank: number | null;
      device: number;
      /** of the first entry; NULL without a trace or without times */
      first_us: number | null;
      /** of the last entry; NULL without a trace or without times */
      last_us: number | null;
    };
  };
  /** Tables of an export and their rows */
  'nsys.tables': {
    params: {
      source_id: number;
    };
    row: {
      name: string;
      row_count: number;
      /** its rows are in the store */
      is_read: boolean;
    };
  };
  /** Texts of a report by their numbers */
  'nsys.texts': {
    params: {
      source_id: number;
      /** numbers, comma-separated */
      text_ids: string;
    };
    row: {
      text_id: number;
      text: string;
    };
  };
  /** Segments of PyTorch's allocator over a recording: when each was taken from the driver and given back */
  'nsys.torch_segments': {
    params: {
      snapshot_id: number;
      device: number;
    };
    row: {
      address: number;
      bytes: number;
      /** NULL: before the recording */
      alloc_us: number | null;
      /** NULL: held at the dump */
      free_us: number | null;
    };
  };
  /** One moment by two clocks: iterations that a log prints and metrics record, failures that a log prints and a trace holds */
  'outside.clock_pairs': {
    params: {
      run_id: number;
    };
    row: {
      /** iteration or failure */
      kind: string;
      pairs: number;
      /** UTC less the printed clock, median */
      shift_us: number;
      /** between the fifth and the ninety-fifth of a hundred */
      spread_us: number;
    };
  };
  /** What was sampled of host memory: limits, and the largest resident sizes */
  'outside.host_memory': {
    params: {
      run_id: number;
    };
    row: {
      metric: string;
      host: string | null;
      process: string | null;
      /** the largest */
      bytes: number;
      display_path: string;
      line: number;
    };
  };
  /** What was sampled of each device, by the file that holds the samples */
  'outside.monitors': {
    params: {
      run_id: number;
    };
    row: {
      source_id: number;
      display_path: string;
      /** what sampled */
      format: string;
      /** printed or utc */
      clock: string;
      host: string | null;
      /** index of the driver */
      device: number | null;
      /** UUID or bus id */
      gpu: string | null;
      /** of the memory in use */
      samples: number;
      /** of them with a time */
      timed: number;
      first_us: number | null;
      last_us: number | null;
      /** median distance of two samples */
      interval_us: number | null;
      total_bytes: number | null;
      first_bytes: number;
      last_bytes: number;
      min_bytes: number;
      max_bytes: number;
      /** when */
      max_us: number | null;
      /** where it stands */
      max_line: number;
    };
  };
  /** What PyTorch of one rank held, with the sample of its device that is nearest in time */
  'outside.pairs': {
    params: {
      run_id: number;
      rank?: number | null | undefined;
      /** of the samples; NULL: only records that say both themselves */
      source_id?: number | null | undefined;
      host?: string | null | undefined;
      device?: number | null | undefined;
      gpu?: string | null | undefined;
      /** of the rank's own process */
      pid?: number | bigint | null | undefined;
      /** from printed clocks to UTC; NULL: not known, so that only equal clocks meet */
      shift_us?: number | bigint | null | undefined;
      /** farthest sample that still counts */
      reach_us: number | bigint;
    };
    row: {
      /** UTC where the shift is known, else by the record's own clock */
      time_us: number | null;
      clock: string;
      iteration: number | null;
      kind: string;
      reserved_bytes: number;
      used_bytes: number;
      total_bytes: number | null;
      /** own process, by the driver */
      process_bytes: number | null;
      /** all other processes of that sample */
      others_bytes: number | null;
      /** the device's figure is a sample, not of the same record */
      is_sampled: boolean;
      /** between record and sample */
      apart_us: number | null;
      display_path: string;
      line: number;
    };
  };
  /** The largest figures PyTorch's own counters told of reserved memory, by rank */
  'outside.peaks': {
    params: {
      run_id: number;
    };
    row: {
      rank: number | null;
      peak_reserved_bytes: number;
    };
  };
  /** Processes that were sampled on each device */
  'outside.processes': {
    params: {
      run_id: number;
    };
    row: {
      host: string | null;
      device: number | null;
      gpu: string | null;
      pid: number | null;
      process: string | null;
      clock: string;
      samples: number;
      first_us: number | null;
      last_us: number | null;
      min_bytes: number;
      last_bytes: number;
      max_bytes: number;
      /** of the last sample */
      display_path: string;
      /** of it */
      line: number;
    };
  };
  /** Where ranks run, as far as anything says it: hosts, pids, and the devices NCCL names */
  'outside.rank_places': {
    params: {
      run_id: number;
    };
    row: {
      /** NULL only for NCCL's lines, which name the rank themselves */
      rank: number | null;
      host: string | null;
      pid: number | null;
      /** ordinal of the process */
      device: number | null;
      /** NCCL's words of a communicator of all ranks: index and bus of the device */
      nccl: string | null;
    };
  };
  /** Ranks whose PyTorch said what it held, and how often */
  'outside.readings': {
    params: {
      run_id: number;
    };
    row: {
      rank: number | null;
      readings: number;
      timed: number;
      /** with the device's memory in the same record */
      complete: number;
      /** of these moments */
      max_reserved_bytes: number;
      /** of those with a time */
      clocks: readonly (string)[] | null;
    };
  };
  /** Samples of a device within a recording of its allocator, with what the allocator held at that moment */
  'outside.trace_pairs': {
    params: {
      run_id: number;
      snapshot_id: number;
      /** ordinal of the process */
      trace_device: number;
      /** of the samples */
      source_id: number;
      host?: string | null | undefined;
      device?: number | null | undefined;
      gpu?: string | null | undefined;
      /** from the samples' clock to UTC */
      shift_us: number | bigint;
    };
    row: {
      time_us: number;
      reserved_bytes: number;
      used_bytes: number;
    };
  };
  /** Recordings of allocators with times */
  'outside.traces': {
    params: {
      run_id: number;
    };
    row: {
      snapshot_id: number;
      handle: string;
      rank: number | null;
      device: number;
      first_us: number;
      last_us: number;
      peak_reserved_bytes: number;
    };
  };
  /** Allocations of one device up to an entry, with what torch noted beside the stack */
  'peak.allocations': {
    params: {
      snapshot_id: number;
      device: number;
      /** last entry */
      to_seq: number;
    };
    row: {
      seq: number;
      time_us: number | null;
      compile_context_id: number | null;
      user_metadata_id: number | null;
    };
  };
  /** Starts and ends of record_function scopes, in the order recorded */
  'peak.annotations': {
    params: {
      snapshot_id: number;
    };
    row: {
      ordinal: number;
      /** START, END or other */
      stage: string;
      name: string;
      /** current device of the thread */
      device: number | null;
      time_us: number | null;
    };
  };
  /** Frees of one device after an entry */
  'peak.frees_after': {
    params: {
      snapshot_id: number;
      device: number;
      /** -1 = from the first */
      after_seq: number;
      /** free_completed, or free_requested where completions were not recorded */
      action: string;
    };
    row: {
      seq: number;
      addr: number | bigint | null;
      time_us: number | null;
    };
  };
  /** Sums of what the segments of a snapshot say about themselves, all devices */
  'peak.header_sums': {
    params: {
      snapshot_id: number;
    };
    row: {
      segments: number;
      total_bytes: number;
      allocated_bytes: number;
      active_bytes: number;
    };
  };
  /** What memory_viz plots for one device: elements allocated before the first entry, and its highest total */
  'peak.memory_viz': {
    params: {
      snapshot_id: number;
      device: number;
    };
    row: {
      /** frees of memory whose allocation was not recorded */
      freed_in_trace: number;
      /** requested */
      freed_in_trace_bytes: number;
      /** allocated blocks of the dump that the trace did not allocate */
      ghosts: number;
      /** requested, actual where the file does not say */
      ghost_bytes: number;
      /** largest total after an entry, from zero; NULL without entries */
      peak_delta_bytes: number | null;
    };
  };
  /** What the trace tells about its reach: the time of an entry, and whether the ring lost the beginning */
  'peak.moment_facts': {
    params: {
      snapshot_id: number;
      device: number;
      /** the entry */
      seq?: number | null | undefined;
    };
    row: {
      time_us: number | null;
      ring_truncated: boolean;
    };
  };
  /** Allocations and completed frees of one device, in order */
  'peak.replay': {
    params: {
      snapshot_id: number;
      device: number;
    };
    row: {
      seq: number;
      /** code as in TRACE_ACTIONS */
      action: string;
      addr: number | bigint | null;
      /** requested */
      size_bytes: number;
      time_us: number | null;
      stack_id: number | null;
    };
  };
  /** Allocated blocks of the dump, on any device, at addresses that one device's trace never names */
  'peak.static_bytes': {
    params: {
      snapshot_id: number;
      /** the device of the trace */
      device: number;
    };
    row: {
      /** actual */
      bytes: number;
    };
  };
  /** Streams of a snapshot in order of first appearance */
  'peak.streams': {
    params: {
      snapshot_id: number;
    };
    row: {
      /** the raw handle */
      stream: number;
    };
  };
  /** Interned texts by id */
  'peak.texts': {
    params: {
      /** ids, separated by commas */
      text_ids: string;
    };
    row: {
      text_id: number;
      text: string;
    };
  };
  /** Every change of one memory timeline of torch.profiler, in its order */
  'profiler.entries': {
    params: {
      source_id: number;
    };
    row: {
      /** event, or point in time of several rows */
      ordinal: number;
      /** NULL before the profiler started */
      time_us: number | null;
      delta_bytes: number;
      /** code as in PROFILER_CATEGORIES */
      category: string;
    };
  };
  /** Memory timelines of torch.profiler, by rank and file */
  'profiler.timelines': {
    params: {
      run_id: number;
    };
    row: {
      source_id: number;
      /** file, relative to the run */
      display_path: string;
      rank: number | null;
      /** events, or points in time; 0 for an empty timeline */
      entries: number;
      /** whether it lists events rather than sums; NULL for an empty timeline */
      has_actions: boolean | null;
      first_time_us: number | null;
      last_time_us: number | null;
    };
  };
  /** All blocks of one device at the dump, free ones included */
  'replay.dumped_blocks': {
    params: {
      snapshot_id: number;
      device: number;
    };
    row: {
      address: number | bigint;
      /** actual size */
      size_bytes: number;
      /** code as in BLOCK_STATES */
      state: string;
    };
  };
  /** Stacks of segments given back because the program emptied the cache */
  'replay.empty_cache_stacks': {
    params: {
      snapshot_id: number;
      device: number;
    };
    row: {
      stack_id: number;
    };
  };
  /** Entries of a trace around one of them */
  'replay.entries_around': {
    params: {
      snapshot_id: number;
      device: number;
      from_seq: number;
      to_seq: number;
    };
    row: {
      seq: number;
      action: string;
      addr: number | bigint | null;
      size_bytes: number;
      stream: number | null;
    };
  };
  /** The run and rank a snapshot belongs to */
  'replay.run_of_snapshot': {
    params: {
      snapshot_id: number;
    };
    row: {
      run_id: number;
      rank: number | null;
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
  /** Allocated bytes at the dump, by the stack that allocated them */
  'snapshot.allocated_by_stack': {
    params: {
      snapshot_id: number;
      device: number;
    };
    row: {
      /** NULL where it was allocated before the recording */
      stack_id: number | null;
      /** actual block sizes */
      bytes: number;
      blocks: number;
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
  /** Some frames */
  'snapshot.frames': {
    params: {
      /** ids, separated by commas */
      frame_ids: string;
    };
    row: {
      frame_id: number;
      name: string;
      filename: string;
      /** 0 = unknown */
      line: number;
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
  /** Whether the trace of a later snapshot begins inside that of an earlier one */
  'snapshot.overlap': {
    params: {
      /** snapshot */
      earlier: number;
      /** snapshot */
      later: number;
      device: number;
      /** by how much the two may disagree about the time of one entry */
      tolerance_us: number | bigint;
      /** entries of the earlier trace to try, the nearest in time first */
      candidates: number;
    };
    row: {
      /** the entry of the earlier trace that is the later trace's first */
      earlier_seq: number;
      /** entries from there to the end of the earlier trace */
      compared: number;
      /** of these, equal in action, address and size to the later trace's */
      same: number;
      /** largest disagreement about the time */
      skew_us: number;
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
  /** Every device of every memory snapshot of a run, with what puts it into the order of time */
  'snapshot.series': {
    params: {
      run_id: number;
    };
    row: {
      snapshot_id: number;
      /** run/rank/snapshot#n */
      handle: string;
      /** file, relative to the run */
      display_path: string;
      /** launch, from 1 */
      attempt: number;
      rank: number | null;
      device: number;
      /** oom or periodic, where the file or its name tells */
      dump_trigger: string | null;
      dump_trigger_origin: string | null;
      step: number | null;
      step_origin: string | null;
      /** NULL where the device has no trace */
      events: number | null;
      /** of the trace */
      first_time_us: number | null;
      last_time_us: number | null;
      /** last annotation of the snapshot */
      annotation_time_us: number | null;
      oom_entries: number;
      /** at the dump, as the next three */
      allocated_bytes: number;
      active_bytes: number;
      reserved_bytes: number;
      inactive_bytes: number;
      /** before the first entry of the trace */
      start_reserved_bytes: number | null;
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
  /** Which frames some stacks have, innermost first */
  'snapshot.stack_frames': {
    params: {
      /** ids, separated by commas */
      stack_ids: string;
    };
    row: {
      stack_id: number;
      /** 0 = where the allocator was called */
      pos: number;
      frame_id: number;
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
  /** Tables and views of the store */
  'store.relations': {
    params: Record<string, never>;
    row: {
      name: string;
      is_view: boolean;
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
  /** Runs whose logs print a commit */
  'store.runs_of_commit': {
    params: {
      /** the beginning of its hash, in lower case */
      commit: string;
    };
    row: {
      run_id: number;
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
  /** Kernels of a window by kind */
  'symptom.kernel_kinds': {
    params: {
      source_id: number;
      from_ns: number | bigint;
      to_ns: number | bigint;
    };
    row: {
      /** -1: not known */
      pid: number;
      /** -1: not known */
      device: number;
      /** gemm, norm, collective, send_receive, other */
      kind: string;
      count: number;
      /** sum of durations */
      total_ns: number;
      median_ns: number;
    };
  };
  /** Times in which a device stood idle because its next work had not been launched yet */
  'symptom.launch_gaps': {
    params: {
      source_id: number;
      from_ns: number | bigint;
      to_ns: number | bigint;
      /** longer gaps are something else than launching: input, checkpoints */
      most_ns: number | bigint;
    };
    row: {
      /** -1: not known */
      pid: number;
      /** -1: not known */
      device: number;
      /** so many gaps whose next work was launched after the gap had begun */
      gaps: number;
      /** their sum */
      gap_ns: number;
      /** all gaps, of whatever length and reason */
      idle_ns: number;
    };
  };
  /** Timers by name and rank: the median over the lines */
  'symptom.rank_timers': {
    params: {
      run_id: number;
    };
    row: {
      /** timer.<name>.ms of one rank; .min_ms, .max_ms over all ranks */
      name: string;
      /** NULL where the line tells none */
      rank: number | null;
      /** milliseconds */
      value: number;
      count: number;
      /** where the last one stands */
      display_path: string;
      line: number;
    };
  };
  /** Kernels that could have begun while another kind ran, and those that began only when it was over */
  'symptom.waiting_kernels': {
    params: {
      source_id: number;
      /** regular expression of names: the kernels looked at */
      waiting: string;
      /** and of those they may have to wait for */
      running: string;
      from_ns: number | bigint;
      to_ns: number | bigint;
      /** so soon after the other's end is `only when it was over` */
      slack_ns: number | bigint;
    };
    row: {
      /** -1: not known */
      pid: number;
      /** -1: not known */
      device: number;
      /** were launched, with their stream free, while one of the others ran on another stream */
      met: number;
      /** of these, began only at its end */
      waited: number;
      /** sum of their waits */
      waited_ns: number;
    };
  };
  /** Times in which a device was busy, by what it did, overlaps joined */
  'symptom.work_islands': {
    params: {
      source_id: number;
      from_ns: number | bigint;
      to_ns: number | bigint;
    };
    row: {
      /** -1: not known */
      pid: number;
      /** -1: not known */
      device: number;
      /** 0 compute, 1 collectives of a whole group, 2 sends and receives, 3 other communication, 4 copies */
      kind: number;
      start_ns: number;
      end_ns: number;
    };
  };
  /** Starts and ends of annotated ranges, and the last entry of a device before each */
  'timeline.annotations': {
    params: {
      snapshot_id: number;
      /** whose entries */
      device: number;
      /** only those that tell of training steps */
      steps: boolean;
      /** only names with this in them, in whatever case */
      contains?: string | null | undefined;
    };
    row: {
      ordinal: number;
      /** START or END */
      stage: string;
      name: string;
      /** current device of the thread; wrong for helper threads */
      device: number | null;
      time_us: number;
      /** last entry at or before that time; NULL where all are later */
      last_seq: number | null;
    };
  };
  /** The course of a device's memory in equal numbers of entries */
  'timeline.columns_by_index': {
    params: {
      snapshot_id: number;
      device: number;
      /** at most this many */
      columns: number;
    };
    row: {
      /** as many as asked for, or as there are rows */
      column_count: number;
      column: number;
      first_seq: number;
      last_seq: number;
      first_time_us: number | null;
      last_time_us: number | null;
      allocated_min_bytes: number;
      allocated_max_bytes: number;
      active_min_bytes: number;
      active_max_bytes: number;
      reserved_min_bytes: number;
      reserved_max_bytes: number;
    };
  };
  /** The course of a device's memory in equal slices of time */
  'timeline.columns_by_time': {
    params: {
      snapshot_id: number;
      device: number;
      columns: number;
    };
    row: {
      column_count: number;
      column: number;
      /** NULL in a slice without an entry */
      first_seq: number | null;
      last_seq: number | null;
      first_time_us: number | null;
      last_time_us: number | null;
      /** in a slice without an entry: those of the row before it */
      allocated_min_bytes: number;
      allocated_max_bytes: number;
      active_min_bytes: number;
      active_max_bytes: number;
      reserved_min_bytes: number;
      reserved_max_bytes: number;
    };
  };
  /** The span of the timeline of a device, its maxima, and where each was first reached */
  'timeline.extremes': {
    params: {
      snapshot_id: number;
      device: number;
    };
    row: {
      first_seq: number;
      last_seq: number;
      first_time_us: number | null;
      last_time_us: number | null;
      /** the most entries a row summarises */
      entries_per_row: number;
      active_max_bytes: number;
      /** the row that first reaches it */
      active_max_first_seq: number;
      active_max_last_seq: number;
      /** first time of that row */
      active_max_time_us: number | null;
      reserved_max_bytes: number;
      reserved_max_first_seq: number;
      reserved_max_last_seq: number;
      reserved_max_time_us: number | null;
    };
  };
  /** Runs of segments given back to the driver */
  'timeline.flushes': {
    params: {
      snapshot_id: number;
      device: number;
      /** first */
      from_seq: number;
      /** last */
      to_seq: number;
      /** the largest ones only */
      most: number;
    };
    row: {
      /** all of them */
      flush_count: number;
      flush_bytes: number;
      first_seq: number;
      last_seq: number;
      /** of the first entry */
      time_us: number | null;
      /** segments, or mapped pages of expandable ones */
      segments: number;
      bytes: number;
    };
  };
  /** Single entries of a trace worth marking: failures, and snapshots being taken */
  'timeline.points': {
    params: {
      snapshot_id: number;
      device: number;
      /** first */
      from_seq: number;
      /** last */
      to_seq: number;
    };
    row: {
      seq: number;
      /** oom or snapshot */
      action: string;
      time_us: number | null;
      /** of a failure: the rounded request */
      requested_bytes: number | null;
      /** of a failure */
      device_free_bytes: number | null;
    };
  };
  /** First and last entry of the trace of a device, and its last entry at or before a time */
  'timeline.span': {
    params: {
      snapshot_id: number;
      device: number;
      time_us?: number | bigint | null | undefined;
    };
    row: {
      entries: number;
      first_seq: number;
      last_seq: number;
      /** earliest time */
      first_time_us: number | null;
      /** latest time */
      last_time_us: number | null;
      /** entries without a time */
      untimed: number;
      /** NULL where every entry is later */
      seq_at_time: number | null;
    };
  };
  /** What the allocator was asked for in each of a list of ranges of entries */
  'timeline.step_events': {
    params: {
      snapshot_id: number;
      device: number;
      /** first entries, ascending and disjoint: 1,5 */
      firsts: string;
      /** last entries, in the same order */
      lasts: string;
    };
    row: {
      /** place in the list, from 0 */
      nth: number;
      allocs: number;
      /** completed */
      frees: number;
      /** requested sizes of the allocs */
      allocated_requested_bytes: number;
      /** mapped pages of expandable segments too */
      segment_allocs: number;
      segment_alloc_bytes: number;
      segment_frees: number;
      segment_free_bytes: number;
    };
  };
  /** Memory over each of a list of ranges of entries */
  'timeline.step_states': {
    params: {
      snapshot_id: number;
      device: number;
      /** first entries, ascending and disjoint: 1,5 */
      firsts: string;
      /** last entries, in the same order */
      lasts: string;
    };
    row: {
      /** place in the list, from 0 */
      nth: number;
      /** after the entry before the range; NULL where no row ends there */
      start_active_bytes: number | null;
      peak_active_bytes: number;
      /** the row that first reaches it */
      peak_first_seq: number;
      peak_last_seq: number;
      peak_reserved_bytes: number;
      /** after the last entry */
      end_active_bytes: number;
      end_reserved_bytes: number;
    };
  };
  /** Failure lines of all runs, counted by launch and kind */
  'trend.failures': {
    params: Record<string, never>;
    row: {
      run_id: number;
      attempt: number;
      kind: string;
      is_oom: boolean;
      grammar: string;
      exception: string | null;
      /** of one of them */
      text: string;
      /** a later line of the same file says that the launch came to its end */
      survived: boolean;
      /** without copies in other files of the run */
      count: number;
    };
  };
  /** The largest figure of one memory metric of all runs, each of its last launch that printed it */
  'trend.memory': {
    params: {
      metric: string;
    };
    row: {
      run_id: number;
      /** NULL for counts */
      bytes: number | null;
      /** as printed; counts that are printed step by step are summed up */
      value: number;
    };
  };
  /** Runs in the order of their first ingestion, and what tells how each ended */
  'trend.runs': {
    params: Record<string, never>;
    row: {
      run_id: number;
      name: string;
      label: string | null;
      commit_sha: string | null;
      /** 1 where no text tells of launches */
      last_attempt: number;
      /** text logs read */
      logs: number;
      /** a line of the last launch says that it came to its end */
      finished: boolean;
      /** of the last launch, dumped because of an OOM */
      oom_snapshots: number;
    };
  };
  /** Peaks of all runs as their memory snapshots have them, the largest over snapshots and devices */
  'trend.snapshots': {
    params: {
      /** version of the rules; what older ones derived does not count */
      rules: number;
    };
    row: {
      run_id: number;
      allocated_bytes: number;
      /** actual, approximate, or dump: the state at the dump, there being no trace */
      allocated_basis: string;
      active_bytes: number;
      active_basis: string;
      reserved_bytes: number;
      reserved_basis: string;
      /** failed allocations in the traces */
      oom_entries: number;
    };
  };
  /** Step time, throughput and loss of all runs, each of its last launch that printed iterations */
  'trend.steps': {
    params: Record<string, never>;
    row: {
      run_id: number;
      last_iteration: number | null;
      /** lines with a step time, without the first line of the launch */
      steady: number;
      /** their median */
      step_ms: number | null;
      /** lines with a throughput, likewise */
      steady_tflops: number;
      tflops_per_gpu: number | null;
      /** of the last line that prints one; may be NaN */
      loss: number | null;
    };
  };
  /** Allocations that an optimizer's step made, by their place in the trace */
  'verdict.optimizer_allocations': {
    params: {
      snapshot_id: number;
      device: number;
      /** only entries before it */
      before_seq: number;
    };
    row: {
      seq: number;
    };
  };
  /** Whether a Megatron optimizer was set up in the trace before some entry */
  'verdict.optimizer_setup': {
    params: {
      snapshot_id: number;
      device: number;
      /** only entries before it */
      before_seq: number;
    };
    row: {
      allocations: number;
    };
  };
}
