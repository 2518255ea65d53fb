-- @name   export.causes_of_lake
-- @title  Causes of the failures of runs of a lake, with their ranks
-- @param  runs VARCHAR     names in the lake, a JSON list
-- @col    run VARCHAR      the run
-- @col    cause VARCHAR    the cause
-- @col    detail VARCHAR?  which kind of it
-- @col    ranks BIGINT     ranks with such a failure; failures of an unknown rank are those of one
-- @why    A screen of one failure counts those of the other ranks.
SELECT run, cause, detail, count(DISTINCT coalesce(rank, -1)) AS ranks
FROM lake.verdict
WHERE run IN (SELECT unnest(from_json($runs, '["VARCHAR"]'))) AND failure IS NOT NULL
GROUP BY run, cause, detail
ORDER BY run, ranks DESC, cause, detail
