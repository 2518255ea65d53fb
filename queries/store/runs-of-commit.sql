-- @name   store.runs_of_commit
-- @title  Runs whose logs print a commit
-- @param  commit VARCHAR   the beginning of its hash, in lower case
-- @col    run_id INTEGER
-- @why    --commit is optional at ingest; a launcher's banner often contains the commit. Hashes of seven digits match full ones.
SELECT DISTINCT source.run_id
FROM log_figure AS log
JOIN text_value AS name ON name.text_id = log.name_id
JOIN text_value AS words ON words.text_id = log.text_id
JOIN source USING (source_id)
WHERE (starts_with(name.text, 'commit.') OR starts_with(name.text, 'git.'))
  AND length(words.text) >= 7 AND (starts_with(lower(words.text), $commit) OR starts_with($commit, lower(words.text)))
ORDER BY source.run_id
