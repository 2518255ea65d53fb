-- @name   verdict.contributors
-- @title  Parts of the device that would have served each failure of a run alone, or that make a full device fuller
-- @param  run_id INTEGER?  NULL: all runs
-- @param  failures VARCHAR?  numbers of failures, joined by commas; NULL: all
-- @col    run_id     INTEGER
-- @col    failure     INTEGER
-- @col    contributor VARCHAR  a part of the view oom_part
-- @col    bytes       BIGINT  that could be had
-- @col    serves      BOOLEAN?  alone, the request; NULL: within the rounding of the message
-- @col    left_bytes  BIGINT?  negative: what would be missing
-- @needs  oom_part
-- @why    The verdict is one of them, or none. Below 1 % of the device a part that does not serve is not worth a word.
SELECT part.run_id, part.failure, part.part AS contributor, part.obtainable_bytes AS bytes, part.serves, part.left_bytes
FROM oom_part AS part
JOIN oom_sum AS sum ON sum.run_id = part.run_id AND sum.failure = part.failure
JOIN oom_fact AS fact ON fact.run_id = part.run_id AND fact.failure = part.failure
WHERE coalesce(part.run_id = $run_id, true)
  AND coalesce(list_contains(string_split($failures, ',')::INTEGER[], part.failure), true) AND part.obtainable_bytes > 0
  AND (part.serves OR part.obtainable_bytes >= 0.01 * coalesce(fact.total_bytes, sum.limit_bytes))
ORDER BY part.run_id, part.failure, part.obtainable_bytes DESC, contributor
