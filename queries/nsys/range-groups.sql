-- @name   nsys.range_groups
-- @title  NVTX ranges by their text, numbers in it aside
-- @param  source_id INTEGER
-- @col    pid        INTEGER?
-- @col    tid        INTEGER?
-- @col    type       VARCHAR
-- @col    domain_name VARCHAR?
-- @col    template   VARCHAR  the text with # for each number
-- @col    example    VARCHAR
-- @col    count      BIGINT   ended ones
-- @col    unfinished BIGINT
-- @col    start_ns   BIGINT   of the first
-- @col    end_ns     BIGINT?  of the last that ended
-- @col    total_ns   BIGINT?  sum of their durations
-- @col    median_ns  DOUBLE?  of their durations
-- @col    overlaps   BOOLEAN  one begins before another has ended
-- @why    Profilers write a number into each text. What recurs without overlapping itself may be the training step.
WITH words AS (
  SELECT text_id, text, regexp_replace(text, '[0-9]+', '#', 'g') AS template FROM nsys_text WHERE source_id = $source_id),
ranges AS (
  SELECT nvtx.pid, CASE WHEN nvtx.type = 'push_pop' THEN nvtx.tid END AS tid, nvtx.type, nvtx.domain, words.template, words.text,
    nvtx.start_ns, nvtx.end_ns
  FROM nsys_nvtx AS nvtx JOIN words USING (text_id)
  WHERE nvtx.source_id = $source_id AND nvtx.type IN ('push_pop', 'start_end')),
domains AS (
  SELECT nvtx.pid, nvtx.domain, first(words.text ORDER BY nvtx.seq) AS name FROM nsys_nvtx AS nvtx JOIN words USING (text_id)
  WHERE nvtx.source_id = $source_id AND nvtx.type = 'domain' GROUP BY nvtx.pid, nvtx.domain),
ordered AS (
  SELECT *, start_ns < max(end_ns) OVER (PARTITION BY pid, tid, type, domain, template
    ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS is_over FROM ranges)
SELECT ordered.pid, ordered.tid, ordered.type::VARCHAR AS type, domains.name AS domain_name, ordered.template,
  first(ordered.text ORDER BY ordered.start_ns) AS example, count(*) FILTER (end_ns IS NOT NULL) AS count,
  count(*) FILTER (end_ns IS NULL) AS unfinished, min(start_ns) AS start_ns, max(end_ns) AS end_ns,
  sum(end_ns - start_ns)::BIGINT AS total_ns, median(end_ns - start_ns) AS median_ns, coalesce(bool_or(is_over), false) AS overlaps
FROM ordered LEFT JOIN domains ON domains.pid IS NOT DISTINCT FROM ordered.pid AND domains.domain = ordered.domain
GROUP BY ordered.pid, ordered.tid, ordered.type, domains.name, ordered.template
ORDER BY total_ns DESC NULLS LAST, ordered.template, ordered.pid, ordered.tid
