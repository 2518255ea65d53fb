-- @name   nsys.range_work
-- @title  Kernels and copies launched inside the NVTX ranges of a text
-- @param  source_id INTEGER
-- @param  text VARCHAR  part of a range's text, in whatever case
-- @param  most BIGINT
-- @col    work     VARCHAR  kernel, memcpy, memset
-- @col    name     VARCHAR  of the kernel, or the direction of the copy
-- @col    count    BIGINT
-- @col    total_ns BIGINT   sum of durations
-- @col    bytes    BIGINT?  of copies
-- @why    Work belongs to the range in which its call was made, on the thread that made it: the device does it later. Ranges inside ranges
--         are joined first.
WITH matching AS (
  SELECT nvtx.pid, nvtx.tid, nvtx.start_ns, coalesce(nvtx.end_ns, 9223372036854775807) AS end_ns
  FROM nsys_nvtx AS nvtx JOIN nsys_text AS words ON words.source_id = nvtx.source_id AND words.text_id = nvtx.text_id
  WHERE nvtx.source_id = $source_id AND nvtx.type = 'push_pop' AND contains(lower(words.text), lower($text))),
marked AS (
  SELECT *, start_ns > max(end_ns) OVER (PARTITION BY pid, tid
    ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS begins FROM matching),
islands AS (
  SELECT pid, tid, min(start_ns) AS start_ns, max(end_ns) AS end_ns
  FROM (SELECT *, sum(CASE WHEN begins THEN 1 ELSE 0 END) OVER (PARTITION BY pid, tid
    ORDER BY start_ns, end_ns ROWS UNBOUNDED PRECEDING) AS island FROM marked)
  GROUP BY pid, tid, island),
calls AS (
  SELECT DISTINCT api.pid, api.correlation
  FROM (SELECT * FROM nsys_api WHERE source_id = $source_id AND correlation > 0) AS api
  ASOF JOIN islands ON islands.pid = api.pid AND islands.tid = api.tid AND api.start_ns >= islands.start_ns
  WHERE api.start_ns < islands.end_ns),
work AS (
  SELECT 'kernel' AS work, coalesce(words.text, '?') AS name, kernel.end_ns - kernel.start_ns AS length_ns, NULL::BIGINT AS bytes
  FROM nsys_kernel AS kernel JOIN calls ON calls.pid = kernel.pid AND calls.correlation = kernel.correlation
  LEFT JOIN nsys_text AS words ON words.source_id = kernel.source_id AND words.text_id = kernel.name_id
  WHERE kernel.source_id = $source_id
  UNION ALL
  SELECT copy.operation::VARCHAR, coalesce(copy.copy_kind::VARCHAR, copy.target_kind::VARCHAR, '?'), copy.end_ns - copy.start_ns, copy.bytes
  FROM nsys_copy AS copy JOIN calls ON calls.pid = copy.pid AND calls.correlation = copy.correlation
  WHERE copy.source_id = $source_id)
SELECT work, name, count(*) AS count, sum(length_ns)::BIGINT AS total_ns, sum(bytes)::BIGINT AS bytes
FROM work GROUP BY work, name ORDER BY total_ns DESC, work, name LIMIT $most
