-- @name   _run.run_threshold
-- @title  Numbers that decide in queries about a run: its memory lines, ranks, steps and samples
-- @col    fewest_samples   INTEGER  with fewer iterations after the first one, a slope is meaningless
-- @col    least_r2         DOUBLE   growth that is reported is a straight line; as least_r2 of the view cause_threshold
-- @col    least_slope      DOUBLE   share of what is held, in an iteration: less than a hundredth of it in a thousand is not reported
-- @col    inactive_share   DOUBLE   of the reserve: unusable remainders of split blocks that are reported
-- @col    reserved_factor  DOUBLE   a reserve of more times the most allocated is far above what was ever allocated …
-- @col    reserved_bytes_above BIGINT … by so much at least
-- @col    imbalance_factor DOUBLE   a rank above so many times the median holds more than the others
-- @col    least_rises      INTEGER  a largest value that rose less often rose by chance
-- @col    least_grown      DOUBLE   share of the figure: rises that together are less are not reported
-- @col    alone_factor     INTEGER  only the failed rank is fragmented: it wastes this many times what any other rank does …
-- @col    alone_share      DOUBLE   … and this much of what it reserves, or the ranks differ by rounding
-- @col    straggler_factor DOUBLE   slowest and fastest rank of a job that is in step differ by a few per cent
-- @col    clock_share      DOUBLE   of the fastest rank's clock: a rank below it is throttled
-- @col    low_score        DOUBLE   NVRx takes a rank below it for a straggler: nvidia_resiliency_ext straggler/reporting.py
-- @col    uneven_share     DOUBLE   of the median step: steps of one run that vary by more were disturbed
-- @col    fewest_points    INTEGER  moments in time: a line through two of them always fits exactly
-- @col    least_reach_us   BIGINT   printed clocks have whole seconds: a sample of the same second counts, whatever the interval
-- @col    lone_reach_us    BIGINT   the largest time difference of a single sample, which does not have an interval
-- @col    most_reach_us    BIGINT   a sample with a larger difference does not describe a moment, even if samples are rare
-- @why    One place for them, each with its reason. Those without a source are chosen by this program.
SELECT
  3 AS fewest_samples,
  0.8::DOUBLE AS least_r2,
  0.00001::DOUBLE AS least_slope,
  0.1::DOUBLE AS inactive_share,
  1.25::DOUBLE AS reserved_factor,
  1073741824::BIGINT AS reserved_bytes_above,
  1.25::DOUBLE AS imbalance_factor,
  3 AS least_rises,
  0.001::DOUBLE AS least_grown,
  2 AS alone_factor,
  0.02::DOUBLE AS alone_share,
  1.08::DOUBLE AS straggler_factor,
  0.9::DOUBLE AS clock_share,
  0.7::DOUBLE AS low_score,
  0.1::DOUBLE AS uneven_share,
  3 AS fewest_points,
  1500000::BIGINT AS least_reach_us,
  30000000::BIGINT AS lone_reach_us,
  300000000::BIGINT AS most_reach_us
