-- @name   diff.memory
-- @title  Live memory of two sides: components, changed call sites with the sizes of their blocks, and the sum of the other sites
-- @param  left_side  VARCHAR
-- @param  right_side VARCHAR
-- @param  min_bytes  BIGINT  sites with a smaller change are left out
-- @param  most_sites BIGINT? at most so many
-- @param  most_sizes BIGINT  of each site
-- @param  components VARCHAR in the order of equal changes, separated by commas
-- @of     compared_memory: part component site match through size_bytes match_no
-- @col    a_site      VARCHAR?
-- @col    b_site      VARCHAR?
-- @col    a_bytes     BIGINT
-- @col    b_bytes     BIGINT
-- @col    delta_bytes BIGINT
-- @col    a_count     BIGINT   blocks
-- @col    b_count     BIGINT
-- @col    delta_count BIGINT
-- @col    sites       BIGINT?  of left_out: how many
-- @col    changed     BIGINT?  of these, sites whose bytes differ
-- @col    grown_bytes BIGINT?  sums of the changes above, and below, zero
-- @col    shrunk_bytes BIGINT?
-- @why    Sites of which only lines or names changed are in left_out. With it a list of sites adds up to the difference of the device.
WITH compared AS (
  SELECT part, component, site, left_site AS a_site, right_site AS b_site,
    CASE match WHEN 'only_left' THEN 'only_a' WHEN 'only_right' THEN 'only_b' ELSE match END AS match, through, size_bytes,
    left_bytes AS a_bytes, right_bytes AS b_bytes, difference_bytes AS delta_bytes, left_blocks AS a_count, right_blocks AS b_count,
    difference_blocks AS delta_count, match_no
  FROM compared_memory($left_side, $right_side) AS sums),
place AS (
  SELECT match_no, row_number() OVER (ORDER BY abs(delta_bytes) DESC, greatest(a_bytes, b_bytes) DESC, match_no) AS place
  FROM compared
  WHERE part = 'site' AND (delta_bytes <> 0 OR delta_count <> 0) AND abs(delta_bytes) >= $min_bytes
  QUALIFY $most_sites IS NULL OR place <= $most_sites),
held AS (
  SELECT * FROM compared WHERE part = 'component'
  UNION ALL BY NAME SELECT compared.* FROM compared JOIN place ON place.match_no = compared.match_no WHERE part = 'site'
  UNION ALL BY NAME
  SELECT compared.* FROM compared JOIN place ON place.match_no = compared.match_no
  WHERE part = 'size' AND delta_count <> 0
  QUALIFY row_number() OVER (PARTITION BY compared.match_no ORDER BY abs(delta_bytes) DESC, size_bytes DESC) <= $most_sizes
  UNION ALL BY NAME
  SELECT 'left_out' AS part, coalesce(sum(a_bytes), 0)::BIGINT AS a_bytes, coalesce(sum(b_bytes), 0)::BIGINT AS b_bytes,
    coalesce(sum(delta_bytes), 0)::BIGINT AS delta_bytes, coalesce(sum(a_count), 0)::BIGINT AS a_count,
    coalesce(sum(b_count), 0)::BIGINT AS b_count, coalesce(sum(delta_count), 0)::BIGINT AS delta_count, count(*) AS sites,
    count(*) FILTER (delta_bytes <> 0) AS changed, coalesce(sum(greatest(delta_bytes, 0)), 0)::BIGINT AS grown_bytes,
    coalesce(sum(least(delta_bytes, 0)), 0)::BIGINT AS shrunk_bytes
  FROM compared
  WHERE part = 'site' AND match_no NOT IN (SELECT place.match_no FROM place))
SELECT part, component, site, a_site, b_site, match, through, size_bytes, a_bytes, b_bytes, delta_bytes, a_count, b_count, delta_count,
  match_no, sites, changed, grown_bytes, shrunk_bytes
FROM held
ORDER BY part, abs(delta_bytes) DESC,
  CASE part WHEN 'component' THEN b_bytes WHEN 'site' THEN greatest(a_bytes, b_bytes) ELSE size_bytes END DESC,
  CASE part WHEN 'component' THEN a_bytes END DESC,
  list_position(string_split($components, ','), component), match_no
