-- @name   verdict.evidence
-- @title  The evidence of every verdict on a run
-- @param  run_id     INTEGER
-- @col    verdict    INTEGER  as printed, from 1
-- @col    number     INTEGER  3 is E3
-- @col    code       VARCHAR
-- @col    about      VARCHAR?
-- @col    numbers    VARCHAR  JSON
-- @col    names      VARCHAR  JSON
-- @col    items      VARCHAR? JSON
-- @col    path       VARCHAR?
-- @col    line       BIGINT?
-- @col    entry      BIGINT?
-- @col    given_by   VARCHAR? option of the command line
-- @col    shows      VARCHAR? what can be shown of it: place, file (from its first line), dump; NULL: not a file of the run
-- @col    query      VARCHAR?
-- @col    parameters VARCHAR? JSON
-- @why    Handles of `show`, and what screens are made of.
SELECT verdict, number, code, about, to_json(numbers)::VARCHAR AS numbers, to_json(names)::VARCHAR AS names, items, path, line, entry,
  given_by, shows, query, parameters
FROM evidence
WHERE run_id = $run_id
ORDER BY verdict, number
