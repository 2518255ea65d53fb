/**
 * What other verbs make of an export: diagnose, at and timeline, on the sample that has one and on runs that have
 * nothing else, or none.
 */
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { AtResult } from '../../src/model/results/at.js';
import type { DiagnoseResult } from '../../src/model/results/common.js';
import type { TimelineResult } from '../../src/model/results/timeline.js';
import { repoRoot } from '../store/scratch.js';
import { buildCli } from '../support/cli.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const SAMPLES = join(repoRoot, 'samples');

describe('an export in other verbs', () => {
  const cli = buildCli();
  const cwd = temporaryDirectory();
  const mbf = (...args: readonly string[]) => cli.expect(0, args, { cwd, env: { XDG_CACHE_HOME: join(cwd, 'cache') } });
  beforeAll(() => {
    mkdirSync(join(cwd, 'only'));
    copyFileSync(join(SAMPLES, 'nccl-outside', 'nsys_rank0.sqlite.gz'), join(cwd, 'only', 'nsys_rank0.sqlite.gz'));
    mbf('ingest', join(SAMPLES, 'leak'), join(cwd, 'only'), join(SAMPLES, 'nccl-outside'), '--each');
  });

  it('at and timeline show the ranges of their moments', () => {
    const at = mbf('at', 'oom', 'nccl-outside', '--json').json<AtResult>();
    const [stack] = at.nvtx!.stacks;
    expect(stack!.ranges.map(({ text }) => text).slice(0, 2)).toEqual(['iteration 5', 'forward']);
    expect(at.nvtx!.alignment.by).toBe('pairs');
    const trace = mbf('timeline', 'nccl-outside', '--json').json<TimelineResult>().snapshots[0]!.devices[0]!.trace!;
    for (const moment of [trace.nvtx!.peak, trace.nvtx!.oom])
      expect(moment!.stacks[0]!.ranges[0]!.text).toMatch(/^iteration \d+$/);
    expect(mbf('at', 'oom', 'nccl-outside').stdout).toMatch(/^ {2}nvtx {7}iteration 5 › forward › /m);
    expect(mbf('timeline', 'nccl-outside').stdout).toMatch(/nvtx {7}iteration \d+ › /);
  });

  it('without an export there is nothing of it', () => {
    expect(mbf('at', 'oom', 'leak', '--json').json<AtResult>().nvtx).toBeNull();
    const trace = mbf('timeline', 'leak', '--json').json<TimelineResult>().snapshots[0]!.devices[0]!.trace!;
    expect(trace.nvtx).toBeUndefined();
    expect(mbf('at', 'oom', 'leak').stdout).not.toContain('nvtx');
  });

  it('an export alone shows that memory was refused, without a guess at the reason', () => {
    const { verdicts } = mbf('diagnose', 'only', '--json').json<DiagnoseResult>();
    expect(verdicts).toMatchObject([{ cause: 'undecided', confidence: 'low', request: null, device: 0 }]);
    const [verdict] = verdicts;
    expect(verdict!.summary).toMatch(
      /the driver refused memory 4 times, and gave none after that \(.* GiB were held\)/,
    );
    expect(verdict!.captures.map(({ id }) => id)).toEqual(['snapshot_at_oom', 'whole_oom_message']);
    const evidence = verdict!.evidence.map(({ text }) => text).join('\n');
    expect(evidence).toMatch(/held then: .*NCCL 9\.3\d GiB/);
    expect(evidence).toMatch(/in the ranges iteration 5 › forward › /);
    expect(mbf('diagnose', 'only').stdout.split('\n').length).toBeLessThanOrEqual(25);
  });

  it('names memory outside PyTorch on the first screen', () => {
    const lines = mbf('diagnose', 'nccl-outside', '--full').stdout.split('\n');
    expect(lines.join('\n')).toMatch(/^MEMORY .*\n.*outside PyTorch 9\.90/m);
    expect(lines.find((line) => line.startsWith('  outside '))).toMatch(/9\.3\d NCCL \+ .* not seen by the profiler/);
  });
});
