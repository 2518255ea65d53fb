-- @name   library.normal_outside
-- @kind   view
-- @title  How much a healthy process holds on a device outside PyTorch's allocator: context, modules, libraries, NCCL
-- @col    scope       VARCHAR  one_process: without collectives; distributed: also where the number of processes is unknown
-- @col    least_bytes BIGINT
-- @col    most_bytes  BIGINT
-- @col    most_share  DOUBLE   of the device: not more than this, and not less than what one process holds
-- @col    source      VARCHAR
-- @why    What is beyond the upper end could be had back; what is below belongs to such a run. It grows with the communicators and NCCL's
--         channels, so a number that decides would be wrong for someone: this range only limits what is called obtainable.
FROM (VALUES
  ('one_process', 322122547::BIGINT, 1288490189::BIGINT, 1.0::DOUBLE,
    'CUDA context 0.2 to 0.6 GiB, cuBLAS workspaces 8 to 32 MiB a handle and stream, kernels of libraries that are loaded lazily'),
  ('distributed', 1073741824, 8589934592, 0.1,
    'NCCL_BUFFSIZE (4 MiB) × channels × peers for each communicator, and NVLS buffers; '
      || '1 to 8 GiB were seen on healthy runs of 8 to 1,024 ranks, on devices of 80 GB and more'))
  AS range(scope, least_bytes, most_bytes, most_share, source)
