-- @name   library.check_rule
-- @kind   view
-- @title  When a change of a figure counts
-- @col    rule      VARCHAR  memory, time, loss or retries
-- @col    tolerance DECIMAL(4,3)  least relative change that counts
-- @col    assumed   DECIMAL(5,4)? relative standard deviation between runs, where few golden runs show little
-- @why    The allocator repeats itself: identical runs differ in memory by rounding and by what depends on data, such as routing. A run
--         close to the device's memory differs by some retries; from none to one is a change.
SELECT rule, tolerance, assumed
FROM (VALUES ('memory', 0.020, 0.0005), ('time', 0.030, 0.0040), ('loss', 0.050, NULL),
  ('retries', 0.100, 0.1000)) AS known(rule, tolerance, assumed)
