-- @name   library.check_threshold
-- @kind   view
-- @title  The numbers that decide when a change of a figure counts
-- @col    sigmas           INTEGER  half-widths are this many standard deviations: of a thousand comparisons without a change, a few exceed
--         it on the worse side
-- @col    sigmas_to_fail   DOUBLE   a change is beyond its tolerance with so many: of changes as large as the tolerance, 5 % are called a
--         regression
-- @col    sigmas_to_pass   INTEGER  passing takes fewer: a small change that is missed costs less than a commit that is blamed
-- @col    prior_runs       INTEGER  the assumed variation counts like so many more runs: two or three hardly show how much they vary
-- @col    enough_runs      INTEGER  from so many golden runs on, what they show is not taken for too large
-- @col    median_error     DOUBLE   standard error of a median over that of a mean, of a normal distribution: sqrt(pi / 2)
-- @col    least_part_bytes BIGINT   growth of one component or site by less does not cause an out-of-memory error
-- @col    fewest_steps     INTEGER  with fewer steady iterations a median is meaningless
-- @col    most_ranks       INTEGER  ranks listed that grew while their stage did not
-- @col    warm_up_ratio    DOUBLE   a leading iteration that takes so much longer than the later half of them is warm-up
-- @col    most_warm_up     DOUBLE   at most this part of a launch, beyond its first iteration, is taken for warm-up
-- @col    quartile_range   DOUBLE   of a normal distribution over its standard deviation; scipy: iqr(scale='normal')
-- @col    most_off         INTEGER  steps that differ by more standard deviations count as so many: evaluations, checkpoints
-- @why    One place for them, each with its reason. The tolerance of each kind of figure is in check_rule.
SELECT
  3 AS sigmas,
  1.645::DOUBLE AS sigmas_to_fail,
  2 AS sigmas_to_pass,
  5 AS prior_runs,
  6 AS enough_runs,
  1.2533::DOUBLE AS median_error,
  33554432::BIGINT AS least_part_bytes,
  3 AS fewest_steps,
  8 AS most_ranks,
  1.15::DOUBLE AS warm_up_ratio,
  0.4::DOUBLE AS most_warm_up,
  1.349::DOUBLE AS quartile_range,
  3 AS most_off
