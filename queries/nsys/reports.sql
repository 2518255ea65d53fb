-- @name   nsys.reports
-- @title  Nsight Systems exports of a run, and what each of them holds
-- @param  run_id INTEGER
-- @of     nsys_report: source_id form product_version schema_version clock_origin duration_ns host memory_events_collected graph_trace
--         is_partial has_all_tables
-- @col    display_path    VARCHAR
-- @col    rank            INTEGER?
-- @col    rank_origin     VARCHAR?
-- @col    clock_offset_us BIGINT?  UTC of the start of the collection, µs since 1970
-- @needs  nsys_report
-- @why    What a report cannot show depends on how it was captured: that is asked first.
SELECT
  source.source_id, source.display_path, source.rank, source.rank_origin, report.form, report.product_version, report.schema_version,
  CASE WHEN report.clock_offset_ns IS NOT NULL THEN report.clock_offset_ns // 1000 END AS clock_offset_us, report.clock_origin,
    report.duration_ns, report.host, report.memory_events_collected,
  report.graph_trace, report.is_partial, report.has_all_tables
FROM nsys_report AS report JOIN source USING (source_id)
WHERE source.run_id = $run_id
ORDER BY source.display_path
