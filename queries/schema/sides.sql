-- Comparisons. diff puts its rows into TEMP tables of these names.

-- Live memory of a side of a comparison that is not in the store, by stack, component and size of block
CREATE TABLE side_stack (
  side VARCHAR NOT NULL, -- name that the macros take for a run's
  stack_id INTEGER, -- the stack
  kind VARCHAR NOT NULL, -- what distinguishes memory of equal frames, as in live_stacks_at
  site VARCHAR NOT NULL, -- call site
  component VARCHAR NOT NULL, -- component; unattributed: not labelled
  size_bytes BIGINT NOT NULL, -- of one block
  bytes BIGINT NOT NULL, -- of all
  blocks BIGINT NOT NULL -- number of them
);

-- A pool of such a side, by class of size and kind of stream
CREATE TABLE side_pool (
  side VARCHAR NOT NULL, -- name that the macros take for a run's
  pool VARCHAR NOT NULL, -- name of the pool
  segment_type VARCHAR NOT NULL, -- class of size
  is_side_stream BOOLEAN NOT NULL, -- of another stream than the default one
  reserved_bytes BIGINT NOT NULL, -- its segments
  active_bytes BIGINT NOT NULL, -- live memory in them
  segments BIGINT NOT NULL, -- number of them
  first_address UBIGINT NOT NULL -- of the first of them
);

-- An allocator setting of such a side
CREATE TABLE side_setting (
  side VARCHAR NOT NULL, -- name that the macros take for a run's
  key VARCHAR NOT NULL, -- as in snapshot_setting
  value VARCHAR NOT NULL, -- as recorded
  position INTEGER NOT NULL -- place among the settings, from 0
);

-- The number of the call site that a stack of one side is compared as; sites of one number are one. A user's own rows do the same
CREATE TABLE site_match (
  left_side VARCHAR NOT NULL, -- left of the two compared
  right_side VARCHAR NOT NULL, -- right of the two compared
  is_right BOOLEAN NOT NULL, -- which of them has the stack
  stack_id INTEGER, -- the stack
  kind VARCHAR NOT NULL, -- what distinguishes memory of equal frames, as in live_stacks_at
  match_no INTEGER NOT NULL, -- number of the call site
  site VARCHAR NOT NULL, -- call site on this side
  match VARCHAR NOT NULL, -- exact, line_shifted, moved, renamed, only_a (left) or only_b (right)
  through VARCHAR -- function that only one side has, through which it allocates here
);

-- One run of golden values, kept when its run is deleted
CREATE TABLE golden_run (
  name VARCHAR NOT NULL, -- of the golden values
  position INTEGER NOT NULL, -- of the run among them, from 0
  added_at TIMESTAMP NOT NULL, -- UTC
  form VARCHAR NOT NULL, -- measurement (of golden add) or upstream (a golden file)
  source VARCHAR NOT NULL, -- run or file that it is from
  document VARCHAR NOT NULL -- its values as JSON
);
