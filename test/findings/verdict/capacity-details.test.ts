/** What made a full device so full: each detail on facts made for it, and the look-alikes. */
import { describe, expect, it } from 'vitest';
import { activityOf } from '../../../src/findings/stacks/activity.js';
import type { OomFacts, PassedStep } from '../../../src/findings/verdict/facts.js';
import { GIB } from '../../../src/model/units.js';
import { exact, freeSpaceOf, messageFacts, printed, runSideOf, tracedFacts, traceOf } from './facts.js';
import { judging } from './judging.js';

const { judge } = judging();

async function verdicts(...all: readonly OomFacts[]) {
  return (await judge(...all)).map(({ holds, evidence }) => ({
    ...holds,
    evidence: evidence.map(({ text }) => text).join('\n'),
  }));
}

const calm: readonly PassedStep[] = traceOf().steps!.map((step) => ({ ...step, peakBytes: 60 * GIB }));

describe.concurrent('rounding', () => {
  it('decides where the waste of roundup_power2_divisions is what is missing', async () => {
    // 2 GiB are missing.
    const all = await verdicts(
      tracedFacts({ roundingWaste: exact(3 * GIB) }),
      tracedFacts({ roundingWaste: exact(GIB) }),
    );
    expect(all).toMatchObject([
      { cause: 'capacity', detail: 'rounding' },
      { cause: 'capacity', detail: null },
    ]);
  });
});

describe.concurrent('a spike', () => {
  const LOGITS = traceOf({ steps: calm, activity: 'logits_loss', activityBytes: 12 * GIB });

  it('of logits holds where the steps before had plenty of room', async () => {
    const [result] = await verdicts(tracedFacts({ trace: LOGITS }));
    expect(result).toMatchObject({ cause: 'capacity', detail: 'transient_spike', confidence: 'high' });
    expect(result!.evidence).toContain('they hold and request 16.00 GiB');
    expect(result!.summary).toContain('60.00 GiB at most');
  });

  it('is none where the device was nearly full before, is full without it, or only one step was over', async () => {
    const full = calm.map((step) => ({ ...step, peakBytes: 76 * GIB }));
    // A ring that begins with the optimizer's states in place lost at least one step.
    const ring = { ...LOGITS, steps: calm.slice(0, 1), whole: false, hasEarlierStates: true };
    const [afterSteps, ...none] = await verdicts(
      tracedFacts({ trace: ring, run: runSideOf({ completed: 1 }) }),
      ...[
        { ...LOGITS, steps: full },
        { ...LOGITS, activityBytes: GIB },
        { ...LOGITS, steps: calm.slice(0, 1) },
      ].map((trace) => tracedFacts({ trace })),
    );
    expect(none).toHaveLength(3);
    for (const result of none) expect(result).toMatchObject({ cause: 'capacity', detail: null });
    expect(afterSteps).toMatchObject({ detail: 'transient_spike' });
  });

  it('of a checkpoint names it, and its second copies', async () => {
    const save = traceOf({ activity: 'checkpoint_save', activityBytes: 19 * GIB, copiedBytes: 18 * GIB });
    const load = { ...save, activity: 'checkpoint_load' as const, steps: null, stepsBy: null };
    const run = runSideOf({ activity: 'checkpoint_load', completed: null });
    const [saved, loaded, unseen] = await verdicts(
      tracedFacts({ trace: save }),
      tracedFacts({ trace: load }),
      messageFacts({ run }),
    );
    expect(saved).toMatchObject({ cause: 'capacity', detail: 'transient_spike' });
    expect(saved!.summary).toContain('saving a checkpoint takes 23.00 GiB more');
    expect(saved!.evidence).toContain('18.00 GiB of them are second copies');
    expect(loaded!.summary).toContain('loading a checkpoint');
    // Copies that are not seen: there is no evidence that training fits without them.
    expect(unseen).toMatchObject({ cause: 'capacity', detail: null });
  });

  it('is told from a log by its traceback and what steps before needed', async () => {
    const run = runSideOf({
      activity: 'logits_loss',
      activitySource: { path: 'log', line: 3 },
      highestBytes: 60 * GIB,
    });
    const all = [
      run,
      { ...run, highestBytes: 77 * GIB },
      { ...run, completed: 1 },
      runSideOf({ activity: 'checkpoint_save' }),
    ];
    expect(await verdicts(...all.map((side) => messageFacts({ run: side })))).toMatchObject([
      { detail: 'transient_spike' },
      { detail: null },
      { detail: null },
      { detail: 'transient_spike' },
    ]);
  });

  it('of one tensor needs a step that passed: before, large tensors are buffers that stay', async () => {
    const large = {
      request: exact(24 * GIB),
      requestAtLeastBytes: 24 * GIB,
      allocated: exact(60 * GIB),
      free: freeSpaceOf({ usable: { bytes: 18 * GIB, largestBytes: GIB, count: 40 } }),
    };
    expect(await verdicts(tracedFacts({ ...large, trace: traceOf() }), tracedFacts(large))).toMatchObject([
      { detail: 'transient_spike' },
      { cause: 'capacity', detail: null },
    ]);
  });

  it('is none at the birth of optimizer states, which stay; the summary says so', async () => {
    const [result] = await verdicts(
      tracedFacts({ trace: traceOf({ activity: 'optimizer_init', activityBytes: 9 * GIB }) }),
    );
    expect(result).toMatchObject({ cause: 'capacity', detail: null });
    expect(result!.summary).toContain("the optimizer's states, born in the first optimizer step");
  });
});

describe.concurrent('imbalance', () => {
  const run = runSideOf({
    ownStage: { stage: 0, rank: 0, bytes: 70 * GIB },
    otherStages: [{ stage: 1, rank: 4, bytes: 50 * GIB }],
    severalReplicas: true,
  });

  it('holds where the other stages need far less, and only this one fails', async () => {
    const [result, ...none] = await verdicts(
      ...[
        run,
        { ...run, otherStages: [{ stage: 1, rank: 4, bytes: 66 * GIB }] },
        { ...run, onlyThisStage: false },
        { ...run, stages: 1, otherStages: [] },
        { ...run, stage: null },
      ].map((side) => messageFacts({ run: side })),
    );
    expect(result).toMatchObject({ cause: 'capacity', detail: 'imbalance' });
    expect(result!.numbers).toMatchObject({ own_stage_bytes: 70 * GIB, next_stage_bytes: 50 * GIB, stages: 2 });
    expect(none).toHaveLength(4);
    for (const other of none) expect(other).toMatchObject({ cause: 'capacity', detail: null });
  });

  it('goes before a spike where every replica of the stage fails alike', async () => {
    const trace = traceOf({ steps: calm, activity: 'logits_loss', activityBytes: 12 * GIB });
    const oneReplica = { ...run, severalReplicas: false };
    expect(await verdicts(tracedFacts({ trace, run }), tracedFacts({ trace, run: oneReplica }))).toMatchObject([
      { detail: 'imbalance' },
      { detail: 'transient_spike' },
    ]);
  });
});

describe.concurrent('a hidden limit', () => {
  it('is what refuses where the device had far more free than was asked', async () => {
    const facts = tracedFacts({ reserved: exact(40 * GIB), allocated: exact(39 * GIB), deviceFree: exact(38 * GIB) });
    // A message that prints the limit is believed instead, and a page too little is no limit.
    const tight = tracedFacts({ reserved: exact(74 * GIB), allocated: exact(70 * GIB), deviceFree: exact(4 * GIB) });
    const free = freeSpaceOf({ usable: { bytes: 4 * GIB, largestBytes: GIB, count: 9 } });
    expect(await verdicts(facts, { ...tight, free })).toMatchObject([
      { cause: 'capacity', detail: 'fraction_limit', confidence: 'medium' },
      { cause: 'fragmentation' },
    ]);
  });
});

describe.concurrent('max_split_size_mb next to a message', () => {
  it('leaves a small shortfall undecided: blocks handed out whole may hold it', async () => {
    const allocator = {
      expandableSegments: false,
      maxSplitBytes: 128 * 1024 ** 2,
      source: { path: 'launch.sbatch', line: 3 },
    };
    const [near, far] = await judge(
      messageFacts({ allocator }),
      messageFacts({
        allocator,
        allocated: printed(78 * GIB),
        request: printed(20 * GIB),
        requestAtLeastBytes: 20 * GIB,
      }),
    );
    expect(near.holds).toBeNull();
    expect(near.captures.map(({ id }) => id)).toContain('snapshot_at_oom');
    expect(far.holds?.cause).toBe('capacity');
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
