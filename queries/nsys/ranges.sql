-- @name   nsys.ranges
-- @title  Push/pop ranges in the order in which each thread opened them
-- @param  source_id INTEGER
-- @col    pid      INTEGER
-- @col    tid      INTEGER
-- @col    start_ns BIGINT
-- @col    end_ns   BIGINT?
-- @col    text_id  BIGINT
-- @col    is_nccl  BOOLEAN  its domain is NCCL's
-- @why    Walked once in parallel with the allocations, it gives each of them its enclosing ranges.
SELECT nvtx.pid, nvtx.tid, nvtx.start_ns, nvtx.end_ns, nvtx.text_id, coalesce(domain.text ILIKE 'nccl%', false) AS is_nccl
FROM nsys_nvtx AS nvtx
LEFT JOIN (
  SELECT pid, domain, first(text ORDER BY seq) AS text FROM nsys_nvtx JOIN nsys_text USING (source_id, text_id)
    WHERE source_id = $source_id AND type = 'domain' GROUP BY pid, domain) AS domain
  ON domain.pid = nvtx.pid AND domain.domain = nvtx.domain
WHERE nvtx.source_id = $source_id AND nvtx.type = 'push_pop' AND nvtx.text_id IS NOT NULL AND nvtx.pid IS NOT NULL AND nvtx.tid IS NOT NULL
ORDER BY nvtx.pid, nvtx.tid, nvtx.start_ns, nvtx.end_ns DESC NULLS FIRST, nvtx.seq
