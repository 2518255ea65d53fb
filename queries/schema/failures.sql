-- What the failures of a run are judged by, derived per run at the end of an ingest, and again by a version with other rules
-- (judged_run.rules). A failure is the number failure of run run_id, from 0; traced OOMs are first.

-- What code finds out about a run before the facts are put together: its first failure and its layout
CREATE TABLE judged_run (
  run_id INTEGER NOT NULL, -- the run
  rules INTEGER NOT NULL, -- version of the rules; 0: not finished
  kind VARCHAR, -- kind of the first failure, as in incident
  text VARCHAR, -- its message
  names_cause BOOLEAN, -- its message shows what failed
  rank INTEGER, -- its global rank
  device INTEGER, -- its device
  failed_attempt INTEGER, -- launch of the run that failed first, from 1
  attempt INTEGER, -- launch whose iterations are counted
  completed_steps BIGINT, -- iterations that it completed
  last_iteration BIGINT, -- last iteration that it printed
  world_size BIGINT, -- ranks
  stages BIGINT, -- pipeline stages
  stage_stride BIGINT, -- ranks from one stage to the next
  replicas BIGINT, -- data-parallel replicas
  replica_stride BIGINT, -- ranks from one replica to the next
  has_environment BOOLEAN -- an environment was read
);

-- What code finds out about a rank that failed
CREATE TABLE judged_rank (
  run_id INTEGER NOT NULL, -- the run
  rank INTEGER, -- global rank as the failure has it; NULL: not known
  own_rank INTEGER, -- rank that it is taken for
  is_expandable BOOLEAN, -- expandable_segments in its environment; NULL: no allocator settings there
  max_split_bytes BIGINT, -- max_split_size_mb in its environment
  activity VARCHAR, -- what the log shows it at, such as checkpoint_save
  nccl_signs INTEGER NOT NULL, -- settings and failures by which NCCL holds much
  driver_outside_bytes BIGINT, -- memory outside PyTorch, by a profile of the driver
  driver_nccl_bytes BIGINT, -- of it, of NCCL
  monitored_total_bytes BIGINT, -- total of its device, by a monitor
  monitored_others_bytes BIGINT, -- of other processes on its device, by a monitor
  driver_grown_bytes BIGINT -- of driver_outside_bytes, taken after the first step
);

-- What memory lines show of a rank that failed: growth, its pipeline stage, the reserves of other ranks
CREATE TABLE judged_lines (
  run_id INTEGER NOT NULL, -- the run
  rank INTEGER, -- global rank
  growth_samples INTEGER, -- readings of allocated memory, the first left out
  growth_first_bytes BIGINT, -- first of them
  growth_first_iteration BIGINT, -- its iteration
  growth_last_bytes BIGINT, -- last of them
  growth_last_iteration BIGINT, -- its iteration
  growth_late_bytes BIGINT, -- growth in the later half
  growth_bytes_per_iteration DOUBLE, -- slope of the line through them, bytes
  growth_r2 DOUBLE, -- coefficient of determination of that line
  growth_path VARCHAR, -- file that prints them
  reserved_growth_samples INTEGER, -- readings of reserved memory, the first left out
  reserved_growth_bytes BIGINT, -- from the first of them to the last
  reserved_growth_last_bytes BIGINT, -- last of them
  reserved_growth_r2 DOUBLE, -- coefficient of determination of the line through them
  highest_bytes BIGINT, -- allocated at most, of the rank or its stage
  stage INTEGER, -- pipeline stage
  own_stage_bytes BIGINT, -- of the fullest rank of its stage
  own_stage_rank INTEGER, -- that rank
  next_stage INTEGER, -- stage of the fullest rank of another stage
  next_stage_bytes BIGINT, -- of that rank
  next_stage_rank INTEGER, -- that rank
  only_this_stage BOOLEAN NOT NULL, -- all ranks that ran out are of its stage
  several_replicas BOOLEAN NOT NULL, -- the ranks that ran out are of several data-parallel replicas
  lines_path VARCHAR, -- file of the first memory line
  lines_line BIGINT, -- that line
  early_first_iteration BIGINT, -- first of the only two iterations with memory lines
  early_second_iteration BIGINT, -- second of them
  early_last_iteration BIGINT, -- last iteration that was completed
  early_bytes_per_iteration DOUBLE, -- growth between the two, bytes
  early_peak_bytes BIGINT, -- most allocated memory that its lines print
  early_path VARCHAR, -- file of the first of these lines
  early_line BIGINT, -- that line
  other_ranks INTEGER, -- ranks besides that print what they reserve
  others_reserved_bytes BIGINT, -- reserve of the fullest of them
  others_reserved_rank INTEGER, -- that rank
  others_reserved_path VARCHAR, -- file that prints it
  others_reserved_line BIGINT, -- that line
  own_reserved_bytes BIGINT -- reserve of the rank itself
);

-- What code finds out about the trace of a failure
CREATE TABLE judged_trace (
  run_id INTEGER NOT NULL, -- the run
  failure INTEGER NOT NULL, -- the failure
  steps_by VARCHAR, -- what marks training steps; NULL: nothing
  is_whole BOOLEAN NOT NULL, -- the trace begins with an empty allocator
  has_earlier_states BOOLEAN NOT NULL, -- optimizer states from before the failing step are live
  repeated_bytes BIGINT NOT NULL, -- live memory of call sites with several live blocks
  activity VARCHAR, -- what the stack of the request shows, such as checkpoint_save
  activity_bytes BIGINT NOT NULL, -- live memory of that activity
  copied_bytes BIGINT NOT NULL, -- of it, second copies
  projected_bytes BIGINT, -- live at the peak of a step like the last whole one, from what is live as the failing step begins
  alike_share DOUBLE -- of the bytes that the failing step asks for, what the last whole one asked for at the same sites
);

-- A failure with its figures and facts, from a snapshot, a message, or both. A precision is half of the last printed digit; 0 in a snapshot
CREATE TABLE oom_fact (
  run_id INTEGER NOT NULL, -- the run
  failure INTEGER NOT NULL, -- the failure
  rank INTEGER, -- global rank
  device INTEGER, -- CUDA ordinal
  snapshot_id INTEGER, -- its snapshot
  seq INTEGER, -- OOM entry of the trace
  incident_id INTEGER, -- its message
  kind VARCHAR, -- kind of the message
  text VARCHAR, -- the message
  request_bytes BIGINT, -- rounded request of a snapshot, segment of a message
  least_request_bytes BIGINT NOT NULL, -- least that was asked for
  segment_request_bytes BIGINT, -- what the driver was asked for
  reserved_bytes BIGINT, -- reserved by PyTorch
  reserved_precision_bytes BIGINT, -- its precision
  allocated_bytes BIGINT, -- allocated by PyTorch
  allocated_precision_bytes BIGINT, -- its precision
  pending_bytes BIGINT, -- freed, waiting for another stream
  freed_by_wait_bytes BIGINT, -- pending frees that torch waited for before it gave up
  device_free_bytes BIGINT, -- free on the device
  device_free_precision_bytes BIGINT, -- its precision
  total_bytes BIGINT, -- total of the device
  total_precision_bytes BIGINT, -- its precision
  process_bytes BIGINT, -- of this process, memory outside PyTorch included
  process_precision_bytes BIGINT, -- its precision
  other_processes_bytes BIGINT NOT NULL, -- of other processes
  other_processes_precision_bytes BIGINT NOT NULL, -- its precision
  allowed_bytes BIGINT, -- limit of a memory fraction
  allowed_precision_bytes BIGINT, -- its precision
  private_free_bytes BIGINT, -- free blocks of private pools
  private_free_precision_bytes BIGINT, -- its precision
  oversize_slack_bytes BIGINT, -- of live blocks handed out whole under max_split_size_mb
  rounding_waste_bytes BIGINT, -- of live blocks by roundup_power2_divisions
  has_free_space BOOLEAN NOT NULL, -- the free blocks are known
  usable_bytes BIGINT, -- free in the pool, class and stream of the request
  largest_usable_bytes BIGINT, -- largest block of these
  other_stream_bytes BIGINT, -- free for another stream
  other_class_bytes BIGINT, -- free for the other class of size
  is_expandable BOOLEAN, -- expandable_segments
  max_split_bytes BIGINT, -- max_split_size_mb
  walk_is_exact BOOLEAN, -- the walk back through the trace contradicts nothing
  uncertain_bytes BIGINT, -- by which sizes of blocks are only bounded
  has_trace BOOLEAN NOT NULL, -- a snapshot has its trace
  has_steps BOOLEAN NOT NULL, -- the trace shows training steps
  trace_is_whole BOOLEAN, -- judged_trace.is_whole
  has_earlier_states BOOLEAN, -- judged_trace.has_earlier_states
  repeated_bytes BIGINT, -- judged_trace.repeated_bytes
  trace_activity VARCHAR, -- judged_trace.activity
  activity_bytes BIGINT, -- judged_trace.activity_bytes
  copied_bytes BIGINT, -- judged_trace.copied_bytes
  growth_samples INTEGER, -- judged_lines.growth_samples
  growth_first_bytes BIGINT, -- judged_lines.growth_first_bytes
  growth_last_bytes BIGINT, -- judged_lines.growth_last_bytes
  growth_late_bytes BIGINT, -- judged_lines.growth_late_bytes
  growth_r2 DOUBLE, -- judged_lines.growth_r2
  reserved_growth_samples INTEGER, -- judged_lines.reserved_growth_samples
  reserved_growth_bytes BIGINT, -- judged_lines.reserved_growth_bytes
  reserved_growth_last_bytes BIGINT, -- judged_lines.reserved_growth_last_bytes
  reserved_growth_r2 DOUBLE, -- judged_lines.reserved_growth_r2
  run_activity VARCHAR, -- judged_rank.activity
  completed_steps BIGINT, -- judged_run.completed_steps
  highest_bytes BIGINT, -- judged_lines.highest_bytes
  stage INTEGER, -- pipeline stage
  stages INTEGER, -- pipeline stages of the run
  own_stage_bytes BIGINT, -- judged_lines.own_stage_bytes
  next_stage_bytes BIGINT, -- judged_lines.next_stage_bytes
  only_this_stage BOOLEAN NOT NULL, -- judged_lines.only_this_stage
  several_replicas BOOLEAN NOT NULL, -- judged_lines.several_replicas
  early_second_iteration BIGINT, -- judged_lines.early_second_iteration
  early_last_iteration BIGINT, -- judged_lines.early_last_iteration
  early_bytes_per_iteration DOUBLE, -- judged_lines.early_bytes_per_iteration
  early_peak_bytes BIGINT, -- judged_lines.early_peak_bytes
  nccl_signs INTEGER NOT NULL, -- judged_rank.nccl_signs
  failed_alone BOOLEAN, -- no other rank ran out
  other_ranks INTEGER, -- judged_lines.other_ranks
  others_reserved_bytes BIGINT, -- judged_lines.others_reserved_bytes
  own_reserved_bytes BIGINT, -- judged_lines.own_reserved_bytes
  has_environment BOOLEAN NOT NULL, -- judged_run.has_environment
  driver_outside_bytes BIGINT, -- judged_rank.driver_outside_bytes
  driver_nccl_bytes BIGINT, -- judged_rank.driver_nccl_bytes
  monitored_others_bytes BIGINT, -- judged_rank.monitored_others_bytes
  total_from VARCHAR, -- where the total is from: message, capacity (given by the user), run (other messages agree) or monitor
  steps_by VARCHAR, -- judged_trace.steps_by
  growth_first_iteration BIGINT, -- judged_lines.growth_first_iteration
  growth_last_iteration BIGINT, -- judged_lines.growth_last_iteration
  growth_bytes_per_iteration DOUBLE, -- judged_lines.growth_bytes_per_iteration
  growth_path VARCHAR, -- judged_lines.growth_path
  own_stage_rank INTEGER, -- judged_lines.own_stage_rank
  next_stage INTEGER, -- judged_lines.next_stage
  next_stage_rank INTEGER, -- judged_lines.next_stage_rank
  lines_path VARCHAR, -- judged_lines.lines_path
  lines_line BIGINT, -- judged_lines.lines_line
  early_first_iteration BIGINT, -- judged_lines.early_first_iteration
  early_path VARCHAR, -- judged_lines.early_path
  early_line BIGINT, -- judged_lines.early_line
  others_reserved_rank INTEGER, -- judged_lines.others_reserved_rank
  others_reserved_path VARCHAR, -- judged_lines.others_reserved_path
  others_reserved_line BIGINT, -- judged_lines.others_reserved_line
  projected_bytes BIGINT, -- judged_trace.projected_bytes
  alike_share DOUBLE, -- judged_trace.alike_share
  cached_precision_bytes BIGINT, -- precision of reserved less allocated: where a message prints what is cached, the rest cancels
  sibling_processes INTEGER, -- other processes of one small size, as the contexts of this job's other ranks on the device
  sibling_bytes BIGINT, -- of these
  impossible VARCHAR[], -- printed figures that the rest of the message contradicts; they are left out
  driver_grown_bytes BIGINT -- judged_rank.driver_grown_bytes
);

-- A training step before a failure, in its trace
CREATE TABLE oom_step (
  run_id INTEGER NOT NULL, -- the run
  failure INTEGER NOT NULL, -- the failure
  step INTEGER NOT NULL, -- place among these steps, from 0
  is_settled BOOLEAN NOT NULL, -- whole, and not the first of the process, in which the optimizer makes its states
  peak_bytes BIGINT NOT NULL, -- most live memory
  end_bytes BIGINT NOT NULL -- live memory at its end
);

-- A call site that kept memory in nearly every settled step before a failure
CREATE TABLE oom_keeping_site (
  run_id INTEGER NOT NULL, -- the run
  failure INTEGER NOT NULL, -- the failure
  site VARCHAR NOT NULL, -- call site
  bytes BIGINT NOT NULL, -- live, from before the failing step
  blocks BIGINT NOT NULL, -- number of these blocks
  steps BIGINT NOT NULL, -- settled steps that left something of it
  bytes_per_step BIGINT NOT NULL -- median of what they left
);

-- How well the model of the allocator repeats the recording of a failure; no row: not replayed
CREATE TABLE oom_replay (
  run_id INTEGER NOT NULL, -- the run
  failure INTEGER NOT NULL, -- the failure
  status VARCHAR NOT NULL, -- exact, approximate or refused
  reason VARCHAR NOT NULL, -- why not exact; empty if it is
  address_matches BIGINT NOT NULL, -- allocations whose address the model predicts
  address_total BIGINT NOT NULL, -- of so many in the trace
  repeats_oom BOOLEAN NOT NULL, -- with the recorded settings the model fails at the recorded OOM
  layout_short_bytes BIGINT, -- bytes that the driver would have had to give more there; NULL: it does not fail
  least_capacity_bytes BIGINT, -- least capacity that serves every request with the recorded settings
  is_on BOOLEAN NOT NULL, -- expandable_segments:True was tried
  is_served BOOLEAN NOT NULL, -- the request fits with every other setting that was tried
  is_robust BOOLEAN NOT NULL -- whatever the sizes that the trace only bounds
);

-- What the model of the allocator answers about a failure: the recorded settings, then the other kind of segments
CREATE TABLE oom_what_if (
  run_id INTEGER NOT NULL, -- the run
  failure INTEGER NOT NULL, -- the failure
  position INTEGER NOT NULL, -- order of the settings, from 0
  setting VARCHAR NOT NULL, -- as after PYTORCH_CUDA_ALLOC_CONF=; recorded: the recorded settings
  capacity_bytes BIGINT, -- bytes the allocator may have; NULL: no limit
  outcome VARCHAR NOT NULL, -- fits, same_oom, …
  peak_reserved_bytes BIGINT NOT NULL, -- reserved at most
  peak_reserved_least_bytes BIGINT NOT NULL, -- in the best case of what the file has lost
  peak_reserved_most_bytes BIGINT NOT NULL, -- in the worst case
  peak_active_bytes BIGINT NOT NULL, -- active at most
  headroom_bytes BIGINT, -- capacity less the most reserved; NULL: no limit
  driver_calls BIGINT NOT NULL, -- calls to the driver that succeed
  bound VARCHAR NOT NULL, -- exact, interval, optimistic or pessimistic
  unused_at_peak_bytes BIGINT NOT NULL, -- reserved and not active when most is reserved
  retries BIGINT NOT NULL, -- flushes that failing requests forced
  short_bytes BIGINT, -- bytes that the driver would have had to give more; NULL: nothing fails
  oom_seq INTEGER, -- entry of the failing request; NULL: nothing fails; -1: what is live at the start
  robust BOOLEAN NOT NULL, -- every case between which the file does not decide ends so
  note VARCHAR -- a remark on the row
);

-- A verdict on a run, as diagnose prints it: one for each failure, or the statement that no device ran out
CREATE TABLE verdict (
  run VARCHAR NOT NULL, -- name of the run
  run_id INTEGER NOT NULL, -- the run
  number INTEGER NOT NULL, -- order in which they are printed, from 1
  failure INTEGER, -- the failure; NULL: none was judged
  rank INTEGER, -- global rank
  device INTEGER, -- device
  snapshot_id INTEGER, -- snapshot with its trace
  seq INTEGER, -- OOM entry of the trace
  incident_id INTEGER, -- its message
  kind VARCHAR, -- kind of the message
  cause VARCHAR NOT NULL, -- fragmentation, capacity, external_pressure, graph_pools, synchronisation, leak, host_oom, not_oom or undecided
  detail VARCHAR, -- refinement of the cause
  confidence VARCHAR NOT NULL, -- proven, high, medium or low
  basis VARCHAR, -- test; kind of the message; guide: its rule where figures are missing; none: undecided
  reason VARCHAR, -- of the test, the kind, or the rule
  capture VARCHAR, -- what to record, by the kind of the message
  untested_rivals VARCHAR[] NOT NULL, -- causes whose test would have had to fail
  doubts VARCHAR[] NOT NULL, -- evidence against the verdict
  is_proven BOOLEAN NOT NULL, -- every byte is accounted for
  contradicted_by INTEGER, -- failure of the run whose evidence shows another cause
  replay_status VARCHAR, -- of the model of the allocator on the recording; NULL: not replayed
  counted_with INTEGER -- number of the verdict on a failure alike, which has the evidence; NULL: has its own
);

-- A piece of evidence behind a verdict; number 3 is the handle E3
CREATE TABLE evidence (
  run VARCHAR NOT NULL, -- name of the run
  run_id INTEGER NOT NULL, -- the run
  verdict INTEGER NOT NULL, -- number of the verdict
  failure INTEGER, -- the failure
  rank INTEGER, -- global rank of the verdict
  number INTEGER NOT NULL, -- within the verdict, from 1
  code VARCHAR NOT NULL, -- what it is
  about VARCHAR, -- request, site, message, context, test, replay or step
  numbers MAP(VARCHAR, DOUBLE) NOT NULL, -- its figures; names end in their unit
  names MAP(VARCHAR, VARCHAR) NOT NULL, -- its words: a call site, a process, a setting
  items VARCHAR, -- JSON: a list of names with numbers, such as the owners of memory
  path VARCHAR, -- file, as results name it
  line BIGINT, -- line of a text, from 1
  entry BIGINT, -- entry of a trace
  given_by VARCHAR, -- option of the command line instead of a file
  shows VARCHAR, -- what can be shown of it: place, file (from its first line) or dump; NULL: not a file of the run
  query VARCHAR, -- query of the program that returns its rows
  parameters VARCHAR -- JSON: of the query
);

-- What diagnose prints of a run, without evidence: codes and figures as JSON, from which screens are made
CREATE TABLE diagnosis (
  run_id INTEGER NOT NULL, -- the run
  part VARCHAR NOT NULL, -- run, circumstances (what advice is based on) or verdict
  number INTEGER NOT NULL, -- of the verdict, from 1; else 0
  document VARCHAR NOT NULL -- JSON
);
