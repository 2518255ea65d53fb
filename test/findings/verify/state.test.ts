/** Optimizer state and gradients by their bytes: what settings make, and what a snapshot shows. */
import { expect, it } from 'vitest';
import type { RawFacts } from '../../../src/derive/settings/facts.js';
import { View } from '../../../src/derive/settings/view.js';
import { gradientEffect, optimizerEffect } from '../../../src/findings/verify/effects/state.js';
import { stateSize } from '../../../src/findings/verify/effects/state-size.js';
import type { Side } from '../../../src/findings/verify/side.js';
import type { Component } from '../../../src/model/vocabulary.js';

type Settings = Readonly<Record<string, string>>;
const SETTINGS: Settings = {
  ...{ bf16: 'True', optimizer: 'adam', use_distributed_optimizer: 'False', use_precision_aware_optimizer: 'False' },
  ...{ grad_reduce_in_fp32: 'True', accumulate_allreduce_grads_in_fp32: 'True' },
};
type Bytes = Readonly<Partial<Record<Component, number>>> | null;

/** A run of four replicas with these settings, as far as the checks read it. */
function side(settings: Settings, components: Bytes): Side {
  const found = Object.entries({ ...SETTINGS, ...settings }).map(([key, value]) => ({
    ...{ key, value, raw_key: key, rawKey: key, origin: 'log dump', precedence: 0, attempt: 1 },
    ...{ file: 'train.log', line: 3 },
  }));
  const facts: RawFacts = {
    ...{ settings: new Map(found.map((one) => [one.key, one])), env: new Map(), env_known: 'none', versions: {} },
    ...{ framework: { name: 'megatron-lm', version: null } },
    device: { name: null, capability: null, total_bytes: null },
  };
  const peak = { handle: 'run/0/snapshot#1', rank: 0, device: 0, moment: 'peak', active_bytes: 1, components };
  const parallel = { tp: 1, pp: 1, vpp: null, cp: 1, ep: 1, dp: 4, etp: null };
  return {
    ...{ found, facts, view: new View(facts), snapshots: [], about: { world_size: 4, parallel } },
    measurement: { peaks: components === null ? [] : [peak], ranks: [], parallel, status: { ending: 'completed' } },
    diagnosis: { verdicts: [] },
  } as unknown as Side;
}

const SHARDED = { use_distributed_optimizer: 'True' };
const AWARE = { ...SHARDED, use_precision_aware_optimizer: 'True' };
const MOMENTS = { ...AWARE, exp_avg_dtype: 'bfloat16', exp_avg_sq_dtype: 'bfloat16' };
const HALF = { ...MOMENTS, optimizer_cpu_offload: 'True', optimizer_offload_fraction: '0.5' };

it.each<[Settings, number | undefined]>([
  [{}, 12],
  [SHARDED, 3],
  [AWARE, 2.5],
  [MOMENTS, 1.5],
  [HALF, 0.75],
  [{ optimizer: 'sgd' }, undefined],
])('with %j a parameter has %f bytes of optimizer state', (settings, bytes) => {
  const size = stateSize(side(settings, null));
  expect(size?.optimizer).toBe(bytes);
  if (bytes === undefined) expect(size).toBeNull();
  if (bytes === 12) expect(size).toEqual({ parameter: 2, gradient: 4, optimizer: 12 });
});

const state = (optimizer_state: number): Bytes => ({ parameter: 2000, gradient: 4000, optimizer_state });
const grads = (gradient: number): Bytes => ({ parameter: 2000, gradient });

it.each<[string, string, Bytes, string]>([
  ['use_distributed_optimizer', 'True', state(3000), 'active'],
  ['use_distributed_optimizer', 'True', state(3300), 'active'],
  ['use_distributed_optimizer', 'True', state(12_000), 'inactive'],
  // Some of it, as where experts are sharded over other replicas.
  ['use_distributed_optimizer', 'True', state(6000), 'partly'],
  // Dumped before the first step: there is no state yet.
  ['use_distributed_optimizer', 'True', state(0), 'untested'],
  ['use_distributed_optimizer', 'True', null, 'untested'],
  ['grad_reduce_in_fp32', 'False', grads(2000), 'active'],
  ['grad_reduce_in_fp32', 'False', grads(4000), 'inactive'],
  // Where the field is known, the argument adds nothing.
  ['accumulate_allreduce_grads_in_fp32', 'False', grads(2000), 'untested'],
])('%s %s with %j is %s', (key, to, components, outcome) => {
  const [before, after] = [side({}, null), side({ [key]: to }, components)];
  const from = SETTINGS[key]!;
  const change = { key, kind: 'optimizer' as const, from, fromKnown: true, to, family: key, overruled: null };
  const effectOf = key.includes('grad') ? gradientEffect : optimizerEffect;
  expect(effectOf({ change, family: [change], alone: true, before, after }).outcome).toBe(outcome);
});
