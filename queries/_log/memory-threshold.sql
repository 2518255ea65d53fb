-- @name   _log.memory_threshold
-- @title  Numbers that decide what in memory lines is reported
-- @col    fewest_samples   INTEGER  with fewer iterations after the first one, a slope is meaningless
-- @col    least_r2         DOUBLE   growth that is reported is a straight line; as least_r2 of the view cause_threshold
-- @col    least_slope      DOUBLE   share of what is held, in an iteration: less than a hundredth of it in a thousand is not reported
-- @col    inactive_share   DOUBLE   of the reserve: unusable remainders of split blocks that are reported
-- @col    reserved_factor  DOUBLE   a reserve of more times the most allocated is far above what was ever allocated …
-- @col    reserved_bytes   BIGINT   … by so much at least
-- @col    imbalance_factor DOUBLE   a rank above so many times the median holds more than the others
-- @col    least_rises      INTEGER  a largest value that rose less often rose by chance
-- @col    least_grown      DOUBLE   share of the figure: rises that together are less are not reported
-- @why    One place for them, each with its reason. All are chosen by this program.
SELECT
  3 AS fewest_samples,
  0.8::DOUBLE AS least_r2,
  0.00001::DOUBLE AS least_slope,
  0.1::DOUBLE AS inactive_share,
  1.25::DOUBLE AS reserved_factor,
  1073741824::BIGINT AS reserved_bytes,
  1.25::DOUBLE AS imbalance_factor,
  3 AS least_rises,
  0.001::DOUBLE AS least_grown
