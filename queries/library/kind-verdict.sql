-- @name   library.kind_verdict
-- @kind   view
-- @title  What the kind of a failure line decides where it carries no figures of the caching allocator
-- @col    kind        VARCHAR
-- @col    place       INTEGER  of several rows of a kind, the first whose pattern matches counts
-- @col    pattern     VARCHAR? searched in the failure line
-- @col    reason      VARCHAR
-- @col    cause       VARCHAR
-- @col    detail      VARCHAR?
-- @col    confidence  VARCHAR
-- @col    capture     VARCHAR? what to record
-- @col    is_fallback BOOLEAN  the figures go first: it counts where no test holds
-- @col    needs_cause BOOLEAN  it counts where the line names what failed: a crash, an exit code, and a report of another failure do not
-- @why    A kind that means that the cause is unknown decides nothing: memory may have run out. So it may where an error that no
--         wording covers has a word for it, which a terminal may have cut. That NCCL, or a worker, got no memory does
--         not show what holds it. The kernel names the limit it enforced (Memory cgroup out of memory, CONSTRAINT_MEMCG). Slurm and
--         container runtimes kill only at their own limits, which are control groups. A bare kernel line (Out of memory: Killed process)
--         means the whole host. XLA takes a share of the device at the start, 75 % by default (JAX documentation, GPU memory allocation),
--         and a program's buffers from it.
FROM (VALUES
  ('cuda_oom_driver', 1, 'cumem_allocator|torch_memory_saver', 'engine_pool', 'undecided', NULL, 'low', 'device_total', false, false),
  ('cuda_oom_driver', 2, NULL, 'driver', 'undecided', NULL, 'low', 'device_total', false, false),
  ('cublas', 1, NULL, 'library', 'undecided', NULL, 'low', 'device_total', false, false),
  ('cudnn', 1, NULL, 'library', 'undecided', NULL, 'low', 'device_total', false, false),
  ('nvml_assert_in_oom_path', 1, NULL, 'figures_lost', 'undecided', NULL, 'low', 'device_total', false, false),
  ('jax_oom', 1, 'Exceeded \w+ capacity|Ran out of memory in memory space', 'xla_program', 'capacity', NULL, 'high', NULL, false, false),
  ('jax_oom', 2, NULL, 'xla_share', 'capacity', NULL, 'low', 'device_total', false, false),
  ('tf_oom', 1, NULL, 'other_framework', 'undecided', NULL, 'low', 'device_total', false, false),
  ('hpu_oom', 1, NULL, 'other_framework', 'undecided', NULL, 'low', 'device_total', false, false),
  ('nccl_oom', 1, NULL, 'nccl', 'external_pressure', 'nccl', 'low', 'nccl_memory', false, false),
  ('kv_cache_budget', 1, NULL, 'kv_cache', 'capacity', 'kv_cache_budget', 'high', NULL, false, false),
  ('cuda_oom_graph_capture', 1, NULL, 'graph_capture', 'graph_pools', NULL, 'low', 'snapshot_at_oom', true, false),
  ('shm_oom', 1, NULL, 'shared_memory', 'host_oom', 'shm', 'high', 'host_memory', false, false),
  ('host_oom', 1, '(?i)DataLoader worker', 'dataloader_worker', 'host_oom', 'dataloader', 'low', 'host_memory', false, false),
  ('host_oom', 2, 'cgroup|CONSTRAINT_MEMCG|oom[_-]kill event|exceeded (?:job |step )?memory limit|exceeding memory limits|'
    || 'OOMKilled|TERM_MEMLIMIT|job killed: mem|Out Of Memory$',
    'control_group', 'host_oom', 'cgroup', 'high', 'host_memory', false, false),
  ('host_oom', 3, NULL, 'host', 'host_oom', NULL, 'high', 'host_memory', false, false),
  ('config_error', 1, NULL, 'configuration', 'not_oom', NULL, 'high', NULL, false, false),
  ('timeout', 1, NULL, 'timeout', 'not_oom', NULL, 'low', 'logs_of_all_ranks', false, false),
  ('connection_lost', 1, NULL, 'connection', 'not_oom', NULL, 'low', 'logs_of_all_ranks', false, false),
  ('hardware', 1, NULL, 'hardware', 'not_oom', NULL, 'high', NULL, false, false),
  ('time_limit', 1, NULL, 'time_limit', 'not_oom', NULL, 'high', NULL, false, false),
  ('cancelled', 1, NULL, 'cancelled', 'not_oom', NULL, 'high', NULL, false, false),
  ('preempted', 1, NULL, 'preempted', 'not_oom', NULL, 'high', NULL, false, false),
  ('killed', 1, NULL, 'killed', 'undecided', NULL, 'low', 'host_memory', false, false),
  ('nccl_not_oom', 1, 'unknown error|unspecified launch failure|initialization error', 'unnamed', 'undecided', NULL, 'low',
    'logs_of_all_ranks', false, false),
  ('nccl_not_oom', 2, NULL, 'not_memory', 'not_oom', NULL, 'high', NULL, false, false),
  ('nccl_unknown', 1, 'ibv_\w+ failed', 'locked_memory', 'undecided', NULL, 'low', 'logs_of_all_ranks', false, false),
  ('nccl_unknown', 2, NULL, 'nccl_unnamed', 'undecided', NULL, 'low', 'logs_of_all_ranks', false, false),
  ('cublas_not_oom', 1, 'INTERNAL_ERROR|EXECUTION_FAILED|MAPPING_ERROR', 'library', 'undecided', NULL, 'low', 'device_total', false, false),
  ('cublas_not_oom', 2, NULL, 'not_memory', 'not_oom', NULL, 'high', NULL, false, false),
  ('cudnn_unknown', 1, NULL, 'library', 'undecided', NULL, 'low', 'device_total', false, false),
  ('dataloader_worker_killed', 1, NULL, 'worker_lost', 'undecided', NULL, 'low', 'host_memory', false, false),
  ('shared_mem_not_oom', 1, NULL, 'not_memory', 'not_oom', NULL, 'high', NULL, false, false),
  ('illegal_access_not_oom', 1, NULL, 'not_memory', 'not_oom', NULL, 'high', NULL, false, false),
  ('illegal_access_near_oom', 1, NULL, 'unnamed', 'undecided', NULL, 'low', 'logs_of_all_ranks', false, false),
  ('negative_text', 1, NULL, 'mention', 'undecided', NULL, 'low', 'logs_of_all_ranks', false, false),
  ('not_oom', 1, NULL, 'not_memory', 'not_oom', NULL, 'high', NULL, false, false),
  ('other', 1, '\bmemory\b|MEMORY|\bOOM\b|/dev/sh', 'unnamed', 'undecided', NULL, 'low', 'logs_of_all_ranks', false, false),
  ('other', 2, NULL, 'not_memory', 'not_oom', NULL, 'high', NULL, false, true),
  ('other', 3, NULL, 'unnamed', 'undecided', NULL, 'low', 'logs_of_all_ranks', false, false))
  AS known(kind, place, pattern, reason, cause, detail, confidence, capture, is_fallback, needs_cause)
