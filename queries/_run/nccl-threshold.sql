-- @name   _run.nccl_threshold
-- @title  Settings with which NCCL holds more than it would by itself, and the least value of each that does
-- @col    key    VARCHAR
-- @col    least  INTEGER
-- @col    reason VARCHAR
-- @why    One place for them, each with its reason. Upstream: NCCL documentation, Environment Variables; the numbers of channels are chosen
--         by this program.
FROM (VALUES
  ('NCCL_MIN_NCHANNELS', 16, 'every channel has buffers of its own to each peer, and a minimum holds for every communicator'),
  ('NCCL_MIN_CTAS', 16, 'the newer name of NCCL_MIN_NCHANNELS'),
  ('NCCL_BUFFSIZE', 4194305, 'above the default of 4 MiB per channel and direction: it was set explicitly'),
  ('NCCL_NVLS_ENABLE', 1, 'it raises memory where it is set'),
  ('NCCL_NCHANNELS_PER_NET_PEER', 16, 'as NCCL_MIN_NCHANNELS, to each peer on the network')) AS setting(key, least, reason)
