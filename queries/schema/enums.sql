-- Enumerations. The files of this folder are run in order of name, so this one is first.

-- Actions of a trace entry; `other` is one unknown to this version, whose text is kept in event_extra. Upstream: torch
-- c10/cuda/CUDACachingAllocator.h, TraceEntry::Action.
CREATE TYPE trace_action AS ENUM (
  'alloc', 'free_requested', 'free_completed', 'segment_alloc', 'segment_free', 'segment_map', 'segment_unmap', 'snapshot', 'oom',
  'user_defined', 'annotate', 'workspace_snapshot', 'empty_cache', 'other');
-- active_awaiting_free of torch's own doc string is read as the second.
CREATE TYPE block_state AS ENUM ('active_allocated', 'active_pending_free', 'inactive');
CREATE TYPE annotation_stage AS ENUM ('START', 'END', 'other');
-- unknown: the file lacks the pool.
CREATE TYPE segment_type AS ENUM ('small', 'large', 'unknown');
CREATE TYPE stack_origin AS ENUM ('none', 'final_block', 'alloc_event', 'free_event');
-- What happened to a tensor, and what torch.profiler takes it for, in the order of the numbers in its memory timelines; actions
-- count from 1. unknown is its None: an allocation that no profiled tensor is behind. Upstream: torch
-- profiler/_memory_profiler.py, _ACTION_TO_INDEX and _CATEGORY_TO_INDEX.
CREATE TYPE profiler_action AS ENUM ('preexisting', 'create', 'increment_version', 'destroy');
CREATE TYPE profiler_category AS ENUM (
  'parameter', 'optimizer_state', 'input', 'temporary', 'activation', 'gradient', 'autograd_detail', 'unknown');

-- Of Nsight Systems, in the order of the numbers of its ENUM_* tables in schemas 3.0 to 3.25, which agree: memKind (ENUM_CUDA_MEM_KIND),
-- memoryOperationType (ENUM_CUDA_DEV_MEM_EVENT_OPER), operationType and poolType of a memory pool (ENUM_CUDA_MEMPOOL_OPER and
-- _TYPE), copyKind (ENUM_CUDA_MEMCPY_OPER), the eventType of NVTX_EVENTS that matter here (ENUM_NSYS_EVENT_TYPE), and libraries whose
-- calls nsys traces as ranges of their own.
CREATE TYPE nsys_memory_kind AS ENUM (
  'pageable', 'pinned', 'device', 'array', 'managed', 'device_static', 'managed_static', 'unknown');
CREATE TYPE nsys_memory_operation AS ENUM ('allocation', 'deallocation', 'other');
CREATE TYPE nsys_pool_operation AS ENUM ('invalid', 'created', 'destroyed', 'trimmed', 'other');
CREATE TYPE nsys_pool_type AS ENUM ('invalid', 'local', 'imported', 'other');
CREATE TYPE nsys_copy_operation AS ENUM ('memcpy', 'memset');
CREATE TYPE nsys_copy_kind AS ENUM (
  'unknown', 'host_to_device', 'device_to_host', 'host_to_array', 'array_to_host', 'array_to_array', 'array_to_device',
  'device_to_array', 'device_to_device', 'host_to_host', 'peer_to_peer', 'managed_host_to_device', 'managed_device_to_host',
  'managed_device_to_device', 'other');
CREATE TYPE nsys_nvtx_type AS ENUM (
  'category', 'mark', 'push_pop', 'start_end', 'thread_name', 'domain', 'domain_end', 'other');
CREATE TYPE nsys_traced_library AS ENUM (
  'cublas', 'cudnn', 'cusolver', 'cusparse', 'cufft', 'mpi', 'nvshmem', 'ucx', 'openacc', 'other');
