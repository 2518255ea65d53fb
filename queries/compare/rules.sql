-- @name   compare.rules
-- @title  When a change of a figure counts, and how much figures vary between runs of the same thing
-- @col    rule      VARCHAR  memory, time, loss or retries
-- @col    tolerance DOUBLE   least relative change that counts
-- @col    assumed   DOUBLE?  relative standard deviation between runs
-- @col    sigmas    INTEGER  of a half-width of noise, in standard deviations
-- @why    verify-fix puts noise on figures without judging them.
SELECT rule, tolerance::DOUBLE AS tolerance, assumed::DOUBLE AS assumed, sigmas
FROM check_rule CROSS JOIN check_threshold
ORDER BY rule
