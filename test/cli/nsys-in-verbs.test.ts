/**
 * What other verbs make of an export: diagnose, at and timeline, on the sample that has one and on runs that have
 * nothing else, or none.
 */
import { describe, expect, it } from 'vitest';
import type { AtResult } from '../../src/model/results/at.js';
import type { DiagnoseResult } from '../../src/model/results/common.js';
import type { TimelineResult } from '../../src/model/results/timeline.js';
import { asker } from '../support/ask.js';
import { samplePath, sampleStore, storeOf } from '../support/stores.js';

describe('an export in other verbs', () => {
  const { text, json } = asker();
  const both = ['--db', sampleStore('nccl-outside')];
  const leak = ['--db', sampleStore('leak')];
  const only = ['--db', storeOf(samplePath('nccl-outside/nsys_rank0.sqlite.gz'))];

  it('at and timeline show the ranges of their moments', () => {
    const at = json<AtResult>('state', '--at', 'oom', 'nccl-outside', ...both);
    const [stack] = at.nvtx!.stacks;
    expect(stack!.ranges.map(({ text }) => text).slice(0, 2)).toEqual(['iteration 5', 'forward']);
    expect(at.nvtx!.alignment.by).toBe('pairs');
    const trace = json<TimelineResult>('timeline', 'nccl-outside', ...both).snapshots[0]!.devices[0]!.trace!;
    for (const moment of [trace.nvtx!.peak, trace.nvtx!.oom])
      expect(moment!.stacks[0]!.ranges[0]!.text).toMatch(/^iteration \d+$/);
    expect(text('state', '--at', 'oom', 'nccl-outside', ...both)).toMatch(/^nvtx {11}iteration 5 › forward › /m);
    expect(text('timeline', 'nccl-outside', ...both)).toMatch(/^ {3}iteration \d+ › /m);
  });

  it('without an export there is nothing of it', () => {
    expect(json<AtResult>('state', '--at', 'oom', 'leak', ...leak).nvtx).toBeNull();
    const trace = json<TimelineResult>('timeline', 'leak', ...leak).snapshots[0]!.devices[0]!.trace!;
    expect(trace.nvtx).toBeUndefined();
    expect(text('state', '--at', 'oom', 'leak', ...leak)).not.toContain('nvtx');
  });

  it('an export alone shows that memory was refused, without a guess at the reason', () => {
    const { verdicts } = json<DiagnoseResult>('diagnose', ...only);
    expect(verdicts).toMatchObject([{ cause: 'undecided', confidence: 'low', request: null, device: 0 }]);
    const [verdict] = verdicts;
    expect(verdict!.summary).toMatch(
      /the driver refused memory 4 times, and gave none after that \(.* GiB were held\)/,
    );
    expect(verdict!.captures.map(({ id }) => id)).toEqual(['snapshot_at_oom', 'whole_oom_message']);
    const evidence = verdict!.evidence.map(({ text }) => text).join('\n');
    expect(evidence).toMatch(/held then: .*NCCL 9\.3\d GiB/);
    expect(evidence).toMatch(/in the ranges iteration 5 › forward › /);
    expect(text('diagnose', ...only).split('\n').length).toBeLessThanOrEqual(25);
  });

  it('names memory outside PyTorch on the first screen', () => {
    const lines = text('diagnose', 'nccl-outside', '--full', ...both).split('\n');
    expect(lines.join('\n')).toMatch(/^MEMORY .*\n.*outside PyTorch 9\.90 GiB/m);
    expect(lines.join('\n')).toMatch(/of it NCCL +9\.3\d GiB .*\n(?:.*\n)*? +of it not seen by the/);
  });
});
