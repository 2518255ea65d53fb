-- @name   nsys.gpus
-- @title  GPUs of a report
-- @param  source_id INTEGER
-- @col    gpu          INTEGER  number in the report, not the CUDA ordinal of a process
-- @col    name         VARCHAR?
-- @col    total_bytes  BIGINT?
-- @col    bus_location VARCHAR?
-- @col    uuid         VARCHAR?
-- @why    The device total closes an account that a message alone leaves open.
SELECT gpu, name, total_bytes, bus_location, uuid FROM nsys_gpu WHERE source_id = $source_id ORDER BY gpu
