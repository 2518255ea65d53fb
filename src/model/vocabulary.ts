/** The closed lists of words. Longer ones are made of `src/knowledge/vocabulary.yaml`, which describes the words. */
import type { CAUSE_DETAILS, CAUSES, COMPONENTS } from './codes.gen.js';
import { KIND_IS_OOM } from './codes.gen.js';
import type { ENUMS } from './columns.js';

export { CAUSE_DETAILS, CAUSES, COMPONENTS, STACKING_ORDER } from './codes.gen.js';

/** Why a run failed. `not_oom` and `undecided` are causes too. */
export type Cause = (typeof CAUSES)[number];
/** A refinement of a cause; each belongs to exactly one. */
export type CauseDetail = keyof typeof CAUSE_DETAILS;

/**
 * Whether a step like the last whole one fits. `close`: nearer to the limit than the projection is sure; `unlike`: the
 * failing step asks for other memory.
 */
export type WholeStepOutcome = 'fits' | 'close' | 'beyond' | 'unlike';

/** How sure. `proven` only if every byte is accounted for or the allocator was replayed. */
export const CONFIDENCES = ['proven', 'high', 'medium', 'low'] as const;
export type Confidence = (typeof CONFIDENCES)[number];

/** Kinds of failure lines. */
export type IncidentKind = keyof typeof KIND_IS_OOM;
export const INCIDENT_KINDS = Object.keys(KIND_IS_OOM) as readonly IncidentKind[];

/** Whether a failure of this kind is a memory failure. Follows from the kind alone, never from the text again. */
export const isOomKind = (kind: IncidentKind): boolean => KIND_IS_OOM[kind];

/** What bytes are for. */
export type Component = (typeof COMPONENTS)[number];

export type TraceAction = (typeof ENUMS)['trace_action'][number];
export type BlockState = (typeof ENUMS)['block_state'][number];

/**
 * Why a memory snapshot was dumped: by an OOM observer, by the handler of another failure, as one of a series, or once
 * by a call somewhere in the run.
 */
export type DumpTrigger = 'oom' | 'failure' | 'periodic' | 'manual';

/** What became of one file. */
export type SourceStatus = 'ingested' | 'unchanged' | 'failed' | 'skipped';

export type ProfilerCategory = (typeof ENUMS)['profiler_category'][number];

/** Input formats this version knows; the ids of the parsers, and of what is recognised but not read. */
export const FORMATS = [
  'torch-snapshot',
  'profiler-timeline',
  'nsys',
  'tensorboard',
  'wandb',
  'scalars',
  'device-monitor',
  'slurm-accounting',
  'kubernetes-events',
  'log',
  'config',
] as const;
export type Format = (typeof FORMATS)[number];
/**
 * Records of a program about its own training, in addition to its log; they repeat the iterations of the log. The same
 * as in `queries/_log/metrics-sources.sql`.
 */
export const METRICS_FORMATS = ['tensorboard', 'wandb', 'scalars'] as const satisfies readonly Format[];
