/**
 * Contents of a text other than failures: the rows `parsers/log` and `parsers/config` emit. Units are converted by the
 * format that read them, with that producer's own meaning (Megatron-LM's `MB` is MiB, Megatron Bridge's `GB` is 10^9);
 * value, unit and precision as printed are stored with the bytes.
 */
import type { CONFIG_ORIGINS, ENV_ORIGINS, GAUGE_METRICS, MEMORY_METRICS, PHASES } from './codes.gen.js';
import type { TableRows } from './columns.js';
import type { IncidentKind } from './vocabulary.js';

export { CONFIG_ORIGINS, ENV_ORIGINS, GAUGE_METRICS, MEMORY_METRICS, PHASES } from './codes.gen.js';

/** Mark in front of the metric of a reading that cannot be true (`parsers/log/check-memory.ts`). */
export const DOUBTFUL = 'doubtful.';
/** Metrics of a memory line, in the words of `torch.cuda.memory_stats`. Any other key is kept as printed. */
export type MemoryMetric = (typeof MEMORY_METRICS)[number];
export type Phase = (typeof PHASES)[number];

/**
 * What the times of a file are. `printed`: wall clock of the host without its zone, so that it may be whole quarters of
 * an hour off UTC. `utc`: seconds since 1970, or texts with a zone.
 */
export type ClockName = 'printed' | 'utc';

/**
 * A place in a text and who wrote it. In a binary format the line is the ordinal of the record; where a format has
 * neither (a JSON document), it is 1, and the offset is that of the value if known. A time without a zone is as
 * printed, as if it were UTC: whether the times of a file are UTC is {@link ClockName} of the file.
 */
export interface LogPlace
  extends Pick<TableRows['log_memory'], 'line' | 'attempt' | 'rank' | 'host' | 'device' | 'timeUs' | 'format'>,
    Pick<TableRows['incident'], 'rankOrigin'> {
  /** Byte of that line in the decompressed file. */
  readonly offset: number;
}

/** A global rank and how it is known. */
export type KnownRank = { readonly rank: number; readonly origin: string } | null;

export function rankFields(known: KnownRank): Pick<LogPlace, 'rank' | 'rankOrigin'> {
  return { rank: known?.rank ?? null, rankOrigin: known?.origin ?? null };
}

/** The place of a record of a file that is one launch; what is not known of its writer is null. */
export function plainPlace(known: Pick<LogPlace, 'line' | 'offset' | 'format'> & Partial<LogPlace>): LogPlace {
  return { attempt: 1, rank: null, rankOrigin: null, host: null, device: null, timeUs: null, ...known };
}

/** Fields of a table that a line may lack. */
type Partly<Table extends keyof TableRows, Field extends keyof TableRows[Table]> = {
  readonly [Name in Field]?: NonNullable<TableRows[Table][Name]> | undefined;
};

type IterationFigure = Exclude<
  keyof TableRows['log_iteration'],
  'sourceId' | 'attempt' | 'line' | 'byteOffset' | 'format' | 'timeUs' | 'iteration' | 'targetIterations'
>;
/** One printed training iteration. Averages over the logging interval, as the trainers print them. */
export interface IterationFinding
  extends Pick<TableRows['log_iteration'], 'iteration'>,
    Partly<'log_iteration', IterationFigure> {
  readonly row: 'iteration';
  readonly target: number | null;
  /** Of the line itself, where no prefix carries the time. */
  readonly timeText?: string | undefined;
  /** Every other field of the line, by its printed name; the text counts where the value is null. */
  readonly others?:
    | readonly { readonly name: string; readonly value: number | null; readonly text: string }[]
    | undefined;
}

/** One figure of a memory line; `metric` is one of {@link MEMORY_METRICS}, or the printed key. */
export interface MemoryFinding
  extends Pick<TableRows['log_memory'], 'metric' | 'bytes' | 'value' | 'unit' | 'precisionBytes'>,
    Partly<'log_memory', 'iteration' | 'moment' | 'rank' | 'device'> {
  readonly row: 'memory';
}

/** What a gauge measures: it is polled from outside at an interval. */
export type GaugeMetric = (typeof GAUGE_METRICS)[number];

/** One sample of a gauge. Its time is {@link LogPlace.timeUs}, its host {@link LogPlace.host}. */
export interface GaugeFinding
  extends Pick<TableRows['log_gauge'], 'bytes' | 'value' | 'unit' | 'precisionBytes'>,
    Partly<'log_gauge', 'device' | 'rank' | 'pid' | 'process'> {
  readonly row: 'gauge';
  /** UUID of the device (`GPU-…`), else its PCI bus id. */
  readonly gpuId?: string | undefined;
  readonly metric: GaugeMetric;
}

/**
 * Any other figure or word worth keeping. Names are dotted, the topic first: `step_time.s`,
 * `timer.forward-backward.max_ms`, `theory.total`, `parameters.local`, `bucket.elements`, `graph.allocated`,
 * `mllog.<key>`, `checkpoint.saved`, `straggler.score`, `version.torch`, `gpu.name`. Coordinates of a row of several
 * axes go into the name: `parameters.local[tp=1,pp=3]`.
 */
export interface ValueFinding
  extends Pick<TableRows['log_figure'], 'name' | 'value' | 'unit'>,
    Partly<'log_figure', 'text' | 'iteration' | 'rank' | 'device'> {
  readonly row: 'value';
}

/** A phase begins (or a moment inside it is reported). */
export interface PhaseFinding
  extends Pick<TableRows['log_phase'], 'label'>,
    Partly<'log_phase', 'iteration' | 'rank'>,
    Pick<IterationFinding, 'timeText'> {
  readonly row: 'phase';
  readonly phase: Phase;
}

/** Where a setting was found, strongest first. */
export type ConfigOrigin = (typeof CONFIG_ORIGINS)[number];

/** The key is canonical, see `config-keys.ts`; `rawKey` is such as `--tensor-model-parallel-size`. */
export interface ConfigFinding extends Pick<TableRows['log_config'], 'key' | 'rawKey' | 'value'> {
  readonly row: 'config';
  readonly origin: ConfigOrigin;
}

/** Where a variable was found, strongest first. */
export type EnvOrigin = (typeof ENV_ORIGINS)[number];

/** Only variables that matter to memory, performance or identity of the run are kept (`env-keys.ts`); secrets never. */
export interface EnvFinding extends Pick<TableRows['log_env'], 'key' | 'value'> {
  readonly row: 'env';
  readonly origin: EnvOrigin;
}

/**
 * What prints the banner of a launch, in the order in which they print. A command is what someone typed or pasted: the
 * first one may come after the output that it belongs to.
 */
export const LAUNCH_STAGES = ['command', 'job', 'launcher', 'process'] as const;
export type LaunchStage = (typeof LAUNCH_STAGES)[number];

/**
 * A launch begins here: banners of launchers and the first words of a trainer. Several ranks print them; ingest folds.
 */
export interface LaunchFinding {
  readonly row: 'launch';
  readonly label: string;
  /** Default `process`. `loop`: a training loop, of which one process can start several. */
  readonly stage?: LaunchStage | 'loop' | undefined;
  /** Who prints it, where many print it under one prefix: a rank. */
  readonly writer?: string | undefined;
}

/** A failure that is known by its words alone. Memory failures come from the message grammar, not from here. */
export interface FailureFinding
  extends Pick<TableRows['incident'], 'text'>,
    Partly<'incident', 'exception' | 'rank' | 'localRank' | 'host' | 'pid' | 'exitCode'>,
    Pick<IterationFinding, 'timeText'> {
  readonly row: 'failure';
  readonly kind: IncidentKind;
}

export type LogFinding =
  | IterationFinding
  | MemoryFinding
  | GaugeFinding
  | ValueFinding
  | PhaseFinding
  | ConfigFinding
  | EnvFinding
  | LaunchFinding
  | FailureFinding;

/** What becomes a row of its own; failures become incidents, launches attempts. */
export type KeptFinding = Exclude<LogFinding, FailureFinding | LaunchFinding>;

/** A launch inside a file. */
export type AttemptRow = Omit<TableRows['source_attempt'], 'sourceId'>;
