-- @name   library.cause_threshold
-- @kind   view
-- @title  Every number that decides between causes: one row; shares are parts of 1
-- @col    nearly_full_share     DOUBLE  of the device: with so little left, no arrangement lasts (no allocator packs better than 99 %)
-- @col    free_beyond_request_bytes BIGINT  more free than this beyond the request: a limit refused, not the device. Two units of 20 MiB
-- @col    oversize_slack_share  DOUBLE  of live memory: blocks handed out whole under max_split_size_mb; observed up to 2.5 %
-- @col    checkpoint_share      DOUBLE  of what the process could have: with copies this large a fit in mid-checkpoint proves little
-- @col    fewest_samples        INTEGER printed iterations, the first left out, that make a trend
-- @col    least_r2              DOUBLE  of a straight line through them; steps of lazy initialisation fit worse
-- @col    sure_samples          INTEGER so many of them, and …
-- @col    sure_r2               DOUBLE  … so straight a line make it sure
-- @col    noise_bytes           BIGINT  growth below this is noise
-- @col    noise_share           DOUBLE  … or below this part of what is allocated: logs round to five digits, buffers come and go
-- @col    least_late_share      DOUBLE  the later half of a steady growth brings half of it, of a warm-up hardly any
-- @col    fewest_keeping_steps  INTEGER whole steps in which a site kept something, where the trace shows so many
-- @col    keeping_steps_share   DOUBLE  a site that keeps a block of each step does so in nearly every whole step
-- @col    largest_kept_factor   DOUBLE  … and about as much each time: the largest step over the median. Varying sequence lengths make 2
--         to 3; a buffer that is allocated late is one burst
-- @col    kept_before_factor    DOUBLE  with one whole step in the ring: what the site has from before it over what it kept in that one
-- @col    fewest_repeated_blocks INTEGER a site with fewer live blocks has kept nothing of step after step
-- @col    least_kept_share      DOUBLE  of what the process could have: sites that keep less together fill no device
-- @col    sure_steps            INTEGER whole steps from which on a trace is sure of a leak
-- @col    foretold_within_steps INTEGER a growth of two printed iterations must fill the device within so many of the failing one
-- @col    fewest_foretold_steps INTEGER … which must come so many after the second, or nearly any growth would predict it
-- @col    steady_share          DOUBLE  without the short-lived part at most this share is in use: else it was full without it
-- @col    steady_steps          INTEGER the optimizer's states are allocated in the first step, and only the second runs with them live
-- @col    copied_share          DOUBLE  of what checkpointing holds: so much of it as large as something live are second copies
-- @col    large_request_share   DOUBLE  one tensor of this share of what the process could have is a spike, whatever it is for
-- @col    other_stage_share     DOUBLE  the other pipeline stages hold at most this part of the failing one; they print early iterations
-- @col    alike_ranks_share     DOUBLE  ranks whose reserves differ by less are alike; stages of a pipeline differ by more
-- @col    alike_step_share      DOUBLE  two steps are alike if both ask for this part of the bytes asked for: first uses differ
-- @col    projection_share      DOUBLE  how sure the projected peak of a step is: recordings of real training are within 0.7 %
-- @why    One place for them, each with its reason. Those of queries about a run: queries/_run; of TypeScript: src/knowledge/thresholds.
SELECT
  0.02::DOUBLE AS nearly_full_share,
  41943040::BIGINT AS free_beyond_request_bytes,
  0.05::DOUBLE AS oversize_slack_share,
  0.1::DOUBLE AS checkpoint_share,
  3 AS fewest_samples,
  0.8::DOUBLE AS least_r2,
  6 AS sure_samples,
  0.95::DOUBLE AS sure_r2,
  8388608::BIGINT AS noise_bytes,
  0.002::DOUBLE AS noise_share,
  0.25::DOUBLE AS least_late_share,
  2 AS fewest_keeping_steps,
  0.75::DOUBLE AS keeping_steps_share,
  4.0::DOUBLE AS largest_kept_factor,
  2.0::DOUBLE AS kept_before_factor,
  3 AS fewest_repeated_blocks,
  0.01::DOUBLE AS least_kept_share,
  3 AS sure_steps,
  1 AS foretold_within_steps,
  3 AS fewest_foretold_steps,
  0.9::DOUBLE AS steady_share,
  2 AS steady_steps,
  0.5::DOUBLE AS copied_share,
  0.25::DOUBLE AS large_request_share,
  0.9::DOUBLE AS other_stage_share,
  1.05::DOUBLE AS alike_ranks_share,
  0.95::DOUBLE AS alike_step_share,
  0.01::DOUBLE AS projection_share
