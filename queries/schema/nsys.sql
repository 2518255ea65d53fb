-- Exports of Nsight Systems. Times are ns of the report's clock: 0 is the start of the collection, negative values are possible; UTC is the
-- time plus clock_offset_ns. Processes and threads are numbers of the operating system, device is the CUDA ordinal in its process. Texts
-- are numbers into nsys_text: the export's own, and negative ones for texts stored in the row. Upstream: Nsight Systems User Guide,
-- "SQLite Schema Reference".

-- Every table of an export, with ingest --nsys-all.
CREATE SCHEMA nsys_raw;

-- An export
CREATE TABLE nsys_report (
  source_id INTEGER NOT NULL, -- its file
  form VARCHAR NOT NULL, -- sqlite, parquetdir or jsonlines
  product_version VARCHAR, -- of Nsight Systems
  schema_version VARCHAR, -- of the export
  clock_offset_ns BIGINT, -- UTC of a time t is t plus this, ns since 1970; NULL: not known
  clock_origin VARCHAR, -- where that is from
  duration_ns BIGINT, -- of the collection
  host VARCHAR, -- machine
  memory_events_collected BOOLEAN, -- --cuda-memory-usage was on; NULL: not known
  graph_trace VARCHAR, -- Graph or Node: whether a replayed CUDA graph is one row or its kernels
  is_partial BOOLEAN NOT NULL, -- limited to some tables or times: rows may refer to what is not there
  has_all_tables BOOLEAN NOT NULL -- every table was copied into the schema nsys_raw
);

-- A table of an export
CREATE TABLE nsys_table (
  source_id INTEGER NOT NULL, -- its file
  name VARCHAR NOT NULL, -- its name there
  row_count BIGINT NOT NULL, -- its rows
  is_read BOOLEAN NOT NULL -- its rows are in the store, under whatever name
);

-- A GPU of the machine
CREATE TABLE nsys_gpu (
  source_id INTEGER NOT NULL, -- its file
  gpu INTEGER NOT NULL, -- number in the report, not the CUDA ordinal of a process
  name VARCHAR, -- product
  total_bytes BIGINT, -- memory
  bus_location VARCHAR, -- on the PCI bus
  uuid VARCHAR -- of the driver
);

-- The ordinal by which a process uses a GPU
CREATE TABLE nsys_device (
  source_id INTEGER NOT NULL, -- its file
  pid INTEGER NOT NULL, -- the process
  device INTEGER NOT NULL, -- CUDA ordinal
  gpu INTEGER -- the GPU
);

-- A process with stored rows
CREATE TABLE nsys_process (
  source_id INTEGER NOT NULL, -- its file
  pid INTEGER NOT NULL, -- its number
  name VARCHAR, -- program
  rank INTEGER, -- global rank, if its environment has one
  rank_origin VARCHAR -- variable that gave the rank
);

-- A named thread
CREATE TABLE nsys_thread (
  source_id INTEGER NOT NULL, -- its file
  pid INTEGER NOT NULL, -- its process
  tid INTEGER NOT NULL, -- its number
  name VARCHAR NOT NULL -- its name
);

-- A message of the profiler about the capture, such as lost events
CREATE TABLE nsys_diagnostic (
  source_id INTEGER NOT NULL, -- its file
  time_ns BIGINT, -- when
  severity VARCHAR NOT NULL, -- info, warning, error, or a number that is not known
  text VARCHAR NOT NULL -- the message
);

-- An option of the capture or export; never environment, command line, path or user
CREATE TABLE nsys_option (
  source_id INTEGER NOT NULL, -- its file
  key VARCHAR NOT NULL, -- its name there
  value VARCHAR NOT NULL -- its value
);

-- A text that rows of the export name by number, up to 16,384 characters
CREATE TABLE nsys_text (
  source_id INTEGER NOT NULL, -- its file
  text_id BIGINT NOT NULL, -- number in the export; negative: the text is stored in the row itself
  text VARCHAR NOT NULL -- the text
);

-- A driver allocation or free (CUDA_GPU_MEMORY_USAGE_EVENTS); only with --cuda-memory-usage=true
CREATE TABLE nsys_memory (
  source_id INTEGER, -- its file
  seq INTEGER, -- place in the table
  start_ns BIGINT, -- when
  pid INTEGER NULL, -- process
  device INTEGER NULL, -- CUDA ordinal
  context INTEGER NULL, -- CUDA context
  stream INTEGER NULL, -- CUDA stream
  correlation BIGINT NULL, -- number of the call within its process
  operation nsys_memory_operation, -- memoryOperationType
  kind nsys_memory_kind, -- memKind: what memory
  address UBIGINT NULL, -- first byte
  bytes BIGINT, -- its size
  pc UBIGINT NULL, -- program counter of the call
  name_id BIGINT NULL, -- variable of static memory, an nsys_text
  pool_address UBIGINT NULL, -- pool of cudaMallocAsync
  pool_bytes BIGINT NULL, -- size of that pool
  pool_used_bytes BIGINT NULL -- in use of that pool
);

-- A pool of cudaMallocAsync was created, destroyed or trimmed (CUDA_GPU_MEMORY_POOL_EVENTS)
CREATE TABLE nsys_pool (
  source_id INTEGER, -- its file
  seq INTEGER, -- place in the table
  start_ns BIGINT, -- when
  pid INTEGER NULL, -- process
  device INTEGER NULL, -- CUDA ordinal
  correlation BIGINT NULL, -- number of the call within its process
  operation nsys_pool_operation, -- operationType
  pool_type nsys_pool_type, -- poolType
  address UBIGINT NULL, -- of the pool
  threshold_bytes BIGINT NULL, -- release threshold
  pool_bytes BIGINT NULL, -- held from the driver
  pool_used_bytes BIGINT NULL -- in use
);

-- A call of the CUDA runtime or driver (CUPTI_ACTIVITY_KIND_RUNTIME)
CREATE TABLE nsys_api (
  source_id INTEGER, -- its file
  start_ns BIGINT, -- begins
  end_ns BIGINT, -- ends
  pid INTEGER NULL, -- process
  tid INTEGER NULL, -- thread
  correlation BIGINT NULL, -- number of the call within its process
  name_id BIGINT, -- function, an nsys_text
  return_value INTEGER NULL, -- 2 is out of memory
  event_class INTEGER NULL, -- eventClass: runtime or driver
  callchain BIGINT NULL -- stack of the call, see nsys_frame
);

-- A kernel (CUPTI_ACTIVITY_KIND_KERNEL)
CREATE TABLE nsys_kernel (
  source_id INTEGER, -- its file
  start_ns BIGINT, -- begins
  end_ns BIGINT, -- ends
  pid INTEGER NULL, -- process
  device INTEGER NULL, -- CUDA ordinal
  context INTEGER NULL, -- CUDA context
  stream INTEGER NULL, -- CUDA stream
  correlation BIGINT NULL, -- number of the call that launched it, within its process
  name_id BIGINT, -- short name, an nsys_text
  demangled_id BIGINT NULL, -- demangled name, an nsys_text
  blocks BIGINT, -- of the grid, product of its three dimensions
  threads BIGINT, -- of a block, product of its three dimensions
  registers INTEGER NULL, -- per thread
  local_memory_bytes BIGINT NULL, -- local memory, all threads
  graph_node BIGINT NULL -- node of a CUDA graph
);

-- A copy or memset (CUPTI_ACTIVITY_KIND_MEMCPY, _MEMSET)
CREATE TABLE nsys_copy (
  source_id INTEGER, -- its file
  start_ns BIGINT, -- begins
  end_ns BIGINT, -- ends
  pid INTEGER NULL, -- process
  device INTEGER NULL, -- CUDA ordinal
  context INTEGER NULL, -- CUDA context
  stream INTEGER NULL, -- CUDA stream
  correlation BIGINT NULL, -- number of the call within its process
  operation nsys_copy_operation, -- memcpy or memset
  copy_kind nsys_copy_kind NULL, -- copyKind; NULL for a memset
  bytes BIGINT, -- copied or set
  source_kind nsys_memory_kind NULL, -- memory it is from; NULL for a memset
  target_kind nsys_memory_kind NULL, -- memory it goes to
  source_device INTEGER NULL, -- device it is from
  target_device INTEGER NULL, -- device it goes to
  migration_cause INTEGER NULL, -- migrationCause, of managed memory
  graph_node BIGINT NULL -- node of a CUDA graph
);

-- A wait for the device (CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)
CREATE TABLE nsys_sync (
  source_id INTEGER, -- its file
  start_ns BIGINT, -- begins
  end_ns BIGINT, -- ends
  pid INTEGER NULL, -- process
  device INTEGER NULL, -- CUDA ordinal
  context INTEGER NULL, -- CUDA context
  stream INTEGER NULL, -- CUDA stream
  correlation BIGINT NULL, -- number of the call within its process
  sync_type INTEGER NULL -- 1 event, 2 stream waits for event, 3 stream, 4 context
);

-- A CUDA graph replayed as a whole, without its kernels (CUPTI_ACTIVITY_KIND_GRAPH_TRACE)
CREATE TABLE nsys_graph (
  source_id INTEGER, -- its file
  start_ns BIGINT, -- begins
  end_ns BIGINT, -- ends
  pid INTEGER NULL, -- process
  device INTEGER NULL, -- CUDA ordinal
  context INTEGER NULL, -- CUDA context
  stream INTEGER NULL, -- CUDA stream
  correlation BIGINT NULL, -- number of the call within its process
  graph BIGINT NULL, -- graphId
  graph_exec BIGINT NULL -- graphExecId: the instance that ran
);

-- An NVTX event (NVTX_EVENTS): range, mark, domain, thread name
CREATE TABLE nsys_nvtx (
  source_id INTEGER, -- its file
  seq INTEGER, -- place in the table
  start_ns BIGINT, -- begins
  end_ns BIGINT NULL, -- ends; NULL for marks and for ranges never ended
  type nsys_nvtx_type, -- eventType
  pid INTEGER NULL, -- process
  tid INTEGER NULL, -- thread
  end_tid INTEGER NULL, -- thread that ended it
  domain BIGINT NULL, -- domainId
  range_id BIGINT NULL, -- of a start_end range
  category INTEGER NULL, -- category of the event
  text_id BIGINT NULL -- its text, an nsys_text
);

-- A call of a library: cuBLAS, cuDNN, MPI and similar
CREATE TABLE nsys_library (
  source_id INTEGER, -- its file
  start_ns BIGINT, -- begins
  end_ns BIGINT, -- ends
  library nsys_traced_library, -- which library
  pid INTEGER NULL, -- process
  tid INTEGER NULL, -- thread
  name_id BIGINT NULL -- function, an nsys_text
);

-- A host stack frame of a call (CUDA_CALLCHAINS); only with --cudabacktrace
CREATE TABLE nsys_frame (
  source_id INTEGER, -- its file
  callchain BIGINT, -- number of the stack, as nsys_api has it
  depth INTEGER, -- 0 is innermost
  symbol_id BIGINT NULL, -- function, an nsys_text
  module_id BIGINT NULL -- library or program, an nsys_text
);
