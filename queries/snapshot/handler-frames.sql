-- @name   snapshot.handler_frames
-- @title  Functions that handle an exception, on a stack of the last entries of a trace and of no entry before them
-- @param  snapshot_id INTEGER
-- @param  device      INTEGER
-- @param  entries     INTEGER  how many of the last entries are looked at
-- @col    name     VARCHAR  function
-- @col    filename VARCHAR
-- @col    line     INTEGER
-- @col    seq      INTEGER  the last entry with it
-- @why    A handler that allocates (a synchronisation, a gathered message) leaves its name at the end of the trace it dumps, even where the
--         failure is not in the trace. A wrapper that retries after an OOM is on every stack, and shows nothing.
WITH handler AS (
  SELECT stack_frame.stack_id, frame.name, frame.filename, frame.line
  FROM frame JOIN stack_frame USING (frame_id)
  WHERE regexp_matches(frame.name,
    '(^|_)oom(_|$)|(^|[^A-Z])OOM|Oom[A-Z]|(?i)out_?of_?memory|excepthook|(handle|on|format|print)_exc(eption)?($|_)')),
entry AS (
  SELECT seq, stack_id, seq >= history.events - $entries AS is_last
  FROM event JOIN derived_history AS history USING (snapshot_id, device) WHERE snapshot_id = $snapshot_id AND device = $device)
SELECT handler.name, handler.filename, handler.line, max(entry.seq) AS seq
FROM entry JOIN handler USING (stack_id)
GROUP BY ALL
HAVING bool_and(entry.is_last)
ORDER BY seq DESC, name, filename, line
