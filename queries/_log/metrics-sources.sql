-- @name   _log.metrics_sources
-- @title  Files of metrics: event files, W&B runs, exported scalars
-- @col    source_id INTEGER
-- @why    What they tell of an iteration, a log may tell too: whoever counts iterations must know which is which. The formats are METRICS_FORMATS of the vocabulary.
SELECT source_id FROM source WHERE format IN ('tensorboard', 'wandb', 'scalars')
