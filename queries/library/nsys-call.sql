-- @name   library.nsys_call
-- @kind   view
-- @title  Every call of the CUDA runtime or driver of an Nsight Systems export
-- @col    source_id    INTEGER
-- @col    start_ns     BIGINT
-- @col    end_ns       BIGINT
-- @col    pid          INTEGER?
-- @col    tid          INTEGER?
-- @col    correlation  BIGINT?
-- @col    api          VARCHAR? name, without version suffixes
-- @col    return_value INTEGER? 2 is out of memory
-- @col    event_class  INTEGER?
-- @col    callchain    BIGINT?
-- @why    nsys_api with names that are equal for all versions of a function.
SELECT
  api.source_id, api.start_ns, api.end_ns, api.pid, api.tid, api.correlation,
  regexp_replace(words.text, '(_ptsz|_ptds)?_v[0-9]+$', '') AS api, api.return_value, api.event_class, api.callchain
FROM nsys_api AS api LEFT JOIN nsys_text AS words ON words.source_id = api.source_id AND words.text_id = api.name_id
