/** Optimizer state and gradients by their bytes: what settings make, and what a snapshot shows. */
import { describe, expect, it } from 'vitest';
import type { RawFacts } from '../../../src/findings/settings/facts.js';
import { View } from '../../../src/findings/settings/view.js';
import { gradientEffect, optimizerEffect } from '../../../src/findings/verify/effects/state.js';
import { stateSize } from '../../../src/findings/verify/effects/state-size.js';
import type { Side } from '../../../src/findings/verify/side.js';
import type { Component } from '../../../src/model/vocabulary.js';

const SETTINGS: Readonly<Record<string, string>> = {
  bf16: 'True',
  optimizer: 'adam',
  use_distributed_optimizer: 'False',
  use_precision_aware_optimizer: 'False',
  grad_reduce_in_fp32: 'True',
  accumulate_allreduce_grads_in_fp32: 'True',
};

/** A run of four replicas with these settings, as far as the checks look at it. */
function side(
  settings: Readonly<Record<string, string>>,
  components: Readonly<Partial<Record<Component, number>>> | null,
): Side {
  const told = Object.entries({ ...SETTINGS, ...settings }).map(([key, value]) => ({
    key,
    value,
    raw_key: key,
    rawKey: key,
    origin: 'log dump',
    precedence: 0,
    attempt: 1,
    file: 'train.log',
    line: 3,
  }));
  const facts: RawFacts = {
    settings: new Map(told.map((one) => [one.key, one])),
    env: new Map(),
    env_known: 'none',
    versions: {},
    framework: { name: 'megatron-lm', version: null },
    device: { name: null, capability: null, total_bytes: null },
  };
  const peaks =
    components === null
      ? []
      : [{ handle: 'run/0/snapshot#1', rank: 0, device: 0, moment: 'peak', active_bytes: 1, components }];
  return {
    found: told,
    facts,
    view: new View(facts),
    snapshots: [],
    about: { world_size: 4, parallel: { tp: 1, pp: 1, vpp: null, cp: 1, ep: 1, dp: 4, etp: null } },
    measurement: {
      peaks,
      ranks: [],
      parallel: { tp: 1, pp: 1, vpp: null, cp: 1, ep: 1, dp: 4, etp: null },
      status: { ending: 'completed' },
    },
    diagnosis: { verdicts: [] },
  } as unknown as Side;
}

function check(key: string, to: string, components: Readonly<Partial<Record<Component, number>>> | null) {
  const [before, after] = [side({}, null), side({ [key]: to }, components)];
  const change = {
    key,
    kind: 'optimizer' as const,
    from: SETTINGS[key]!,
    fromKnown: true,
    to,
    family: key,
    overruled: null,
  };
  const of = key.includes('grad') ? gradientEffect : optimizerEffect;
  return of({ change, family: [change], alone: true, before, after }).outcome;
}

describe('bytes a parameter', () => {
  it('follow from the settings', () => {
    expect(stateSize(side({}, null))).toEqual({ parameter: 2, gradient: 4, optimizer: 12 });
    const sharded = { use_distributed_optimizer: 'True' };
    expect(stateSize(side(sharded, null))!.optimizer).toBe(3);
    const aware = { ...sharded, use_precision_aware_optimizer: 'True' };
    expect(stateSize(side(aware, null))!.optimizer).toBe(2.5);
    const moments = { ...aware, exp_avg_dtype: 'bfloat16', exp_avg_sq_dtype: 'bfloat16' };
    expect(stateSize(side(moments, null))!.optimizer).toBe(1.5);
    const half = { ...moments, optimizer_cpu_offload: 'True', optimizer_offload_fraction: '0.5' };
    expect(stateSize(side(half, null))!.optimizer).toBe(0.75);
    expect(stateSize(side({ optimizer: 'sgd' }, null))).toBeNull();
  });
});

describe('a snapshot tells', () => {
  it('a sharded optimizer from one that is not', () => {
    const state = (optimizer_state: number) => ({ parameter: 2000, gradient: 4000, optimizer_state });
    expect(check('use_distributed_optimizer', 'True', state(3000))).toBe('active');
    expect(check('use_distributed_optimizer', 'True', state(3300))).toBe('active');
    expect(check('use_distributed_optimizer', 'True', state(12_000))).toBe('inactive');
    // Some of it, as where experts are sharded over other replicas.
    expect(check('use_distributed_optimizer', 'True', state(6000))).toBe('partly');
    // Dumped before the first step: there is no state yet.
    expect(check('use_distributed_optimizer', 'True', state(0))).toBe('untested');
    expect(check('use_distributed_optimizer', 'True', null)).toBe('untested');
  });

  it('gradients in bf16 from those in fp32', () => {
    const grads = (gradient: number) => ({ parameter: 2000, gradient });
    expect(check('grad_reduce_in_fp32', 'False', grads(2000))).toBe('active');
    expect(check('grad_reduce_in_fp32', 'False', grads(4000))).toBe('inactive');
    // Where the field is told, the argument says nothing more.
    expect(check('accumulate_allreduce_grads_in_fp32', 'False', grads(2000))).toBe('untested');
  });
});
