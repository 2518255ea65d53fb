/** What `mbforensics estimate residual` answers: measured minus estimated, component by component. */
import type { Phase } from '../log-rows.js';
import type { Component } from '../vocabulary.js';
import type { DeviceAt } from './at.js';
import type { TextPlace } from './log.js';

export interface ResidualResult {
  readonly schema: 'mbforensics/residual@1';
  readonly run: string;
  /** Null where there is an estimate; else the data the run lacks, or why its configuration is refused. */
  readonly no_estimate: string | null;
  /** From snapshots, one a device; the most surprising first. */
  readonly devices: readonly DeviceResidual[];
  /** Devices without the requested moment, or without a known stage. */
  readonly left_out: readonly { readonly path: string; readonly device: number; readonly reason: string }[];
  /** From memory lines of logs, one a rank: totals only. */
  readonly lines: readonly LineResidual[];
  readonly assumptions: readonly string[];
  readonly not_modelled: readonly string[];
}

export interface DeviceResidual extends Pick<DeviceAt, 'path' | 'rank' | 'device' | 'moment' | 'seq'> {
  readonly handle: string;
  readonly stage: number | null;
  /** What the training was doing then. */
  readonly phase: Phase;
  /** The moment of the estimate it is compared with. */
  readonly estimate_moment: string;
  /** True before the first step of the optimizer: moments do not exist yet, and are left out of the estimate. */
  readonly before_first_step: boolean;
  readonly measured_bytes: number;
  readonly estimated_bytes: number;
  /** By descending surprise, then by descending residual. */
  readonly components: readonly ComponentResidual[];
  /** Measured bytes of unknown component. */
  readonly unknown_bytes: number;
}

/** Of PyTorch's allocator alone: what the estimate puts outside of it is left out. */
interface Residual {
  readonly measured_bytes: number;
  readonly estimated_bytes: number;
  readonly low_bytes: number;
  readonly high_bytes: number;
  /** Measured − estimated. */
  readonly residual_bytes: number;
  /** The distance of the measured bytes from the bounds; negative below them. */
  readonly surprise_bytes: number;
  /** The interpretation of the figures; null where they allow none. */
  readonly reading: string | null;
}

export interface ComponentResidual extends Residual {
  readonly component: Component;
}

export interface LineResidual extends Residual, TextPlace {
  readonly rank: number | null;
  readonly stage: number | null;
  readonly metric: 'max_allocated' | 'allocated';
}
