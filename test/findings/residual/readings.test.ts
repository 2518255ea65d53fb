/**
 * What a residual means, reading by reading, on made-up rows: each is said where it is true, and not where it is not.
 */
import { describe, expect, it } from 'vitest';
import { type ReadingFacts, readingOf } from '../../../src/derive/estimate/residual/readings.js';
import { completeInputs, type EstimateInputs } from '../../../src/estimate/inputs.js';
import type { Component } from '../../../src/model/vocabulary.js';
import { evidenceText } from '../../../src/report/verdict/evidence-words.js';
import { GUIDE } from '../../estimate/given.js';

const GIB = 2 ** 30;
const INPUTS: EstimateInputs = { ...completeInputs(GUIDE), recompute: null };

interface Case extends Partial<Omit<ReadingFacts, 'row' | 'inputs'>> {
  /** Measured and estimated GiB; outside the bounds by the difference unless told. */
  readonly of: readonly [Component, number, number];
  readonly surprise?: number;
  readonly inputs?: Partial<EstimateInputs>;
}

function said({ of: [component, measured, estimated], surprise, inputs, ...facts }: Case): string | null {
  return readingOf({
    row: {
      ...{ component, measured_bytes: measured * GIB, estimated_bytes: estimated * GIB },
      ...{ low_bytes: estimated * GIB, high_bytes: estimated * GIB, residual_bytes: (measured - estimated) * GIB },
      surprise_bytes: (surprise ?? measured - estimated) * GIB,
    },
    inputs: { ...INPUTS, ...inputs },
    ...{ seen: new Set(), shards: 2, beforeFirstStep: false, heldBytes: 0, atFailure: false, ...facts },
  });
}

const ON = { distributedOptimizer: true };
const FULL = { recompute: 'full' } as const;
const HELD: Case = { of: ['activation', 38, 17], heldBytes: 17 * GIB };
const OFF = { distributedOptimizer: false };

describe('readings', () => {
  it.each<[RegExp, Case]>([
    [/unsharded size/, { of: ['optimizer_state', 8, 2], shards: 4, inputs: ON }],
    [/a 4th of the size/, { of: ['optimizer_state', 2, 8], shards: 4, inputs: OFF }],
    [/two of the three states/, { of: ['optimizer_state', 16, 24], inputs: ON }],
    [/in fp32, not in bf16/, { of: ['gradient', 8, 4] }],
    [/in fp32, not in bf16/, { of: ['gradient', 8.3, 4] }],
    [/in bf16, not in fp32/, { of: ['gradient', 4, 8] }],
    [/no main gradients were allocated yet/, { of: ['gradient', 0, 8] }],
    [/held twice, or in fp32/, { of: ['parameter', 8, 4] }],
    [/in 8 bits/, { of: ['parameter', 2, 4] }],
    [/^17\.00 GiB of it are allocated by lines with blocks that outlive training steps/, HELD],
    [/recompute \(full\) is configured but no recompute/, { of: ['activation', 30, 10], inputs: FULL }],
    [/the configuration does not set/, { of: ['activation', 5, 10], seen: new Set(['recompute']) }],
    [/the step failed before its peak/, { of: ['activation', 5, 10], atFailure: true }],
    [/fewer micro-batches/, { of: ['activation', 5, 10] }],
    [/the configuration does not set/, { of: ['recompute', 5, 0] }],
    [/is the cross entropy fused/, { of: ['logits_loss', 5, 2] }],
    [/no 8-bit copies/, { of: ['fp8_buffer', 0, 8] }],
    [/pools of CUDA graphs are not estimated/, { of: ['graph_pool', 3, 0] }],
  ])('%s', (text, facts) => {
    expect(said(facts)).toMatch(text);
    expect(said({ ...facts, surprise: 0 })).toBeNull();
  });

  it.each<[string, Case]>([
    ['the unsharded size on one rank', { of: ['optimizer_state', 8, 2], shards: 1, inputs: ON }],
    ['the unsharded size without a distributed optimizer', { of: ['optimizer_state', 8, 2], shards: 4, inputs: OFF }],
    ['a part of the size where it is sharded', { of: ['optimizer_state', 2, 8], shards: 4, inputs: ON }],
    ['states of another size', { of: ['optimizer_state', 14, 24], inputs: ON }],
    ['gradients of another size', { of: ['gradient', 6, 4] }],
    ['parameters that are not there', { of: ['parameter', 0, 4] }],
    ['activations above the bound at a failure', { of: ['activation', 30, 10], atFailure: true }],
    ['activations above the bound, without a cause', { of: ['activation', 30, 10] }],
    ['recompute that was seen', { of: ['activation', 30, 10], inputs: FULL, seen: new Set(['recompute']) }],
    ['held memory that explains too little', { of: ['activation', 30, 10], heldBytes: 5 * GIB }],
    ['configured recompute', { of: ['recompute', 5, 1], inputs: { recompute: 'selective' } }],
    ['logits below the bound', { of: ['logits_loss', 1, 2] }],
    ['8-bit copies that were seen', { of: ['fp8_buffer', 4, 8] }],
    ['components nobody reads', { of: ['workspace', 9, 1] }],
  ])('says nothing of %s', (_, facts) => {
    expect(said(facts)).toBeNull();
  });

  it('does not call configured recompute untold', () => {
    const seen = new Set(['recompute' as const]);
    expect(said({ of: ['activation', 5, 10], seen, inputs: { recompute: 'full' } })).toMatch(/fewer micro-batches/);
  });

  it('reports what is held before what is configured, and the failure before the schedule', () => {
    const held = { of: ['activation', 30, 10], heldBytes: 15 * GIB, inputs: { recompute: 'full' } } as const;
    expect(said(held)).toMatch(/outlive/);
    expect(said({ of: ['activation', 5, 10], atFailure: true, seen: new Set(['recompute']) })).toMatch(/does not set/);
  });
});

describe('surprises in words', () => {
  const textOf = (surprise_bytes: number, names: Readonly<Record<string, string>>): string =>
    evidenceText({ id: 'E1', place: { path: 'a' }, kind: 'against_theory', numbers: { surprise_bytes }, names });

  it('name the component, how far it lies outside, and the reading', () => {
    const component = 'optimizer_state';
    expect(textOf(3 * GIB, { component })).toBe(
      "against theory: optimizer state 3.00 GiB above the estimate's upper bound",
    );
    expect(textOf(-2 * GIB, { component, reading: 'so it is' })).toBe(
      'against theory: optimizer state 2.00 GiB below its lower bound: so it is',
    );
  });
});
