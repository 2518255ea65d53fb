-- @name   library.cause_rule
-- @kind   view
-- @title  How the tests of causes are combined: one row per cause
-- @col    cause      VARCHAR
-- @col    place      INTEGER   the first cause that holds is the verdict
-- @col    rivals     VARCHAR[] causes whose test must have failed: while one of them could not be tested, high confidence is medium
-- @col    why        VARCHAR   it goes before those behind it
-- @why    Causes with evidence of their own (a foreign process, a pending block, a call site that keeps) are observed, not inferred, and
--         lack rivals. A leak cannot have filled the device unless the sum exceeds it, so it is not a rival of fragmentation.
FROM (VALUES
  ('external_pressure', 1, []::VARCHAR[], 'what others leave of a device looks full, or fragmented'),
  ('synchronisation', 2, [], 'the bytes are reserved, and not live'),
  ('graph_pools', 3, [], 'the bytes are reserved, and not live'),
  ('leak', 4, [], 'it ends in a full device'),
  ('capacity', 5, ['external_pressure', 'synchronisation', 'graph_pools', 'leak'],
    'a full device is also fragmented, and no layout makes it larger'),
  ('fragmentation', 6, ['external_pressure', 'synchronisation', 'graph_pools'], 'the memory is there'))
  AS rule(cause, place, rivals, why)
