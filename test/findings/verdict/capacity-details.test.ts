/** What made a full device so full: each detail on facts made for it, and the look-alikes. */
import { describe, expect, it } from 'vitest';
import { activityOf } from '../../../src/findings/stacks/activity.js';
import { EvidenceLog, type OomFacts, type PassedStep } from '../../../src/findings/verdict/facts.js';
import { judge } from '../../../src/findings/verdict/index.js';
import { GIB } from '../../../src/model/units.js';
import { exact, freeSpaceOf, messageFacts, printed, runSideOf, tracedFacts, traceOf } from './facts.js';

function verdict(facts: OomFacts) {
  const log = new EvidenceLog();
  const { holds } = judge(facts, log);
  return { ...holds, evidence: log.entries.map(({ text }) => text).join('\n') };
}

const calm: readonly PassedStep[] = traceOf().steps!.map((step) => ({ ...step, peakBytes: 60 * GIB }));

describe('rounding', () => {
  it('decides where the waste of roundup_power2_divisions is what is missing', () => {
    // 2 GiB are missing.
    expect(verdict(tracedFacts({ roundingWaste: exact(3 * GIB) }))).toMatchObject({
      cause: 'capacity',
      detail: 'rounding',
    });
    expect(verdict(tracedFacts({ roundingWaste: exact(GIB) }))).toMatchObject({ cause: 'capacity', detail: null });
  });
});

describe('a spike', () => {
  const LOGITS = traceOf({ steps: calm, activity: 'logits_loss', activityBytes: 12 * GIB });

  it('of logits holds where the steps before had plenty of room', () => {
    const result = verdict(tracedFacts({ trace: LOGITS }));
    expect(result).toMatchObject({ cause: 'capacity', detail: 'transient_spike', confidence: 'high' });
    expect(result.evidence).toContain('they hold and ask 16.00 GiB');
    expect(result.summary).toContain('60.00 GiB at most');
  });

  it('is none where the device was nearly full before, is full without it, or only one step was over', () => {
    const full = calm.map((step) => ({ ...step, peakBytes: 76 * GIB }));
    for (const trace of [
      { ...LOGITS, steps: full },
      { ...LOGITS, activityBytes: GIB },
      { ...LOGITS, steps: calm.slice(0, 1) },
    ])
      expect(verdict(tracedFacts({ trace }))).toMatchObject({ cause: 'capacity', detail: null });
    // A ring that begins with the optimizer's states in place lost at least one step.
    const ring = { ...LOGITS, steps: calm.slice(0, 1), whole: false, hasEarlierStates: true };
    expect(verdict(tracedFacts({ trace: ring, run: runSideOf({ completed: 1 }) }))).toMatchObject({
      detail: 'transient_spike',
    });
  });

  it('of a checkpoint names it, and its second copies', () => {
    const save = traceOf({ activity: 'checkpoint_save', activityBytes: 19 * GIB, copiedBytes: 18 * GIB });
    const result = verdict(tracedFacts({ trace: save }));
    expect(result).toMatchObject({ cause: 'capacity', detail: 'transient_spike' });
    expect(result.summary).toContain('saving a checkpoint takes 23.00 GiB more');
    expect(result.evidence).toContain('18.00 GiB of them are second copies');
    const load = { ...save, activity: 'checkpoint_load' as const, steps: null, stepsBy: null };
    expect(verdict(tracedFacts({ trace: load })).summary).toContain('loading a checkpoint');
    // Copies that are not seen: there is no evidence that training fits without them.
    const run = runSideOf({ activity: 'checkpoint_load', completed: null });
    expect(verdict(messageFacts({ run }))).toMatchObject({ cause: 'capacity', detail: null });
  });

  it('is told from a log by its traceback and what steps before needed', () => {
    const run = runSideOf({ activity: 'logits_loss', activitySource: 'log line 3', highest: printed(60 * GIB) });
    expect(verdict(messageFacts({ run }))).toMatchObject({ detail: 'transient_spike' });
    expect(verdict(messageFacts({ run: { ...run, highest: printed(77 * GIB) } }))).toMatchObject({ detail: null });
    expect(verdict(messageFacts({ run: { ...run, completed: 1 } }))).toMatchObject({ detail: null });
    const save = runSideOf({ activity: 'checkpoint_save' });
    expect(verdict(messageFacts({ run: save }))).toMatchObject({ detail: 'transient_spike' });
  });

  it('of one tensor needs a step that passed: before, large tensors are buffers that stay', () => {
    const large = {
      request: exact(24 * GIB),
      requestAtLeastBytes: 24 * GIB,
      allocated: exact(60 * GIB),
      free: freeSpaceOf({ usable: { bytes: 18 * GIB, largestBytes: GIB, count: 40 } }),
    };
    expect(verdict(tracedFacts({ ...large, trace: traceOf() }))).toMatchObject({ detail: 'transient_spike' });
    expect(verdict(tracedFacts(large))).toMatchObject({ cause: 'capacity', detail: null });
  });

  it('is none at the birth of optimizer states, which stay; the summary says so', () => {
    const result = verdict(tracedFacts({ trace: traceOf({ activity: 'optimizer_init', activityBytes: 9 * GIB }) }));
    expect(result).toMatchObject({ cause: 'capacity', detail: null });
    expect(result.summary).toContain("the optimizer's states, born in the first optimizer step");
  });
});

describe('imbalance', () => {
  const run = runSideOf({
    ownStage: { stage: 0, rank: 0, bytes: 70 * GIB },
    otherStages: [{ stage: 1, rank: 4, bytes: 50 * GIB }],
    severalReplicas: true,
  });

  it('holds where the other stages need far less, and only this one fails', () => {
    const result = verdict(messageFacts({ run }));
    expect(result).toMatchObject({ cause: 'capacity', detail: 'imbalance' });
    expect(result.numbers).toMatchObject({ own_stage_bytes: 70 * GIB, next_stage_bytes: 50 * GIB, stages: 2 });
    for (const other of [
      { ...run, otherStages: [{ stage: 1, rank: 4, bytes: 66 * GIB }] },
      { ...run, onlyThisStage: false },
      { ...run, stages: 1, otherStages: [] },
      { ...run, stage: null },
    ])
      expect(verdict(messageFacts({ run: other }))).toMatchObject({ cause: 'capacity', detail: null });
  });

  it('goes before a spike where every replica of the stage fails alike', () => {
    const trace = traceOf({ steps: calm, activity: 'logits_loss', activityBytes: 12 * GIB });
    expect(verdict(tracedFacts({ trace, run }))).toMatchObject({ detail: 'imbalance' });
    const oneReplica = { ...run, severalReplicas: false };
    expect(verdict(tracedFacts({ trace, run: oneReplica }))).toMatchObject({ detail: 'transient_spike' });
  });
});

describe('a hidden limit', () => {
  it('is what refuses where the device had far more free than was asked', () => {
    const facts = tracedFacts({ reserved: exact(40 * GIB), allocated: exact(39 * GIB), deviceFree: exact(38 * GIB) });
    expect(verdict(facts)).toMatchObject({ cause: 'capacity', detail: 'fraction_limit', confidence: 'medium' });
    // A message that prints the limit is believed instead, and a page too little is no limit.
    const tight = tracedFacts({ reserved: exact(74 * GIB), allocated: exact(70 * GIB), deviceFree: exact(4 * GIB) });
    expect(
      verdict({ ...tight, free: freeSpaceOf({ usable: { bytes: 4 * GIB, largestBytes: GIB, count: 9 } }) }),
    ).toMatchObject({
      cause: 'fragmentation',
    });
  });
});

describe('max_split_size_mb next to a message', () => {
  it('leaves a small shortfall undecided: blocks handed out whole may hold it', () => {
    const allocator = { expandableSegments: false, maxSplitBytes: 128 * 1024 ** 2, source: 'launch.sbatch line 3' };
    const judgement = judge(messageFacts({ allocator }), new EvidenceLog());
    expect(judgement.holds).toBeNull();
    expect(judgement.captures.map(({ id }) => id)).toContain('snapshot_at_oom');
    const far = messageFacts({
      allocator,
      allocated: printed(78 * GIB),
      request: printed(20 * GIB),
      requestAtLeastBytes: 20 * GIB,
    });
    expect(judge(far, new EvidenceLog()).holds?.cause).toBe('capacity');
  });
});

describe('what a stack was doing', () => {
  const of = (...frames: readonly (readonly [name: string, filename: string])[]) =>
    activityOf(frames.map(([name, filename]) => ({ name, filename })));

  it('is read from functions and files, the outer frame telling saving from loading', () => {
    const gather = ['get_parameter_state_dp_zero', '/opt/megatron/core/optimizer/distrib_optimizer.py'] as const;
    expect(of(gather)).toBe('checkpoint_save');
    expect(of(gather, ['save_checkpoint', '/w/training/checkpointing.py'])).toBe('checkpoint_save');
    expect(of(gather, ['load_checkpoint', '/w/training/checkpointing.py'])).toBe('checkpoint_load');
    expect(of(['_load_tensor', '/x/torch/distributed/checkpoint/default_planner.py'])).toBe('checkpoint_load');
    expect(of(['calculate_logits_max', '/m/core/tensor_parallel/cross_entropy.py'])).toBe('logits_loss');
    expect(
      of(['forward', '/m/core/tensor_parallel/layers.py'], ['_postprocess', '/m/core/models/gpt/gpt_model.py']),
    ).toBe('logits_loss');
    expect(of(['_initialize_state', '/te/pytorch/optimizers/fused_adam.py'])).toBe('optimizer_init');
    expect(of(['_init_group', '/x/torch/optim/adamw.py'])).toBe('optimizer_init');
  });

  it('is nothing where nothing of the kind is seen', () => {
    expect(of(['forward', '/m/core/transformer/mlp.py'])).toBeNull();
    // Activation checkpointing is not a checkpoint.
    expect(of(['checkpoint', '/m/core/tensor_parallel/random.py'])).toBeNull();
    expect(of(['checkpoint', '/x/torch/utils/checkpoint.py'])).toBeNull();
    expect(of()).toBeNull();
  });
});
