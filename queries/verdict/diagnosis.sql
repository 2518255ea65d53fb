-- @name   verdict.diagnosis
-- @title  What diagnose prints of a run, without evidence
-- @param  run_id   INTEGER
-- @col    part     VARCHAR  run, situation or verdict
-- @col    number   INTEGER  of the verdict, as printed, from 1; else 0
-- @col    document VARCHAR  JSON
-- @why    The answer is made once, when the run is ingested.
SELECT part, number, document FROM diagnosis WHERE run_id = $run_id ORDER BY part, number
