-- @name   nsys.gpus
-- @title  GPUs of a report
-- @param  source_id INTEGER
-- @col    id           INTEGER  number in the report, not the CUDA ordinal of a process
-- @col    name         VARCHAR?
-- @col    total_bytes  BIGINT?
-- @why    The device total closes an account that a message alone leaves open.
SELECT gpu AS id, name, total_bytes FROM nsys_gpu WHERE source_id = $source_id ORDER BY gpu
