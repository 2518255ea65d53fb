/**
 * Verbs that explain why one of two runs failed name the same cause, that of `diagnose`, the same first suspect, and
 * its effect in the same sentence.
 */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CompareResult, Suspect } from '../../../src/model/results/compare.js';
import type { DiffResult } from '../../../src/model/results/diff.js';
import type { GateResult } from '../../../src/model/results/gate.js';
import type { VerifyFixResult } from '../../../src/model/results/verify.js';
import type { Cause } from '../../../src/model/vocabulary.js';
import { asker } from '../../support/ask.js';
import { sampled } from '../../support/level.js';
import { samplePath } from '../../support/stores.js';
import { oomLines, type TrainingLog, writeTraining } from '../../support/training-log.js';

interface Pair {
  readonly good: string;
  readonly bad: string;
  /** First suspect by the cause that `diagnose` may name; null: it is of growth, or there is none. */
  readonly first: Readonly<Partial<Record<Cause, string | null>>>;
}

const CONF = 'PYTORCH_CUDA_ALLOC_CONF';
const EXPANDABLE = `+ export ${CONF}=expandable_segments:True`;
const PEAKS = [{ rank: 0, first: 50_000, later: 57_000 }];
const LOG: TrainingLog = { iterations: 12, peaks: PEAKS, arguments: { micro_batch_size: 1, num_layers: 24 } };
const DIED: TrainingLog = { ...LOG, iterations: 5, target: 12, finished: false };

describe('a run that failed, compared with one that did not', () => {
  const { cwd, put, ends, json } = asker();
  const log = (name: string, one: TrainingLog, script: readonly string[]): string => {
    const directory = writeTraining(cwd, name, one);
    put(
      join(name, 'launch.sh'),
      ['#!/bin/bash', 'export NCCL_DEBUG=WARN', ...script, 'torchrun train.py', ''].join('\n'),
    );
    return directory;
  };
  const sample = (bad: string, first: Pair['first']): Pair => ({
    ...{ good: samplePath('llama3-70b-expandable'), bad: samplePath(bad), first },
  });
  const expandable = [EXPANDABLE.slice(2)];

  it.each(
    sampled<[string, () => Pair]>(
      [
        ['lost expandable segments', () => sample('llama3-70b-fragmentation', { fragmentation: CONF })],
        ['offloads to the host', () => sample('host-oom', { host_oom: 'optimizer_cpu_offload' })],
        ['has larger buffers of NCCL', () => sample('nccl-outside', { external_pressure: 'NCCL_BUFFSIZE' })],
        ['leaks', () => sample('leak', { leak: null })],
        ['is another model', () => sample('capacity', { capacity: null })],
        [
          'lost them, by its log alone',
          () => ({
            good: log('expandable', LOG, expandable),
            bad: log('default', { ...DIED, after: oomLines(0, 2, 60, 15) }, []),
            first: { fragmentation: CONF },
          }),
        ],
        [
          'has larger buffers of NCCL, by its log alone',
          () => ({
            good: log('small-buffers', LOG, []),
            bad: log('buffers', { ...DIED, after: oomLines(0, 2, 62, 0.2) }, ['export NCCL_BUFFSIZE=33554432']),
            first: { external_pressure: 'NCCL_BUFFSIZE' },
          }),
        ],
        [
          'lost them, and is full all the same',
          () => ({
            good: log('before', LOG, expandable),
            bad: log('full', { ...DIED, after: oomLines(0, 2, 76.5, 0.2), arguments: { ...LOG.arguments, lr: 1 } }, []),
            first: { capacity: null },
          }),
        ],
      ],
      3,
    ),
  )('%s', (_, pair) => {
    const { good, bad, first: firstOf } = pair();
    const baseline = join(cwd, `${bad.split('/').at(-1)}.json`);
    ends(0, 'gate', good, '--baseline', baseline, '--update');
    const gate = ends(1, 'gate', bad, '--baseline', baseline, '--force', '--json=full').json<GateResult>();
    const compare = ends(1, 'compare', bad, '--golden', baseline, '--force', '--json=full').json<CompareResult>();
    const diff = json<DiffResult>('diff', good, bad);
    const worse = json<VerifyFixResult>('verify-fix', good, bad);
    const fixed = json<VerifyFixResult>('verify-fix', bad, good);
    const diagnosis = json<{ readonly verdicts: readonly { readonly cause: Cause }[] }>('diagnose', bad);
    const advice = json<{ readonly cause: Cause }>('advise', bad);

    const cause = diagnosis.verdicts[0]!.cause;
    expect(Object.keys(firstOf)).toContain(cause);
    const first = firstOf[cause]!;
    expect(advice.cause).toBe(cause);
    expect([worse.after.cause, fixed.before.cause]).toEqual([cause, cause]);
    for (const { checks } of [gate, compare, diff]) {
      const why = checks.find(({ name }) => name === 'status')?.why;
      expect(why?.code === 'ending' ? why.current.verdict?.cause : null).toBe(cause);
    }
    const leading = (suspects: readonly Suspect[]) => suspects[0] && [suspects[0].key, suspects[0].reason];
    expect(leading(compare.suspects)).toEqual(leading(gate.suspects));
    expect(leading(diff.suspects)).toEqual(leading(gate.suspects));
    if (first === null) {
      expect(gate.suspects.map(({ key }) => key)).not.toContain(CONF);
      expect(gate.suspects.filter((suspect) => suspect.cause !== undefined)).toEqual([]);
      return;
    }
    expect(gate.suspects[0]).toMatchObject({ key: first, cause });
    expect(gate.suspects[0]!.score).toBeGreaterThan(0.75);
    for (const { changes } of [worse, fixed]) {
      expect(changes[0]!.key).toBe(first);
      expect(gate.suspects[0]!.reason).toContain(changes[0]!.on_cause!);
    }
    // Only what bears on the cause is suspected.
    for (const suspect of gate.suspects) expect(suspect.cause, suspect.key).toBe(cause);
  });
});
