-- @name   outside.clock_pairs
-- @title  One moment by two clocks: iterations that a log prints and metrics record, failures that a log prints and a trace holds
-- @param  run_id INTEGER
-- @col    kind       VARCHAR  iteration or failure
-- @col    pairs      BIGINT
-- @col    shift_us   DOUBLE   UTC less the printed clock, median
-- @col    spread_us  DOUBLE   between the fifth and the ninety-fifth of a hundred
-- @why    A log prints the wall clock of its host without a zone, metrics and traces carry UTC. Both contain the same step or failure.
WITH
  moments AS (SELECT iteration.attempt, iteration.iteration, iteration.clock, min(time_us) AS time_us FROM iteration
    WHERE run_id = $run_id AND time_us IS NOT NULL GROUP BY ALL),
  steps AS (
    SELECT utc.time_us - printed.time_us AS shift_us
    FROM moments AS printed JOIN moments AS utc ON utc.attempt = printed.attempt AND utc.iteration = printed.iteration
    WHERE printed.clock = 'printed' AND utc.clock = 'utc'),
  failures AS (
    SELECT event.time_us - incident.time_us AS shift_us
    FROM incident JOIN source USING (source_id)
    JOIN snapshot ON snapshot.run_id = source.run_id AND snapshot.rank IS NOT DISTINCT FROM coalesce(incident.rank, source.rank)
    JOIN trace_oom USING (snapshot_id)
    JOIN event ON event.snapshot_id = trace_oom.snapshot_id AND event.device = trace_oom.device AND event.seq = trace_oom.seq
    WHERE source.run_id = $run_id AND incident.is_oom AND incident.time_us IS NOT NULL AND event.time_us IS NOT NULL
      AND coalesce(source.clock, 'printed') = 'printed')
SELECT kind, count(*) AS pairs, median(shift_us) AS shift_us, quantile_cont(shift_us, 0.95) - quantile_cont(shift_us, 0.05) AS spread_us
FROM (SELECT 'iteration' AS kind, shift_us FROM steps UNION ALL SELECT 'failure', shift_us FROM failures)
GROUP BY kind
ORDER BY kind DESC
