/** One device against one stage: what is compared with what, and what is left out of it. */
import { describe, expect, it } from 'vitest';
import { describeStage } from '../../../src/derive/estimate/describe-stage.js';
import { compareStage, type Measured, outside } from '../../../src/derive/estimate/residual/compare-stage.js';
import { completeInputs } from '../../../src/estimate/inputs.js';
import { estimateStages } from '../../../src/estimate/stages/estimate-stages.js';
import type { EstimateStage } from '../../../src/model/results/estimate.js';
import type { ComponentResidual } from '../../../src/model/results/residual.js';
import type { Component } from '../../../src/model/vocabulary.js';
import { GUIDE } from '../../estimate/given.js';

const GIB = 2 ** 30;
const INPUTS = completeInputs(GUIDE);

type Parts = Readonly<Record<string, readonly [bytes: number, outside?: boolean]>>;

/** GiB; bounds are a quarter below and a half above. */
function component(name: Component, parts: Parts) {
  const described = Object.entries(parts).map(([part, [bytes, outside_pytorch = false]]) => ({
    ...{ name: part, bytes: bytes * GIB, low_bytes: 0.75 * bytes * GIB, high_bytes: 1.5 * bytes * GIB },
    ...{ outside_pytorch, basis: '' },
  }));
  const sum = (pick: 'bytes' | 'low_bytes' | 'high_bytes') => described.reduce((all, part) => all + part[pick], 0);
  return { name, bytes: sum('bytes'), low_bytes: sum('low_bytes'), high_bytes: sum('high_bytes'), parts: described };
}

const STATES = component('optimizer_state', { 'master weights': [8], exp_avg: [8], exp_avg_sq: [8] });
const COMMUNICATION = component('communication', { NCCL: [2, true], buffers: [1] });
const WORKSPACE = component('workspace', { context: [0.5, true] });
const WHOLE = completeStage();

/** At its most in the backward pass; the optimizer's step has gathers instead of activations. */
function completeStage(): EstimateStage {
  const [stage] = estimateStages(INPUTS).stages;
  const backward = [STATES, COMMUNICATION, WORKSPACE, component('activation', { layers: [20] })];
  const step = [STATES, COMMUNICATION, WORKSPACE, component('temporary', { gather: [4] })];
  const moment = (name: 'backward' | 'optimizer_step', components: typeof backward) => ({
    ...{ moment: name, components: components.map((one) => ({ ...one, parts: [] })) },
    ...{ allocated_bytes: 0, total_bytes: 0 },
  });
  return {
    ...describeStage(stage!, INPUTS),
    moment: 'backward',
    components: backward,
    moments: [moment('backward', backward), moment('optimizer_step', step)],
  };
}

function compare(components: Partial<Record<Component, number>>, more: Partial<Measured> = {}) {
  const sums = new Map(Object.entries(components).map(([name, gib]) => [name as Component, gib * GIB]));
  const { components: rows, ...rest } = compareStage(
    { components: sums, momentBytes: 1, phase: 'backward', seen: new Set(), heldBytes: 0, atFailure: false, ...more },
    WHOLE,
    INPUTS,
  );
  const of = (name: Component): ComponentResidual | undefined => rows.find((row) => row.component === name);
  return { ...rest, rows, of };
}

describe('compareStage', () => {
  it('leaves out what lies outside of PyTorch, bounds and all', () => {
    const { of, estimatedBytes } = compare({ communication: 1, workspace: 0 });
    const bounds = { estimated_bytes: GIB, low_bytes: 0.75 * GIB, high_bytes: 1.5 * GIB };
    expect(of('communication')).toMatchObject({ ...bounds, residual_bytes: 0, surprise_bytes: 0 });
    // A component that is outside altogether, and of which nothing was measured, is no row.
    expect(of('workspace')).toBeUndefined();
    expect(estimatedBytes).toBe((24 + 1 + 20) * GIB);
  });

  it('leaves out the moments before the first step of the optimizer, and only then', () => {
    const before = compare({ optimizer_state: 8 }, { momentBytes: 0 });
    expect(before.beforeFirstStep).toBe(true);
    expect(before.of('optimizer_state')).toMatchObject({ estimated_bytes: 8 * GIB, surprise_bytes: 0 });
    const after = compare({ optimizer_state: 8 });
    expect(after.beforeFirstStep).toBe(false);
    expect(after.of('optimizer_state')).toMatchObject({ estimated_bytes: 24 * GIB, surprise_bytes: (8 - 18) * GIB });
  });

  it.each([
    ['backward', 'backward', 20],
    ['grad_finalize', 'backward', 20],
    ['optimizer_step', 'optimizer_step', 0],
    ['param_gather', 'optimizer_step', 0],
    // The stage has no such moment of its own, or it is unknown which it is: what it has at its most.
    ['forward', 'backward', 20],
    ['unknown', 'backward', 20],
    ['eval', 'backward', 20],
  ] as const)('holds %s against the %s', (phase, moment, activation) => {
    const actual = compare({ activation: 1, temporary: 1 }, { phase });
    expect(actual.moment).toBe(moment);
    expect(actual.of('activation')!.estimated_bytes).toBe(activation * GIB);
    expect(actual.of('temporary')!.estimated_bytes).toBe(activation === 0 ? 4 * GIB : 0);
    // What is outside is left out at every moment.
    expect(actual.of('communication')!.estimated_bytes).toBe(GIB);
  });

  it('has no row for what could be any component, and the most surprising first', () => {
    const measured = { before_recording: 9, unattributed: 9, activation: 40, gradient: 3, optimizer_state: 24 };
    const surprises = compare(measured).rows.map((row) => `${row.component} ${row.surprise_bytes / GIB}`);
    expect(surprises).toEqual(['activation 10', 'gradient 3', 'communication -0.75', 'optimizer_state 0']);
  });

  it('reads a row with what was measured around it', () => {
    const held = compare({ activation: 40 }, { heldBytes: 15 * GIB });
    expect(held.of('activation')!.reading).toMatch(/15\.00 GiB of it are allocated by lines/);
    expect(compare({ activation: 5 }, { atFailure: true }).of('activation')!.reading).toMatch(/failed before its peak/);
    const unsharded = compare({ optimizer_state: 48 });
    expect(unsharded.of('optimizer_state')!.reading).toMatch(/unsharded size/);
  });
});

it('a hundredth beyond a bound is not outside', () => {
  expect([99, 100, 150, 200, 201].map((bytes) => outside(bytes, 100, 200))).toEqual([0, 0, 0, 0, 0]);
  expect([203, 98, 0].map((bytes) => outside(bytes, 100, 200))).toEqual([3, -2, -100]);
});
