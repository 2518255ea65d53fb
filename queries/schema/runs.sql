-- A run: the paths of one ingest
CREATE TABLE run (
  run_id INTEGER NOT NULL, -- number of the run in this store, from 1
  name VARCHAR NOT NULL, -- as the user calls it; unique
  label VARCHAR, -- of ingest --label
  commit_sha VARCHAR, -- of ingest --commit: the commit of the code that ran
  root_path VARCHAR NOT NULL, -- path given to ingest
  created_at TIMESTAMP NOT NULL, -- first ingest, UTC
  touched_at TIMESTAMP NOT NULL -- latest ingest, UTC
);

-- A file of a run, whatever became of it
CREATE TABLE source (
  source_id INTEGER NOT NULL, -- number of the file in this store
  run_id INTEGER NOT NULL, -- its run
  attempt INTEGER NOT NULL, -- launch of the run with which the file begins, from 1
  path VARCHAR NOT NULL, -- absolute path
  display_path VARCHAR NOT NULL, -- path relative to the run
  format VARCHAR, -- name of the parser; NULL: no parser knew the file
  status VARCHAR NOT NULL, -- ingested, failed or skipped
  file_bytes BIGINT NOT NULL, -- size on disk, bytes
  sha256 VARCHAR, -- of the bytes on disk; NULL: it is a larger file than 16 MiB, or could not be read
  sample_sha256 VARCHAR, -- of the size and of 64 blocks of 128 KiB of a larger file
  modified_us BIGINT, -- time of change of a larger file, µs since 1970; it is read again unless it has this and the sample
  parser_version INTEGER NOT NULL, -- version of the parsers that read it; of a log read with --formats, a number made of both
  rank INTEGER, -- global rank of the whole file
  rank_origin VARCHAR, -- rule that gave the rank
  error_code VARCHAR, -- MBF code, if reading failed
  error_text VARCHAR, -- what failed
  error_offset BIGINT, -- where, byte of the decompressed file
  ingested_at TIMESTAMP NOT NULL, -- UTC
  clock VARCHAR -- of the times in the file: utc, or printed (also NULL) for local time without a zone
);

-- A problem or peculiarity of a source; equal ones are one row with a count
CREATE TABLE ingest_note (
  source_id INTEGER NOT NULL, -- its file
  kind VARCHAR NOT NULL, -- stable word, such as ring_truncated or unknown_key
  severity VARCHAR NOT NULL, -- info or warning
  text VARCHAR NOT NULL, -- what is odd
  count BIGINT NOT NULL, -- how often
  byte_offset BIGINT, -- of the first one, byte of the decompressed file
  line BIGINT, -- of the first one, from 1
  device INTEGER, -- device whose trace has it
  seq INTEGER -- entry of that trace
);

-- A launch inside a source: a restart (a banner after training or an end, an iteration counter that goes back, …) begins another
CREATE TABLE source_attempt (
  source_id INTEGER NOT NULL, -- its file
  attempt INTEGER NOT NULL, -- launch inside the file, from 1
  line BIGINT NOT NULL, -- first line of the launch, from 1
  origin VARCHAR NOT NULL, -- why it is taken for a new launch
  time_us BIGINT -- its first time, µs since 1970 by the clock of the file
);

-- A text that rows of other tables name by number; once per store
CREATE TABLE text_value (
  text_id INTEGER NOT NULL, -- number in this store
  text VARCHAR NOT NULL -- the text
);

-- A frame of a stack; once per store
CREATE TABLE frame (
  frame_id INTEGER NOT NULL, -- number in this store
  name VARCHAR NOT NULL, -- function
  filename VARCHAR NOT NULL, -- source file, as recorded
  line INTEGER NOT NULL -- line of the file
);

-- A stack; once per store, so that equal stacks of two ranks or runs are one
CREATE TABLE stack (
  stack_id INTEGER NOT NULL, -- number in this store
  depth INTEGER NOT NULL, -- number of frames
  content_key VARCHAR NOT NULL, -- hash of the frames, equal in every store
  site VARCHAR -- call site: the first frame past torch and what else every allocation passes through; NULL: no frames
);

-- The frames of each stack
CREATE TABLE stack_frame (
  stack_id INTEGER NOT NULL, -- the stack
  pos INTEGER NOT NULL, -- 0 is innermost: where the allocator was called
  frame_id INTEGER NOT NULL -- the frame
);

-- The version of the schema of this store
CREATE TABLE mbforensics_schema (
  version INTEGER NOT NULL -- a program of another schema version refuses the store
);

-- A view or macro of the analysis library in this store
CREATE TABLE mbforensics_library (
  hash VARCHAR NOT NULL, -- of all definitions: another one means objects of another version
  kind VARCHAR NOT NULL, -- view or macro
  name VARCHAR NOT NULL, -- name in the store
  title VARCHAR NOT NULL -- what its rows are
);
