-- @name   compare.checks
-- @title  Measurements of runs, judged
-- @param  documents VARCHAR   JSON list; see judged_checks
-- @param  tolerances VARCHAR  JSON object
-- @param  with_stages BOOLEAN
-- @of     judged_checks
-- @why    judged_checks of the library, in order: it reads no table, since golden values may be of a file or of another store.
SELECT * FROM judged_checks($documents, $tolerances, $with_stages) AS judged ORDER BY comparison, place
