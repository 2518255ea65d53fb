-- @name   library.nsys_range
-- @kind   view
-- @title  Every NVTX range of an Nsight Systems export
-- @col    source_id   INTEGER
-- @col    seq         INTEGER
-- @col    start_ns    BIGINT
-- @col    end_ns      BIGINT?  NULL: never ended
-- @col    type        ENUM     push_pop or start_end
-- @col    pid         INTEGER?
-- @col    tid         INTEGER?
-- @col    end_tid     INTEGER?
-- @col    domain      BIGINT?
-- @col    domain_name VARCHAR?
-- @col    text        VARCHAR?
-- @why    nsys_nvtx with its text and the name of its domain, which an event of its own carries.
SELECT
  nvtx.source_id, nvtx.seq, nvtx.start_ns, nvtx.end_ns, nvtx.type, nvtx.pid, nvtx.tid, nvtx.end_tid, nvtx.domain,
  domain.text AS domain_name, words.text
FROM nsys_nvtx AS nvtx
LEFT JOIN nsys_text AS words ON words.source_id = nvtx.source_id AND words.text_id = nvtx.text_id
LEFT JOIN (
  SELECT source_id, pid, domain, first(text ORDER BY seq) AS text
  FROM nsys_nvtx JOIN nsys_text USING (source_id, text_id) WHERE type = 'domain' GROUP BY source_id, pid, domain) AS domain
  ON domain.source_id = nvtx.source_id AND domain.pid = nvtx.pid AND domain.domain = nvtx.domain
WHERE nvtx.type IN ('push_pop', 'start_end')
