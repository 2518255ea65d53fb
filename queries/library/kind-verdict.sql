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
-- @why    The kernel names the limit it enforced (Memory cgroup out of memory, CONSTRAINT_MEMCG). Slurm and container runtimes kill only at
--         their own limits, which are control groups. A bare kernel line (Out of memory: Killed process) means the whole host. XLA takes
--         a share of the device at the start, 75 % by default (JAX documentation, GPU memory allocation), and a program's buffers from it.
FROM (VALUES
  ('cuda_oom_driver', 1, 'cumem_allocator|torch_memory_saver', 'engine_pool', 'undecided', NULL, 'low', 'device_total', false),
  ('cuda_oom_driver', 2, NULL, 'driver', 'undecided', NULL, 'low', 'device_total', false),
  ('cublas', 1, NULL, 'library', 'undecided', NULL, 'low', 'device_total', false),
  ('cudnn', 1, NULL, 'library', 'undecided', NULL, 'low', 'device_total', false),
  ('nvml_assert_in_oom_path', 1, NULL, 'figures_lost', 'undecided', NULL, 'low', 'device_total', false),
  ('jax_oom', 1, 'Exceeded \w+ capacity|Ran out of memory in memory space', 'xla_program', 'capacity', NULL, 'high', NULL, false),
  ('jax_oom', 2, NULL, 'xla_share', 'capacity', NULL, 'low', 'device_total', false),
  ('tf_oom', 1, NULL, 'other_framework', 'undecided', NULL, 'low', 'device_total', false),
  ('hpu_oom', 1, NULL, 'other_framework', 'undecided', NULL, 'low', 'device_total', false),
  ('nccl_oom', 1, NULL, 'nccl', 'external_pressure', 'nccl', 'medium', 'nccl_memory', false),
  ('kv_cache_budget', 1, NULL, 'kv_cache', 'capacity', 'kv_cache_budget', 'high', NULL, false),
  ('cuda_oom_graph_capture', 1, NULL, 'graph_capture', 'graph_pools', NULL, 'low', 'snapshot_at_oom', true),
  ('shm_oom', 1, NULL, 'shared_memory', 'host_oom', 'shm', 'high', 'host_memory', false),
  ('host_oom', 1, '(?i)DataLoader worker', 'dataloader_worker', 'host_oom', 'dataloader', 'high', 'host_memory', false),
  ('host_oom', 2, 'cgroup|CONSTRAINT_MEMCG|oom[_-]kill event|exceeded (?:job |step )?memory limit|OOMKilled|TERM_MEMLIMIT|'
    || 'job killed: mem|Out Of Memory$', 'control_group', 'host_oom', 'cgroup', 'high', 'host_memory', false),
  ('host_oom', 3, NULL, 'host', 'host_oom', NULL, 'high', 'host_memory', false),
  ('config_error', 1, NULL, 'configuration', 'not_oom', NULL, 'high', NULL, false),
  ('timeout', 1, NULL, 'timeout', 'not_oom', NULL, 'high', 'logs_of_all_ranks', false),
  ('connection_lost', 1, NULL, 'connection', 'not_oom', NULL, 'high', 'logs_of_all_ranks', false),
  ('hardware', 1, NULL, 'hardware', 'not_oom', NULL, 'high', NULL, false),
  ('time_limit', 1, NULL, 'time_limit', 'not_oom', NULL, 'high', NULL, false),
  ('cancelled', 1, NULL, 'cancelled', 'not_oom', NULL, 'high', NULL, false),
  ('preempted', 1, NULL, 'preempted', 'not_oom', NULL, 'high', NULL, false),
  ('killed', 1, NULL, 'killed', 'undecided', NULL, 'low', 'host_memory', false),
  ('nccl_not_oom', 1, NULL, 'not_memory', 'not_oom', NULL, 'high', NULL, false),
  ('nccl_unknown', 1, NULL, 'not_memory', 'not_oom', NULL, 'high', NULL, false),
  ('cublas_not_oom', 1, NULL, 'not_memory', 'not_oom', NULL, 'high', NULL, false),
  ('cudnn_unknown', 1, NULL, 'not_memory', 'not_oom', NULL, 'high', NULL, false),
  ('dataloader_worker_killed', 1, NULL, 'not_memory', 'not_oom', NULL, 'high', NULL, false),
  ('shared_mem_not_oom', 1, NULL, 'not_memory', 'not_oom', NULL, 'high', NULL, false),
  ('illegal_access_not_oom', 1, NULL, 'not_memory', 'not_oom', NULL, 'high', NULL, false),
  ('illegal_access_near_oom', 1, NULL, 'not_memory', 'not_oom', NULL, 'high', NULL, false),
  ('negative_text', 1, NULL, 'not_memory', 'not_oom', NULL, 'high', NULL, false),
  ('not_oom', 1, NULL, 'not_memory', 'not_oom', NULL, 'high', NULL, false),
  ('other', 1, NULL, 'not_memory', 'not_oom', NULL, 'high', NULL, false))
  AS known(kind, place, pattern, reason, cause, detail, confidence, capture, is_fallback)
