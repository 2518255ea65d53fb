ALTER TABLE run RENAME TO run_gone; CREATE VIEW run AS SELECT * FROM enable_logging(storage := 'file', storage_path := 'mbf-fuzz-canary')
