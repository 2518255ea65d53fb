-- @name   library.rule_verdict
-- @kind   view
-- @title  The cause of every failure of every run
-- @col    run           VARCHAR
-- @col    run_id        INTEGER
-- @col    failure       INTEGER   within the run
-- @col    rank          INTEGER?
-- @col    device        INTEGER?
-- @col    snapshot_id   INTEGER?
-- @col    seq           INTEGER?  OOM entry of its trace
-- @col    incident_id   INTEGER?  its message
-- @col    kind          VARCHAR?  of the message
-- @col    cause         VARCHAR
-- @col    detail        VARCHAR?
-- @col    confidence    VARCHAR   proven, high, medium or low
-- @col    basis         VARCHAR   test; kind of the message; guide: its rule where figures are missing; none: undecided
-- @col    reason        VARCHAR   of the test, the kind, or the rule
-- @col    capture       VARCHAR?  what to record, by the kind of the message
-- @col    untested_rivals VARCHAR[] causes whose test would have had to fail
-- @col    doubts        VARCHAR[] evidence against the verdict
-- @col    is_proven     BOOLEAN   every byte is accounted for
-- @col    contradicted_by INTEGER? failure of the run whose evidence shows another cause, which could not be tested here
-- @col    replay_status VARCHAR?  of the allocator model on the recording; NULL: not replayed
-- @why    The part of the device that would have served the request alone, and leaves most, is the verdict; a leak or a full device where
--         none would. It is one step less sure while a rival could not be tested, one more if evidence contradicts it, one more if a second
--         part would have served nearly as well, one more if another rank shows a cause that could not be tested here. Proven needs a sure
--         verdict and either an exact walk through the trace, the message with the device total and every byte accounted for, or an exact
--         replay that repeats the OOM and in which the other kind of segments serves every request. A step that was not run is never proof.
WITH by_kind AS (
  SELECT fact.run_id, fact.failure, kind.* EXCLUDE (kind, place, pattern, needs_cause)
  FROM oom_fact AS fact
  JOIN kind_verdict AS kind ON kind.kind = fact.kind AND coalesce(regexp_matches(fact.text, kind.pattern), kind.pattern IS NULL)
  LEFT JOIN judged_run AS launch ON launch.run_id = fact.run_id
  WHERE (launch.names_cause OR NOT kind.needs_cause) AND (kind.is_fallback OR fact.snapshot_id IS NULL)
  QUALIFY row_number() OVER (PARTITION BY fact.run_id, fact.failure ORDER BY kind.place) = 1),
-- What overrules sums; then, of what would have served alone, what leaves most; then a leak; then a full device.
ordered AS (
  SELECT *, outcome = 'holds' AND (cause NOT IN ('capacity', 'leak') OR detail = 'fraction_limit') AS is_part,
    CASE WHEN outcome <> 'holds' THEN 5 WHEN reason IN ('whole_step', 'beyond_device') THEN 1 WHEN cause = 'leak' THEN 3
      WHEN cause = 'capacity' AND detail IS DISTINCT FROM 'fraction_limit' THEN 4 ELSE 2 END AS class,
    numbers['left_bytes'] AS left_bytes
  FROM cause_test),
tested AS (
  SELECT run_id, failure,
    first(place ORDER BY class, left_bytes DESC NULLS LAST, place) FILTER (outcome = 'holds') AS place,
    list(cause ORDER BY place) FILTER (outcome = 'not_testable') AS untested,
    bool_or(reason = 'refused_though_free') AS is_refused_though_free,
    list(left_bytes ORDER BY left_bytes DESC) FILTER (is_part AND left_bytes IS NOT NULL) AS served_left,
    flatten(list(doubts ORDER BY place) FILTER (outcome = 'fails')) AS against
  FROM ordered GROUP BY run_id, failure),
holding AS (
  SELECT tested.*, test.cause, test.detail, test.confidence, test.reason, test.doubts,
    coalesce(list_filter(rule.rivals, lambda rival: list_contains(tested.untested, rival)), []) AS untested_rivals
  FROM tested
  LEFT JOIN cause_test AS test ON test.run_id = tested.run_id AND test.failure = tested.failure AND test.place = tested.place
  LEFT JOIN cause_rule AS rule ON rule.place = tested.place),
-- The tuning guides' rule for an OOM without figures: with expandable segments set, the device is full; without them, one rank that
-- fails among ranks alike is fragmented. A first pipeline stage or an overloaded expert rank peaks alone; its device is then full.
guide AS (
  SELECT fact.run_id, fact.failure, CASE WHEN fact.is_expandable THEN 'capacity' ELSE 'fragmentation' END AS cause,
    CASE WHEN fact.is_expandable THEN 'expandable_on' ELSE 'failed_alone' END AS reason
  FROM oom_fact AS fact
  JOIN oom_sum AS sum ON sum.run_id = fact.run_id AND sum.failure = fact.failure
  CROSS JOIN cause_threshold AS threshold
  WHERE fact.request_bytes IS NOT NULL AND sum.short_bytes IS NULL AND (fact.is_expandable
    OR (fact.is_expandable IS NOT NULL OR fact.has_environment) AND fact.failed_alone AND fact.other_ranks > 0
      AND coalesce(fact.own_reserved_bytes <= threshold.alike_ranks_share * fact.others_reserved_bytes, true))),
judged AS (
  SELECT fact.*,
    CASE WHEN holding.cause IS NOT NULL THEN 'test' WHEN by_kind.cause IS NOT NULL THEN 'kind' WHEN guide.cause IS NOT NULL THEN 'guide'
      ELSE 'none' END AS basis,
    coalesce(holding.cause, by_kind.cause, guide.cause, 'undecided') AS cause,
    CASE WHEN holding.cause IS NOT NULL THEN holding.detail WHEN by_kind.cause IS NOT NULL THEN by_kind.detail
      WHEN guide.cause IS NULL AND holding.is_refused_though_free THEN 'refused_though_free' END AS detail,
    coalesce(holding.reason, by_kind.reason, guide.reason,
      CASE WHEN holding.is_refused_though_free THEN 'refused_though_free' ELSE 'no_test_holds' END) AS reason,
    by_kind.confidence AS kind_confidence,
    CASE WHEN holding.cause IS NULL THEN by_kind.capture END AS capture, holding.confidence AS test_confidence,
    CASE WHEN holding.confidence = 'high' AND NOT (holding.detail = 'impossible_request' AND fact.total_bytes IS NOT NULL) IS TRUE
      THEN holding.untested_rivals ELSE [] END AS untested_rivals,
    -- A second part that would have served nearly as well.
    coalesce(holding.cause NOT IN ('leak', 'capacity') AND len(holding.served_left) > 1
      AND holding.served_left[2] >= 0.75 * holding.served_left[1], false) AS has_equal,
    CASE WHEN holding.cause IS NULL THEN [] ELSE list_concat(holding.doubts, holding.against) END AS doubts,
    fact.walk_is_exact AND fact.uncertain_bytes = 0 AND fact.total_bytes IS NOT NULL AND fact.kind IS NOT NULL
      AND coalesce(fact.total_bytes - fact.device_free_bytes - coalesce(fact.process_bytes, fact.reserved_bytes)
          - fact.other_processes_bytes >= -(fact.total_precision_bytes + fact.device_free_precision_bytes
          + coalesce(fact.process_precision_bytes, fact.reserved_precision_bytes) + fact.other_processes_precision_bytes), true)
      AS is_accounted
  FROM oom_fact AS fact
  LEFT JOIN holding ON holding.run_id = fact.run_id AND holding.failure = fact.failure
  LEFT JOIN by_kind ON by_kind.run_id = fact.run_id AND by_kind.failure = fact.failure
  LEFT JOIN guide ON guide.run_id = fact.run_id AND guide.failure = fact.failure),
-- 1 = proven to 4 = low.
lowered AS (
  SELECT *, least(4, list_position(['proven', 'high', 'medium', 'low'], test_confidence)
      + CASE WHEN len(untested_rivals) > 0 THEN 1 ELSE 0 END + CASE WHEN len(doubts) > 0 THEN 1 ELSE 0 END
      + CASE WHEN has_equal THEN 1 ELSE 0 END) AS step
  FROM judged),
counted AS (
  SELECT lowered.*, coalesce(lowered.basis = 'test' AND lowered.step = 2 AND lowered.is_accounted AND lowered.reason <> 'whole_step', false)
      AS is_proven,
    replay.status AS replay_status,
    coalesce(replay.repeats_oom AND replay.status <> 'refused' AND replay.is_on AND replay.is_served AND replay.is_robust, false)
      AS is_served
  FROM lowered
  LEFT JOIN oom_replay AS replay ON replay.run_id = lowered.run_id AND replay.failure = lowered.failure),
graded AS (
  SELECT *, CASE basis
      WHEN 'test' THEN CASE WHEN is_proven THEN 1 WHEN walk_is_exact = false THEN 4 ELSE step END
      WHEN 'kind' THEN list_position(['proven', 'high', 'medium', 'low'], kind_confidence)
      ELSE 4 END AS place
  FROM counted),
replayed AS (
  SELECT * REPLACE (CASE
      WHEN cause = 'fragmentation' AND is_served AND replay_status = 'exact' AND place = 2 THEN 1
      WHEN cause = 'capacity' AND is_served AND reason <> 'whole_step' THEN least(4, place + 1)
      ELSE place END AS place)
  FROM graded),
established AS (
  SELECT run_id, cause, min(failure) AS failure FROM replayed WHERE basis = 'test' AND place <= 3 GROUP BY run_id, cause),
related AS (
  SELECT test.run_id, test.failure, min(established.failure) AS contradicted_by
  FROM replayed
  JOIN cause_test AS test ON test.run_id = replayed.run_id AND test.failure = replayed.failure AND test.outcome = 'not_testable'
  JOIN established ON established.run_id = test.run_id AND established.cause = test.cause AND established.cause <> replayed.cause
  WHERE replayed.cause <> 'undecided'
  GROUP BY test.run_id, test.failure)
SELECT
  run.name AS run, answer.run_id, answer.failure, answer.rank, answer.device, answer.snapshot_id, answer.seq, answer.incident_id,
  answer.kind, answer.cause, answer.detail,
  ['proven', 'high', 'medium', 'low'][least(4, answer.place + CASE WHEN related.contradicted_by IS NULL THEN 0 ELSE 1 END)] AS confidence,
  answer.basis, answer.reason, answer.capture, answer.untested_rivals, answer.doubts, answer.is_proven, related.contradicted_by,
  answer.replay_status
FROM replayed AS answer
JOIN run ON run.run_id = answer.run_id
LEFT JOIN related ON related.run_id = answer.run_id AND related.failure = answer.failure
