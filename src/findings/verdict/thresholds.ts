/** Every number that decides between causes, in one place, each with its reason. Shares are parts of 1, sizes bytes. */
import { GIB, MIB } from '../../model/units.js';

// ---- outside PyTorch -----------------------------------------------------------------------------

/**
 * Memory outside PyTorch in an ordinary training process: context, NCCL buffers, cuBLAS and modules take 0.5 to 2 GiB
 * on small devices …
 */
export const ORDINARY_OUTSIDE_BYTES = 2 * GIB;
/** … and up to 4 GiB on those of 80 GB. Below the larger of both, external pressure is ruled out. */
export const ORDINARY_OUTSIDE_SHARE = 0.05;
/**
 * NCCL by itself makes at most 32 channels, on NVLink systems mostly 16 to 24; a minimum this large is paid in full.
 */
export const GREEDY_NCCL_CHANNELS = 16;
/** NCCL's default buffer per channel and direction is 4 MiB; a larger one was set explicitly. */
export const DEFAULT_NCCL_BUFFER_BYTES = 4 * MIB;

// ---- fragmentation or a full device --------------------------------------------------------

/**
 * If so little would be left with every free byte in one piece, the device counts as full: no allocator packs better
 * than 99 %, and the next step uses what the settings gain. The bytes are for small devices.
 */
export const NEARLY_FULL_SHARE = 0.01;
export const NEARLY_FULL_BYTES = 256 * MIB;
/**
 * Where a snapshot shows the device with this much more free than the driver was asked for, the cause is a limit, not a
 * lack of memory. Two of the allocator's 20 MiB units, since expandable segments map whole units at both ends of a
 * request.
 */
export const FREE_BEYOND_REQUEST_BYTES = 40 * MIB;
/**
 * With max_split_size_mb, blocks above it are handed out whole, up to `max_non_split_rounding_mb` larger than
 * requested. No message prints this excess; observed: up to 2.5 % of the live memory. A message alone does not
 * establish capacity for a shortfall below this share.
 */
export const OVERSIZE_SLACK_SHARE = 0.05;

// ---- private pools -------------------------------------------------------------------------------

/**
 * Free memory of private pools this many times that of the default pool is what is missing, even where the rest would
 * barely fit in sum.
 */
export const POOLS_DOMINATE = 2;

// ---- leak ----------------------------------------------------------------------------------------

/** The fewest printed iterations, the first one left out, that make a trend. */
export const FEWEST_SAMPLES = 3;
/** How well a straight line through them must fit. Steps of lazy initialisation fit worse. */
export const LEAST_R2 = 0.8;
/** Growth below this share of what is allocated is noise: logs round to five digits, and buffers come and go. */
export const NOISE_SHARE = 0.002;
export const NOISE_BYTES = 8 * MIB;
/** The later half of a steady growth brings half of it; of a warm-up that levels off, hardly any. */
export const LEAST_LATE_SHARE = 0.25;
/** A site that keeps a block of each step does so in nearly every step: part of the whole steps a trace shows. */
export const KEEPING_STEPS_SHARE = 0.75;
/**
 * … and about as much each time: the largest step over the median. Varying sequence lengths make a factor of 2 to 3; a
 * buffer that is allocated late is one burst.
 */
export const LARGEST_KEPT_FACTOR = 4;
/** Whole steps in which a site must have kept something, where the trace shows so many. */
export const FEWEST_KEEPING_STEPS = 2;
/**
 * With only one whole step in the ring: the site's blocks from before it hold at least so many times what it kept in
 * that one.
 */
export const KEPT_BEFORE_FACTOR = 2;
/** Sites that keep less than this share of what the process could have, together, fill no device. */
export const LEAST_KEPT_SHARE = 0.01;
/** A site with fewer live blocks has kept nothing of step after step. */
export const FEWEST_REPEATED_BLOCKS = 3;
/** Whole steps from which on a trace is sure of a leak. */
export const SURE_STEPS = 3;

/** Two printed iterations predict the failing one: they must be off by no more iterations … */
export const FORETOLD_WITHIN_STEPS = 1;
/** … and the failing one must be so many after the second, or nearly any growth would predict it. */
export const FEWEST_FORETOLD_STEPS = 3;

// ---- capacity's details --------------------------------------------------------------------------

/** Without the short-lived part at most this share of the device is in use: else it was full without it. */
export const STEADY_SHARE = 0.9;
/**
 * Completed steps that give the steady level: the optimizer's states are allocated in the first, and only the second
 * runs with them live.
 */
export const STEADY_STEPS = 2;
/** One tensor of this share of all the process could have is a spike of its own, whatever it is for. */
export const LARGE_REQUEST_SHARE = 0.25;
/**
 * Other pipeline stages count as having far more free memory if none holds more than this share of the failing one's.
 * The printed iterations are early, often of shorter sequences, in which weights and optimizer states make the stages
 * look more alike than at the failure.
 */
export const OTHER_STAGE_SHARE = 0.9;
/** Second copies: at least this share of what checkpointing holds is as large as something that is live already. */
export const COPIED_SHARE = 0.5;
/** If a checkpoint's copies have this share of all the process could have, a fit while they are made proves little. */
export const CHECKPOINT_IN_THE_MAKING_SHARE = 0.1;

// ---- rules of thumb ------------------------------------------------------------------------------

/**
 * Ranks whose reserves differ by less are alike: caches of equal ranks differ by a few percent, stages of a pipeline by
 * more.
 */
export const ALIKE_RANKS_SHARE = 1.05;
