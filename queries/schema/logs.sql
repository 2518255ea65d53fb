-- Logs, configurations and environments; gauges of monitors. The views iteration, memory_sample, log_value, phase, config_value,
-- env_value and gauge contain the texts, the run, and the launch counted over the run. Times are µs since 1970 by the clock of the file
-- (source.clock); lines and launches count from 1.

-- A printed training iteration; averages over the logging interval, as trainers print them. Other fields are in log_figure
CREATE TABLE log_iteration (
  source_id INTEGER, -- its file
  attempt INTEGER, -- launch inside the file
  line INTEGER, -- line; in a binary format the ordinal of the record
  byte_offset BIGINT, -- byte of that line in the decompressed file
  rank INTEGER NULL, -- global rank; NULL: that of the file
  format_id INTEGER, -- @text format that read it, a text_value
  time_us BIGINT NULL, -- printed time
  iteration BIGINT, -- from 1; formats that count from 0 add one
  target_iterations BIGINT NULL, -- iterations of the whole run
  step_ms DOUBLE NULL, -- time of a step, ms
  consumed_samples BIGINT NULL, -- samples so far
  global_batch_size BIGINT NULL, -- samples of a step
  tflops_per_gpu DOUBLE NULL, -- model TFLOP/s per GPU
  learning_rate DOUBLE NULL, -- as printed
  loss DOUBLE NULL, -- as printed; may be NaN
  loss_scale DOUBLE NULL, -- as printed
  grad_norm DOUBLE NULL, -- as printed
  skipped_iterations BIGINT NULL, -- number of skipped iterations
  nan_iterations BIGINT NULL -- number of nan iterations
);

-- A figure of a memory line, printed by the process at a moment of its own
CREATE TABLE log_memory (
  source_id INTEGER, -- its file
  attempt INTEGER, -- launch inside the file
  line INTEGER, -- line; in a binary format the ordinal of the record
  byte_offset BIGINT, -- byte of that line in the decompressed file
  rank INTEGER NULL, -- global rank; NULL: that of the file
  device INTEGER NULL, -- as printed
  host_id INTEGER NULL, -- @text host, a text_value
  format_id INTEGER, -- @text format that read it, a text_value
  time_us BIGINT NULL, -- printed time
  iteration BIGINT NULL, -- iteration of the line
  moment_id INTEGER NULL, -- @text moment as the line names it, such as before save_checkpoint, a text_value
  metric_id INTEGER, -- @text such as max_allocated, or the printed key, a text_value
  bytes BIGINT NULL, -- by the producer's meaning of its unit; NULL for counts
  value DOUBLE, -- as printed
  unit_id INTEGER, -- @text unit as printed (MB, GB, MiB, count), a text_value
  precision_bytes DOUBLE -- half of the last printed digit; 0 for exact bytes and counts
);

-- Any other figure or word: timers, theory, parameters, buckets, versions, hardware
CREATE TABLE log_figure (
  source_id INTEGER, -- its file
  attempt INTEGER, -- launch inside the file
  line INTEGER, -- line; in a binary format the ordinal of the record
  byte_offset BIGINT, -- byte of that line in the decompressed file
  rank INTEGER NULL, -- global rank; NULL: that of the file
  device INTEGER NULL, -- as printed
  host_id INTEGER NULL, -- @text host, a text_value
  format_id INTEGER, -- @text format that read it, a text_value
  time_us BIGINT NULL, -- printed time
  iteration BIGINT NULL, -- iteration of the line
  name_id INTEGER, -- @text dotted, topic first, such as timer.forward-backward.max_ms, a text_value
  value DOUBLE NULL, -- the number; NULL for words
  unit_id INTEGER NULL, -- @text unit (ms, s, bytes, count, …), a text_value; NULL for words
  text_id INTEGER NULL -- @text as printed, where it is not a number or has more than the number, a text_value
);

-- A sample of a gauge that another program polls (nvidia-smi, DCGM, monitors); it misses peaks between two samples
CREATE TABLE log_gauge (
  source_id INTEGER, -- its file
  attempt INTEGER, -- launch inside the file
  line INTEGER, -- line; in a binary format the ordinal of the record
  byte_offset BIGINT, -- byte of that line in the decompressed file
  rank INTEGER NULL, -- global rank; NULL: that of the file
  device INTEGER NULL, -- index on the node as the driver counts, whatever CUDA_VISIBLE_DEVICES shows to a process
  host_id INTEGER NULL, -- @text host, a text_value
  format_id INTEGER, -- @text format that read it, a text_value
  time_us BIGINT NULL, -- time of the sample
  gpu_id INTEGER NULL, -- @text UUID of the device, else its PCI bus id, a text_value
  pid BIGINT NULL, -- process that is measured
  process_id INTEGER NULL, -- @text name of that process or job step, a text_value
  metric_id INTEGER, -- @text device_*, process_used (on a device), host_*, process_rss, process_max_rss, a text_value
  bytes BIGINT, -- the reading
  value DOUBLE, -- as reported
  unit_id INTEGER, -- @text unit as reported (MiB, K, bytes, …), a text_value
  precision_bytes DOUBLE -- half of the last printed digit; 0 where exact
);

-- Start of a phase of the run
CREATE TABLE log_phase (
  source_id INTEGER NOT NULL, -- its file
  attempt INTEGER NOT NULL, -- launch inside the file
  line BIGINT NOT NULL, -- line
  byte_offset BIGINT NOT NULL, -- byte of that line in the decompressed file
  rank INTEGER, -- global rank; NULL: that of the file
  phase VARCHAR NOT NULL, -- such as model_build, training or checkpoint_save
  label VARCHAR NOT NULL, -- the line's own words, shortened
  iteration BIGINT, -- iteration of the line
  time_us BIGINT, -- printed time
  format VARCHAR NOT NULL -- format that read it
);

-- A setting of the run
CREATE TABLE log_config (
  source_id INTEGER NOT NULL, -- its file
  attempt INTEGER NOT NULL, -- launch inside the file
  line BIGINT NOT NULL, -- line
  rank INTEGER, -- global rank; NULL: that of the file
  key VARCHAR NOT NULL, -- canonical key; the key of the file in snake case, where no canonical one is known
  raw_key VARCHAR NOT NULL, -- key in the file, path included
  value VARCHAR, -- as found, quotes removed; NULL for None, null and ~. Of a secret only its length
  origin VARCHAR NOT NULL, -- where settings of this kind are found, such as log dump or command line
  precedence INTEGER NOT NULL, -- of the origin; 0 is the strongest
  format VARCHAR NOT NULL -- format that read it
);

-- An environment variable of the list in src/knowledge; all others are never stored
CREATE TABLE log_env (
  source_id INTEGER NOT NULL, -- its file
  attempt INTEGER NOT NULL, -- launch inside the file
  line BIGINT NOT NULL, -- line
  rank INTEGER, -- global rank; NULL: that of the file
  host VARCHAR, -- host whose environment it is
  key VARCHAR NOT NULL, -- name
  value VARCHAR, -- as found; NULL: unset explicitly
  origin VARCHAR NOT NULL, -- where it was found, such as env dump or script
  precedence INTEGER NOT NULL, -- of the origin; 0 is the strongest
  format VARCHAR NOT NULL -- format that read it
);

-- A failure in a text: figures as printed, in bytes; names follow torch's message
CREATE TABLE incident (
  incident_id INTEGER NOT NULL, -- number in this store
  source_id INTEGER NOT NULL, -- its file
  kind VARCHAR NOT NULL, -- kind of failure, such as cuda_oom or timeout
  is_oom BOOLEAN NOT NULL, -- a memory failure, by its kind
  rank INTEGER, -- global rank
  rank_origin VARCHAR, -- rule that gave the rank, such as prefix:[rankN]:
  host VARCHAR, -- host of the process
  device INTEGER, -- as printed
  pid BIGINT, -- process that failed
  line BIGINT NOT NULL, -- first line, from 1
  last_line BIGINT NOT NULL, -- last line
  byte_offset BIGINT NOT NULL, -- byte of the first line in the decompressed file
  time_text VARCHAR, -- time as printed
  exception VARCHAR, -- class of the exception
  grammar VARCHAR NOT NULL, -- entry of the grammar that matched, such as torch.cuda_oom@2.1
  text VARCHAR NOT NULL, -- the message
  requested_bytes BIGINT, -- the segment that torch wanted
  total_bytes BIGINT, -- of the device
  free_bytes BIGINT, -- of the device
  process_bytes BIGINT, -- of this process, memory outside PyTorch included
  allocated_bytes BIGINT, -- by PyTorch
  reserved_bytes BIGINT, -- by PyTorch; printed by torch 1.4 to 2.0
  reserved_unallocated_bytes BIGINT, -- reserved and not allocated; printed by other versions
  private_pool_bytes BIGINT, -- in private pools, such as of CUDA graphs
  allowed_bytes BIGINT, -- limit of a memory fraction
  other_process_bytes BIGINT, -- of another process, if the message names one
  attempt INTEGER, -- launch inside the file, from 1
  time_us BIGINT, -- time_text with date and time, µs since 1970 by the clock of the file
  local_rank INTEGER, -- rank on its node, of torchrun
  exit_code INTEGER, -- of the process, where a footer contains it; negative for a signal
  traceback_line BIGINT, -- line of Traceback (most recent call last)
  frame_file VARCHAR, -- file of the innermost frame outside libraries
  frame_line INTEGER, -- its line
  frame_function VARCHAR, -- its function
  frames VARCHAR -- last frames of the traceback with their lines of code, innermost first, JSON
);

-- Failures that are counted and not kept, of a text with very many of them
CREATE TABLE incident_dropped (
  source_id INTEGER NOT NULL, -- its file
  attempt INTEGER, -- launch inside the file, from 1; NULL, as kind, rank and device: any other one
  kind VARCHAR, -- kind of failure
  is_oom BOOLEAN NOT NULL, -- a memory failure, by its kind
  rank INTEGER, -- global rank
  device INTEGER, -- as printed
  count BIGINT NOT NULL -- how many
);

-- A figure of a failure as printed
CREATE TABLE incident_value (
  incident_id INTEGER NOT NULL, -- the failure
  field VARCHAR NOT NULL, -- column of incident without _bytes; process_named: another process that the message lists
  pid BIGINT, -- that process
  bytes BIGINT NOT NULL, -- the figure
  printed VARCHAR NOT NULL, -- as printed
  precision_bytes BIGINT NOT NULL -- half of the last printed digit, rounded up
);
