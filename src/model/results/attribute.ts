/** What `mbforensics attribute` answers: whose every byte is that was live at a moment. */
import type { Phase } from '../log-rows.js';
import type { Component, Confidence } from '../vocabulary.js';
import type { DeviceAt } from './at.js';
import type { LifetimeBasis } from './peak.js';
import type { RowOf } from './row-of.js';

export interface AttributeResult {
  readonly schema: 'mbforensics/attribute@1';
  /** As asked for: `peak`, `oom`, `end`, `seq:N`, … */
  readonly moment: string;
  /** Of the built-in rules. */
  readonly rules_version: number;
  /** File of rules tried before them; null without one. */
  readonly rules_file: string | null;
  readonly devices: readonly AttributedDevice[];
  /** Devices without the requested moment. */
  readonly left_out: readonly { readonly path: string; readonly device: number; readonly reason: string }[];
  /** Only with `--annotate`. */
  readonly annotated?: AnnotatedSource;
}

/**
 * `rule`: a rule matched the stack. `inference`: from sizes, order, lifetimes and pools, where the stack is not enough.
 * `none`: unknown.
 */
export type LabelBasis = 'rule' | 'inference' | 'none';

export interface AttributedDevice
  extends Pick<DeviceAt, 'path' | 'rank' | 'device' | 'seq' | 'basis' | 'reserved_bytes'> {
  readonly handle: string;
  /** Pipeline stage of the rank; null where unknown. */
  readonly stage: number | null;
  /** Actual bytes of all live blocks (allocated and pending free): the sum of the components. */
  readonly total_bytes: number;
  readonly blocks: number;
  /** In descending order of bytes. */
  readonly components: readonly ComponentBytes[];
  readonly lifetime: LifetimeBasis;
  /** Of the device, then of its largest components. */
  readonly accumulation: readonly AccumulationPoint[];
  /** Only with `--by`. In descending order of bytes; adds up to `total_bytes`, or to the component asked for. */
  readonly groups?: readonly ComponentGroup[];
  readonly other_groups?: { readonly groups: number; readonly bytes: number; readonly blocks: number };
}

/** Live blocks of one kind. */
export interface ComponentBytes
  extends Pick<RowOf<'attribution.components'>, 'sub_component' | 'bytes' | 'requested_bytes' | 'blocks'>,
    Pick<RowOf<'attribution.components'>, 'resident_bytes'> {
  readonly component: Component;
  /** In which they were allocated. */
  readonly phase: Phase;
  readonly by: LabelBasis;
  readonly confidence: Confidence;
  /** Rules and inferences; several only where an inference refined a rule. */
  readonly rules: readonly string[];
}

/** The deepest frame that still covers a share of the bytes: where a reader should begin. */
export interface AccumulationPoint {
  /** Null: of the whole device. */
  readonly component: Component | null;
  /** `function file:line`; null where no frame covers so much. */
  readonly frame: string | null;
  /** Frames outside of it that cover as much, outermost last. */
  readonly callers: readonly string[];
  readonly bytes: number;
  readonly share: number;
}

/** Keys for a breakdown of the live set, other than the component. */
export const ATTRIBUTE_KEYS = ['sub', 'phase', 'module', 'site', 'layer', 'rule'] as const;
export type AttributeKey = (typeof ATTRIBUTE_KEYS)[number];

export interface ComponentGroup extends Pick<ComponentBytes, 'component' | 'bytes' | 'blocks' | 'resident_bytes'> {
  readonly key: string;
}

/** A source file with the bytes that were live through each of its lines. */
export interface AnnotatedSource {
  readonly file: string;
  /** Files of the recording that were taken for it. */
  readonly matched: readonly string[];
  readonly device: number;
  readonly handle: string;
  readonly lines: readonly AnnotatedLine[];
  /** Bytes of lines beyond the end of the file: it is another version. */
  readonly beyond_bytes: number;
}

export interface AnnotatedLine {
  readonly line: number;
  readonly text: string;
  /** Live bytes with this line anywhere in their stacks, each stack once. */
  readonly bytes: number;
  /** Of these, those with no other line of the file further in. */
  readonly self_bytes: number;
  readonly blocks: number;
}
