-- @name   verdict.evidence
-- @title  The evidence of every verdict on a run
-- @param  run_id     INTEGER
-- @of     evidence: verdict number code about items path line entry given_by shows query parameters
-- @col    numbers    VARCHAR  JSON
-- @col    names      VARCHAR  JSON
-- @why    Handles of `show`, and what screens are made of.
SELECT verdict, number, code, about, to_json(numbers)::VARCHAR AS numbers, to_json(names)::VARCHAR AS names, items, path, line, entry,
  given_by, shows, query, parameters
FROM evidence
WHERE run_id = $run_id
ORDER BY verdict, number
