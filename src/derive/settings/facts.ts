/**
 * The input of rules and advice: the settings in force, the environment, versions and the device, each with its place.
 * A setting that is not set has the framework's default (`defaults.ts`); without a default it is unknown, and so is
 * what depends on it.
 */
import type { ConfigEntry, VersionName } from '../../model/results/log.js';

export const FRAMEWORKS = ['megatron-lm', 'megatron-bridge', 'nemo'] as const;
export type Framework = (typeof FRAMEWORKS)[number];

/**
 * A value that a file, log or command line sets, with its place. It is as configurations are written out by Python:
 * `True`, `8`, `["core_attn"]`; null: None, or explicitly unset. `line` is 1-based; 0 where it has none.
 */
export type ExplicitValue = Omit<ConfigEntry, 'key' | 'attempt' | 'memory'>;

export interface Device {
  /** As printed, or as asked for: `h100-80gb`. */
  readonly name: string | null;
  /** CUDA compute capability, e.g. 9; null if the name does not determine it. */
  readonly capability: number | null;
  readonly total_bytes: number | null;
}

/**
 * An iteration that a run printed with settings: what its release asserts when it starts, or in its first step, held.
 * `files`: those whose settings it had.
 */
export interface Trained {
  readonly iteration: number;
  readonly file: string;
  /** 1-based. */
  readonly line: number;
  readonly files: ReadonlySet<string>;
}

/** What was read, before anything is concluded from it. */
export interface RawFacts {
  /** By canonical key (`src/knowledge/config-keys.ts`). */
  readonly settings: ReadonlyMap<string, ExplicitValue>;
  readonly env: ReadonlyMap<string, ExplicitValue>;
  /**
   * `whole`: a process's environment was captured, so what is missing was not set. `partial`: a script or configuration
   * sets some, so what is missing is assumed not to be set. `none`: no more is known than the variables given.
   */
  readonly env_known: 'whole' | 'partial' | 'none';
  readonly versions: Readonly<Partial<Record<VersionName, string | null>>>;
  readonly framework: { readonly name: Framework | null; readonly version: string | null };
  readonly device: Device;
  /** Missing: no iteration is known that was trained with these settings. */
  readonly trained?: Trained;
}

/** One fact that a rule looked at. */
export interface Looked {
  /** Canonical key of a setting, the name of a variable, `torch`, `device`. */
  readonly key: string;
  readonly kind: 'setting' | 'env' | 'version' | 'device' | 'framework';
  /** `default`: not set, the framework's default. `assumed`: a variable that nothing sets. `unknown`: none of these. */
  readonly by: 'told' | 'default' | 'assumed' | 'unknown';
  readonly value: string | null;
  readonly explicit: ExplicitValue | null;
  /** Of a default: where it is defined upstream. */
  readonly source: string | null;
}

/** A configuration as conditions look at it: every answer is explicit, a default, or unknown. `View` implements it. */
export interface FactsView {
  readonly facts: RawFacts;
  setting(key: string): Looked;
  env(key: string): Looked;
  version(key: VersionName): Looked;
  device(): Looked;
  framework(): Looked;
}
