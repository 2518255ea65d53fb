/**
 * Trainings of Megatron-LM, recorded by torch itself: our estimate from nothing but their arguments, against the peak
 * of the rank that was recorded, and against the storages of its own parameters, gradients and optimizer states.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import type { EstimateResult } from '../../src/model/results/estimate.js';
import { buildCli, type Cli } from '../support/cli.js';
import { CORPUS, skipLoudly } from '../support/corpus.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const TRUTHS = join(CORPUS, 'megatron', 'truth');
const names = existsSync(TRUTHS) ? readdirSync(TRUTHS).filter((name) => name.endsWith('.json.gz')) : [];

interface Mark {
  readonly mark: string;
  readonly allocated: number;
  readonly peak_allocated: number;
}

interface Truth {
  readonly rank: number;
  readonly world: number;
  readonly args: readonly string[];
  readonly oom: string | null;
  readonly marks: readonly Mark[];
  readonly objects_total: Readonly<Record<'parameter' | 'gradient' | 'optimizer', number>>;
}

/** Of the peak and of what stays between steps, relative. */
const MOST_OFF = 0.02;
/** Bytes by which blocks without elements differ: flags, and the padding of buckets that the count leaves out. */
const EXACT = 4096;

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

describe.skipIf(names.length === 0)('estimate of a training of Megatron-LM', () => {
  let cli: Cli;
  const directory = temporaryDirectory();
  beforeAll(() => {
    cli = buildCli();
  });

  it.each(names)('is within 2 % of its peak: %s', (name) => {
    const truth = JSON.parse(gunzipSync(readFileSync(join(TRUTHS, name))).toString()) as Truth;
    const script = join(directory, 'launch.sh');
    writeFileSync(script, `#!/bin/bash\ntorchrun pretrain_gpt.py ${truth.args.map(quoted).join(' ')}\n`);
    // Neither Transformer Engine nor apex was there; the arguments do not show that.
    const changes = ['--set', `world=${truth.world}`, '--set', 'use_torch_optimizer=true'];
    const result = cli.expect(0, ['estimate', '--config', script, ...changes, '--json']).json<EstimateResult>();
    const stage = result.stages[Math.floor(truth.rank / (truth.world / result.stages.length))]!;
    const bytes = new Map(stage.components.map((component) => [component.name, component.bytes]));
    const { parameter, gradient, optimizer } = truth.objects_total;
    for (const [component, measured] of Object.entries({ parameter, gradient, optimizer_state: optimizer }))
      expect(Math.abs((bytes.get(component) ?? 0) - measured), component).toBeLessThanOrEqual(EXACT);

    const first = truth.marks.find(({ mark }) => mark === 'after step 1')!;
    const last = truth.marks.at(-1)!;
    const figures: readonly (readonly [string, number, number])[] = [
      ['first step', stage.first_step_allocated_bytes, first.peak_allocated],
      ['resident', stage.resident_bytes, truth.oom === null ? last.allocated : first.allocated],
      // A step that failed did not come to its peak.
      ...(truth.oom === null ? [['peak', stage.allocated_bytes, last.peak_allocated] as const] : []),
    ];
    const off = (estimated: number, measured: number): number => estimated / measured - 1;
    console.info(name, figures.map(([what, ...pair]) => `${what} ${(100 * off(...pair)).toFixed(2)} %`).join(', '));
    for (const [what, ...pair] of figures) expect(Math.abs(off(...pair)), what).toBeLessThanOrEqual(MOST_OFF);
  });
});

if (names.length === 0) skipLoudly('estimates of trainings of Megatron-LM', 'the corpus (set MBF_CORPUS)');
