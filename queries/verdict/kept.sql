-- @name   verdict.kept
-- @title  The call sites that kept something of every step before the failures of a run
-- @param  run_id INTEGER
-- @col    failure        INTEGER
-- @col    site           VARCHAR
-- @col    bytes          BIGINT
-- @col    blocks         BIGINT
-- @col    steps          BIGINT
-- @col    bytes_per_step BIGINT
-- @needs  oom_keeping_site
-- @why    The largest is named as what leaks.
SELECT failure, site, bytes, blocks, steps, bytes_per_step
FROM oom_keeping_site
WHERE run_id = $run_id
ORDER BY failure, bytes DESC, site
