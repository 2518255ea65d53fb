/** A change held against what it was for, on the published case. Small runs are in `verify-fix.nightly.test.ts`. */
import { describe, expect, it } from 'vitest';
import type { VerifyFixResult } from '../../src/model/results/verify.js';
import { asker, expectFits } from '../support/ask.js';
import { samplePath } from '../support/stores.js';

const { text, ends, refuse } = asker();
const sample = (name: string): string => samplePath(`llama3-70b-${name}`);
const verify = (status: number, ...args: readonly string[]) =>
  ends(status, 'verify-fix', ...args, '--json=full', '--exit-code').json<VerifyFixResult>();
const change = ({ changes }: VerifyFixResult, key: string) => changes.find((one) => one.key === key)!;
const about = ({ judgement }: VerifyFixResult, topic: string) => judgement.find((one) => one.about === topic);

describe('the published case', () => {
  it('expandable segments: in force, the OOM gone, the step as fast', () => {
    const result = verify(0, sample('fragmentation'), sample('expandable'));
    expect(result).toMatchObject({ schema: 'mbforensics/verify-fix@1', verdict: 'fixed', unfair: [] });
    expect(result.changes).toHaveLength(1);
    expect(change(result, 'PYTORCH_CUDA_ALLOC_CONF')).toMatchObject({
      fix: 'expandable-segments',
      fix_complete: true,
      credited: true,
      effect: { outcome: 'active', ranks: { active: [0], inactive: [] } },
    });
    expect(result.beside.map(({ key }) => key)).toContain('exit_interval');
    expect(result.before).toMatchObject({ ending: 'oom', cause: 'fragmentation', rank: 0, iteration: 3 });
    expect(result.after).toMatchObject({ ending: 'completed', last_iteration: 6 });
    // The gain is the idle memory, not the peak.
    expect(about(result, 'memory')).toBeUndefined();
    expect(about(result, 'fragmentation')).toMatchObject({ outcome: 'better' });
    expect(result.measured.cached.delta).toBeLessThan(-16 * 2 ** 30);
    expect(Math.abs(result.measured.peak_allocated.percent!)).toBeLessThan(2);
    expect(about(result, 'time')).toMatchObject({ outcome: 'as_expected' });
    expect(result.bottleneck).toMatchObject({ kind: 'memory', component: 'optimizer_state', rank: 0, stage: 0 });
    expect(result.bottleneck.headroom_bytes).toBeGreaterThan(2 ** 31);
  });

  it.each([
    ['pp8', 'pp-8', 'pipeline_model_parallel_size', 5.1],
    ['tp8', 'tp-8', 'tensor_model_parallel_size', 27.7],
  ])('%s: fixed at a cost, and something cheaper was enough', (name, fix, key, lost) => {
    const result = verify(0, sample('fragmentation'), sample(name));
    expect(result).toMatchObject({ verdict: 'fixed', unfair: [], expected: { fix } });
    expect(change(result, key)).toMatchObject({ fix, credited: true, effect: { outcome: 'active' } });
    expect(result.measured.tflops.percent).toBeCloseTo(-lost, 1);
    // Published peaks are of the first memory line: compared with the later ones they would look wrong.
    expect(about(result, 'memory')).toMatchObject({ outcome: 'as_expected' });
    expect(about(result, 'time')).toMatchObject({ outcome: 'as_expected' });
    expect(about(result, 'change')!.text).toContain('expandable-segments would have been enough at no cost');
    expect(result.contract.map(({ key: one }) => one)).toContain('dp');
  });

  it('two changes at once: expandable segments did it, not the virtual stages', () => {
    const result = verify(0, sample('fragmentation'), sample('vpp10'));
    expect(result.verdict).toBe('fixed');
    expect(change(result, 'PYTORCH_CUDA_ALLOC_CONF')).toMatchObject({ credited: true, fix: 'expandable-segments' });
    expect(change(result, 'virtual_pipeline_model_parallel_size')).toMatchObject({
      credited: false,
      fix: null,
      non_fix: 'vpp',
      effect: { outcome: 'active' },
    });
    expect(about(result, 'change')!.text).toMatch(
      /one change at a time.*virtual_pipeline_model_parallel_size does not fix this failure/,
    );
    expect(result.summary).toContain('by PYTORCH_CUDA_ALLOC_CONF');
  });

  it('a run against itself: nothing changed', () => {
    const result = verify(1, sample('fragmentation'), sample('fragmentation'));
    expect(result).toMatchObject({ verdict: 'no_effect', changes: [], judgement: [] });
    expect(result.bottleneck).toMatchObject({ kind: 'failure', cause: 'fragmentation', rank: 0 });
  });

  it('a change that brings the OOM is worse, and has earned nothing', () => {
    const result = verify(1, sample('expandable'), sample('fragmentation'));
    expect(result.verdict).toBe('worse');
    expect(change(result, 'PYTORCH_CUDA_ALLOC_CONF')).toMatchObject({ to: null, credited: false });
  });

  it('refuses to judge runs of other models, and fixes that there are not', () => {
    const result = verify(3, samplePath('capacity'), samplePath('leak'));
    expect(result.verdict).toBe('undecided');
    expect(result.unfair.join()).toContain('hidden_size 5120 → 4096');
    const wrong = ['verify-fix', sample('fragmentation'), sample('pp8'), '--fix', 'pp-9'];
    expect(refuse(2, ...wrong)).toContain('MBF1001');
    const otherModel = verify(0, sample('fragmentation'), sample('pp8'), '--fix', 'expandable-segments');
    expect(otherModel.expected).toBeNull();
    expect(about(otherModel, 'change')!.text).toContain('expandable-segments was not done');
  });

  it('fits a screen of 100 columns, the verdict first', () => {
    const stdout = text('verify-fix', sample('fragmentation'), sample('vpp10'));
    expect(stdout).toMatch(/^VERDICT {2}fixed\n/);
    expectFits(stdout);
    expect(stdout).toContain('ACTIVE');
  });
});
