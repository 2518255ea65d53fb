-- @name   library.metrics_sources
-- @kind   view
-- @title  Files of metrics: event files, W&B runs, exported scalars
-- @col    source_id INTEGER
-- @why    A log may contain the same iterations: a query that counts iterations must distinguish the two. The formats are METRICS_FORMATS
--         of the vocabulary.
SELECT source_id FROM source WHERE format IN ('tensorboard', 'wandb', 'scalars')
