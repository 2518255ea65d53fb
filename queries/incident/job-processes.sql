-- @name   incident.job_processes
-- @title  Other processes that the OOM messages of a run list and that its logs name
-- @param  run_id INTEGER
-- @of     job_process: message_path message_line pid bytes name display_path line
-- @why    They are not to be ended.
SELECT message_path, message_line, pid, bytes, name, display_path, line
FROM job_process
WHERE run_id = $run_id
ORDER BY incident_id, bytes DESC, pid
