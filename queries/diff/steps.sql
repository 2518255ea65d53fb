-- @name   diff.steps
-- @title  Profiler steps of which a snapshot has both ends
-- @param  snapshot_id INTEGER
-- @col    step INTEGER  N of ProfilerStep#N
-- @why    The ring of annotations loses its oldest, and the last step of a trace is often cut: only whole steps can be compared.
SELECT CAST(regexp_extract(name.text, '^ProfilerStep#([0-9]{1,9})$', 1) AS INTEGER) AS step
FROM annotation
JOIN text_value AS name ON name.text_id = annotation.name_id
WHERE annotation.snapshot_id = $snapshot_id AND regexp_matches(name.text, '^ProfilerStep#[0-9]{1,9}$')
GROUP BY step
HAVING count(*) FILTER (annotation.stage = 'START') > 0 AND count(*) FILTER (annotation.stage = 'END') > 0
ORDER BY step
