-- @name   nsys.kernels
-- @title  Kernels by name
-- @param  source_id INTEGER
-- @param  from_ns BIGINT?  only those that begin from here on
-- @param  to_ns BIGINT?    and before here
-- @param  most BIGINT
-- @col    name        VARCHAR
-- @col    count       BIGINT
-- @col    total_ns    BIGINT   sum of durations; kernels of several streams overlap
-- @col    median_ns   DOUBLE
-- @why    Where the device's time goes.
SELECT coalesce(words.text, '?') AS name, count(*) AS count, sum(end_ns - start_ns)::BIGINT AS total_ns,
  median(end_ns - start_ns) AS median_ns
FROM nsys_kernel AS kernel LEFT JOIN nsys_text AS words ON words.source_id = kernel.source_id AND words.text_id = kernel.name_id
WHERE kernel.source_id = $source_id AND ($from_ns IS NULL OR start_ns >= $from_ns) AND ($to_ns IS NULL OR start_ns < $to_ns)
GROUP BY 1 ORDER BY total_ns DESC, name LIMIT $most
