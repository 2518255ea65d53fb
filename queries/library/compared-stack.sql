-- @name   library.compared_stack
-- @kind   macro
-- @title  Live memory of two runs at their peaks, by stack, component and size of the blocks, with the site it is compared as
-- @param  left_run  VARCHAR  name of a run, handle of a snapshot, or a side in side_stack
-- @param  right_run VARCHAR
-- @col    is_right   BOOLEAN
-- @col    stack_id   INTEGER?
-- @col    kind       VARCHAR  see live_stacks_at
-- @col    component  VARCHAR
-- @col    size_bytes BIGINT   of one block
-- @col    bytes      BIGINT
-- @col    blocks     BIGINT
-- @col    site       VARCHAR  as its side names it
-- @col    match_no   INTEGER? of site_match
-- @col    match      VARCHAR? of site_match
-- @col    through    VARCHAR? of site_match
-- @col    site_key   VARCHAR  rows of one site have one key: that of site_match, else the name
-- @why    Every difference of memory is a sum over these rows, so all of them add up to the same. diff_pair chooses the snapshots.
WITH pair AS (SELECT * FROM diff_pair(left_run, right_run) AS chosen WHERE chosen.place = 1),
held AS (
  SELECT false AS is_right, stack_id, kind, site, component, size_bytes, bytes, blocks FROM side_stack WHERE side = left_run
  UNION ALL
  SELECT true, stack_id, kind, site, component, size_bytes, bytes, blocks FROM side_stack WHERE side = right_run
  UNION ALL
  SELECT false, stack_id, kind, site, component, size_bytes, bytes, blocks
  FROM live_stacks_at((SELECT left_snapshot_id FROM pair), (SELECT left_device FROM pair), (SELECT left_seq FROM pair)) AS live
  UNION ALL
  SELECT true, stack_id, kind, site, component, size_bytes, bytes, blocks
  FROM live_stacks_at((SELECT right_snapshot_id FROM pair), (SELECT right_device FROM pair), (SELECT right_seq FROM pair)) AS live),
known AS (SELECT * FROM site_match WHERE left_side = left_run AND right_side = right_run)
SELECT
  held.is_right, held.stack_id, held.kind, held.component, held.size_bytes, held.bytes, held.blocks,
  coalesce(known.site, held.site) AS site, known.match_no, known.match, known.through,
  coalesce(known.match_no::VARCHAR, 'site ' || held.site) AS site_key
FROM held
LEFT JOIN known ON known.is_right = held.is_right AND known.stack_id IS NOT DISTINCT FROM held.stack_id AND known.kind = held.kind
