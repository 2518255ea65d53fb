/**
 * What a residual means. Each reading is a fact of figures and configuration, in words; none decides why a run failed.
 */

import type { EstimateInputs } from '../../../estimate/inputs.js';
import { threshold } from '../../../knowledge/thresholds/threshold.js';
import type { ComponentResidual } from '../../../model/results/residual.js';
import { formatBytes } from '../../../model/units.js';
import type { Component } from '../../../model/vocabulary.js';

export interface ReadingFacts {
  readonly row: Omit<ComponentResidual, 'reading'>;
  readonly inputs: EstimateInputs;
  /** Components that occur anywhere in the trace. */
  readonly seen: ReadonlySet<Component>;
  /** Data-parallel size that shards the optimizer. */
  readonly shards: number;
  readonly beforeFirstStep: boolean;
  /** Activations that outlived two training steps. */
  readonly heldBytes: number;
  /** The moment is a failure, and so wherever in the step it came. */
  readonly atFailure: boolean;
}

type Reading = (facts: ReadingFacts) => string | null;

const TOLERANCE = threshold('estimate.size_tolerance');

const TIGHT = threshold('estimate.tight');

function isTight({ estimated_bytes, low_bytes }: ReadingFacts['row']): boolean {
  return low_bytes >= (1 - TIGHT) * estimated_bytes;
}

function isAbout(bytes: number, expected: number): boolean {
  return expected > 0 && Math.abs(bytes - expected) <= TOLERANCE * expected;
}

/** In this order; the first that applies is reported. */
const READINGS: Partial<Record<Component, readonly Reading[]>> = {
  optimizer_state: [
    ({ row, inputs, shards }) =>
      inputs.distributedOptimizer &&
      shards > 1 &&
      isTight(row) &&
      isAbout(row.measured_bytes, row.estimated_bytes * shards)
        ? 'it has the unsharded size: the distributed optimizer is not in effect'
        : null,
    ({ row, inputs, shards }) =>
      !inputs.distributedOptimizer && shards > 1 && isAbout(row.measured_bytes * shards, row.estimated_bytes)
        ? `it has a ${shards}th of the size: a distributed optimizer is in use, and the configuration does not set it`
        : null,
    ({ row }) =>
      isAbout(row.measured_bytes * 3, row.estimated_bytes * 2)
        ? 'two of the three states are there: no fp32 master weights, or moments of half the size'
        : null,
  ],
  gradient: [
    ({ row }) =>
      isAbout(row.measured_bytes, row.estimated_bytes * 2)
        ? 'it has twice the size: gradients are kept in fp32, not in bf16'
        : null,
    ({ row }) =>
      isAbout(row.measured_bytes * 2, row.estimated_bytes)
        ? 'it has half the size: gradients are kept in bf16, not in fp32'
        : null,
    ({ row }) => (row.measured_bytes === 0 && row.estimated_bytes > 0 ? 'no main gradients were allocated yet' : null),
  ],
  parameter: [
    ({ row }) =>
      isAbout(row.measured_bytes, row.estimated_bytes * 2)
        ? 'it has twice the size: weights are held twice, or in fp32'
        : null,
    ({ row }) =>
      isAbout(row.measured_bytes * 2, row.estimated_bytes) ? 'it has half the size: weights are held in 8 bits' : null,
  ],
  activation: [
    ({ row, heldBytes }) =>
      row.surprise_bytes > 0 && 2 * heldBytes >= row.surprise_bytes
        ? `${formatBytes(heldBytes)} of it are allocated by lines with blocks that outlive training steps: held, not in flight`
        : null,
    ({ row, inputs, seen }) =>
      row.surprise_bytes > 0 && inputs.recompute !== null && !seen.has('recompute')
        ? `recompute (${inputs.recompute}) is configured but no recompute frames were seen`
        : null,
    ({ row, inputs, seen }) =>
      row.surprise_bytes < 0 && inputs.recompute === null && seen.has('recompute')
        ? 'recompute frames were seen, and the configuration does not set recompute'
        : null,
    ({ row, atFailure }) => (row.surprise_bytes < 0 && atFailure ? 'the step failed before its peak' : null),
    ({ row }) =>
      row.surprise_bytes < 0
        ? 'fewer micro-batches were under way than the schedule allows, or shorter sequences'
        : null,
  ],
  recompute: [
    ({ row, inputs }) =>
      row.measured_bytes > 0 && inputs.recompute === null
        ? 'recompute frames were seen, and the configuration does not set recompute'
        : null,
  ],
  logits_loss: [
    ({ row }) =>
      row.surprise_bytes > 0 ? 'logits are kept in more copies, or in fp32: is the cross entropy fused?' : null,
  ],
  fp8_buffer: [
    ({ row }) =>
      row.measured_bytes === 0 && row.estimated_bytes > 0 ? 'no 8-bit copies of weights were seen in this trace' : null,
  ],
  graph_pool: [({ row }) => (row.measured_bytes > 0 ? 'pools of CUDA graphs are not estimated' : null)],
  before_recording: [],
  unattributed: [],
};

export function readingOf(facts: ReadingFacts): string | null {
  const { row } = facts;
  if (row.surprise_bytes === 0) return null;
  for (const reading of READINGS[row.component] ?? []) {
    const text = reading(facts);
    if (text !== null) return text;
  }
  return null;
}
