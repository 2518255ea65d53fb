-- @name   timeline.annotations
-- @title  Starts and ends of annotated ranges, and the last entry of a device before each
-- @param  snapshot_id INTEGER
-- @param  device INTEGER   whose entries
-- @param  steps BOOLEAN    only those of training steps
-- @param  contains VARCHAR? only names with this in them, in whatever case
-- @col    ordinal  INTEGER
-- @col    stage    VARCHAR  START or END
-- @col    name     VARCHAR
-- @col    device   INTEGER? current device of the thread; wrong for helper threads
-- @col    time_us  BIGINT
-- @col    last_seq INTEGER? last entry at or before that time; NULL where all are later
-- @why    Annotations have a ring buffer of their own and know no entries: time is the only link. Chunks of 256 entries find the place of
--         each without sorting the trace: the last chunk that holds an entry so early holds the last such entry, whether or not times go
--         back now and then.
WITH
  selected_annotations AS (
    SELECT annotation.ordinal, annotation.stage::VARCHAR AS stage, text_value.text AS name, annotation.device, annotation.time_us
    FROM annotation
    JOIN text_value ON text_value.text_id = annotation.name_id
    WHERE annotation.snapshot_id = $snapshot_id AND annotation.stage IN ('START', 'END') AND annotation.time_us IS NOT NULL
      AND (NOT $steps OR regexp_matches(text_value.text, '^(ProfilerStep#[0-9]+$|Optimizer[.]step#)'))
      AND ($contains IS NULL OR contains(lower(text_value.text), lower($contains)))),
  chunk AS (
    SELECT seq // 256 AS chunk, min(time_us) AS earliest
    FROM event
    WHERE snapshot_id = $snapshot_id AND device = $device AND EXISTS (FROM selected_annotations)
    GROUP BY chunk
    HAVING earliest IS NOT NULL),
  falling AS (SELECT chunk, min(earliest) OVER (ORDER BY chunk ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS earliest FROM chunk),
  step AS (SELECT earliest, max(chunk) AS chunk FROM falling GROUP BY earliest),
  annotation_chunks AS (SELECT selected_annotations.ordinal, selected_annotations.time_us, step.chunk FROM selected_annotations
    ASOF JOIN step ON selected_annotations.time_us >= step.earliest),
  near AS (
    SELECT seq, seq // 256 AS chunk, time_us
    FROM event
    WHERE snapshot_id = $snapshot_id AND device = $device AND seq // 256 IN (SELECT chunk FROM annotation_chunks)),
  last_entries AS (
    SELECT annotation_chunks.ordinal, max(near.seq) AS last_seq
    FROM annotation_chunks
    JOIN near ON near.chunk = annotation_chunks.chunk AND near.time_us <= annotation_chunks.time_us
    GROUP BY annotation_chunks.ordinal)
SELECT selected_annotations.ordinal, selected_annotations.stage, selected_annotations.name, selected_annotations.device,
  selected_annotations.time_us, last_entries.last_seq
FROM selected_annotations
LEFT JOIN last_entries USING (ordinal)
ORDER BY selected_annotations.time_us, selected_annotations.ordinal
