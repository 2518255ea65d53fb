-- @name   trend.failures
-- @title  Failure lines of all runs, counted by launch and kind
-- @col    run_id    INTEGER
-- @col    attempt   INTEGER
-- @col    kind      VARCHAR
-- @col    is_oom    BOOLEAN
-- @col    grammar   VARCHAR
-- @col    exception VARCHAR?
-- @col    text      VARCHAR  of one of them
-- @col    survived  BOOLEAN  a later line of the same file reports the end of the launch
-- @col    count     BIGINT   without copies in other files of the run
-- @why    A failure of a node is in its own file and in one of all nodes; two lines are one failure if a time, a process or its number in
--         the text agree.
WITH
  finished AS (
    SELECT source_id, attempt, max(line) AS line FROM log_phase WHERE phase = 'finished' GROUP BY source_id, attempt),
  lines AS (
    SELECT source.run_id, incident.source_id, source.attempt + coalesce(incident.attempt, 1) - 1 AS attempt, incident.kind, incident.is_oom,
      incident.grammar, incident.exception, incident.text, coalesce(incident.rank, source.rank) AS rank, incident.device, incident.pid,
      incident.time_us, coalesce(finished.line > incident.line, false) AS survived
    FROM incident
    JOIN source USING (source_id)
    LEFT JOIN finished ON finished.source_id = incident.source_id AND finished.attempt = coalesce(incident.attempt, 1)),
  in_files AS (SELECT *, count(*) AS lines FROM lines GROUP BY ALL),
  once AS (
    SELECT run_id, attempt, kind, is_oom, grammar, exception, text, rank, device, pid, time_us, survived,
      CASE WHEN time_us IS NOT NULL OR pid IS NOT NULL OR regexp_matches(text, '(?i)\b(process|pid)\b[ :=]{0,3}[0-9]{2}') THEN max(lines)
        ELSE sum(lines) END AS lines
    FROM in_files
    GROUP BY run_id, attempt, kind, is_oom, grammar, exception, text, rank, device, pid, time_us, survived)
SELECT run_id, attempt, kind, is_oom, grammar, exception, min(text) AS text, survived, sum(lines)::BIGINT AS count
FROM once
GROUP BY run_id, attempt, kind, is_oom, grammar, exception, survived
ORDER BY run_id, attempt, kind, grammar, exception, survived
